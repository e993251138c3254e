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
        name="prices refresh",
        group="Machines",
        arguments="sellers=lambda,nebius",
        summary="Fetch what sellers ask for their machines now.",
        run="orchestrator.commands.prices:refresh",
        keys=(
            Key(usage="sellers=aws,lambda", summary="sellers of the catalogue; the others stay as they are"),
            Key(usage="catalogue=gpuhunt", summary="its catalogue, with Google's, in place of SkyPilot's"),
            Key(usage="url=https://HOST/FOLDER", summary="another copy of the catalogue"),
        ),
        examples=("prices refresh", "prices refresh sellers=lambda,nebius"),
    ),
    Command(
        name="prices list",
        group="Machines",
        arguments="device=h100,l4",
        summary="List the known prices of sellers, the cheapest first.",
        run="orchestrator.commands.prices:show",
        flags=(JSON,),
        keys=(
            Key(usage="device=h100,l4", summary="devices, by any of their names"),
            Key(usage="region=eu-north1", summary="regions, as sellers call them"),
            Key(usage="sellers=lambda,nebius", summary="sellers"),
            Key(usage="spot=true", summary="only what is sold as spot, too"),
        ),
        examples=("prices list device=h100,h200", "prices list device=h100 spot=true --json"),
    ),
    Command(
        name="prices import",
        group="Machines",
        arguments="file=vms.csv seller=lambda",
        summary="Take a seller's catalogue from a file instead.",
        run="orchestrator.commands.prices:import_file",
        keys=(
            Key(usage="file=FILE", summary="CSV, or ZIP of one, as SkyPilot or gpuhunt publish it"),
            Key(usage="seller=NAME", summary="whose prices they are"),
        ),
        examples=("prices import file=vms.csv seller=lambda",),
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
