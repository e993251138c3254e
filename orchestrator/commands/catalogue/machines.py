"""Commands on machines and clusters, and on the user's shell."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Flag, Key

CLEAR = Flag(name="--clear", summary="first remove kept errors and folders of killed processes")
LINE = Flag(name="--line", value="TEXT", summary="print the words that complete a command line")

COMMANDS = (
    Command(
        name="doctor",
        group="Machines",
        arguments="tracking.uri=URI",
        summary="Tell what this machine can train on, and what it lacks.",
        run="orchestrator.commands.doctor:doctor",
        flags=(CLEAR, JSON),
        keys=(
            Key(usage="tracking.uri=http://HOST:5000", summary="tracking server to ask"),
            Key(usage="device=t4", summary="devices that the sweep would need"),
        ),
        examples=("doctor", "doctor tracking.uri=http://localhost:5000", "doctor --json", "doctor --clear"),
    ),
    Command(
        name="completion bash",
        group="Shell",
        arguments="",
        summary="Print the script that completes command lines in bash.",
        run="orchestrator.commands.completion:bash",
        flags=(LINE,),
        examples=('eval "$(orchestrator completion bash)"',),
    ),
    Command(
        name="completion zsh",
        group="Shell",
        arguments="",
        summary="Print the script that completes command lines in zsh.",
        run="orchestrator.commands.completion:zsh",
        flags=(LINE,),
        examples=('eval "$(orchestrator completion zsh)"',),
    ),
)
