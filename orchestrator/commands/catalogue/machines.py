"""Commands on machines and clusters, and on the user's shell."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Flag, Key

CHECK = Flag(name="--check", value="[FILE]", summary="tell all that is wrong with it, or with FILE")
DIFF = Flag(name="--diff", value="FILE", summary="print a unified diff between FILE and it")
CLEAR = Flag(name="--clear", summary="first remove kept errors and folders of killed processes")
LINE = Flag(name="--line", value="TEXT", summary="print the words that complete a command line")

_POOLS = (
    Key(usage="pools=gcp", summary="declared pools: gcp (ray up), gke (KubeRay), or a file of yours"),
    Key(usage="pools.project=ID", summary="project that pays"),
    Key(usage="pools.zone=ZONE", summary="zone of the nodes; any key of the file: pools.KEY"),
    Key(usage="prices=gcp", summary="price list"),
)
_JOB = (
    Key(usage="budget.usd=20", summary="most that the sweep of pools=gke may cost; it must be given"),
    Key(usage="record.path=gs://BUCKET", summary="bucket of that sweep's records, instead of a disk"),
)

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
        name="doctor cluster",
        group="Machines",
        arguments="pools=gcp pools.project=ID",
        summary="Tell what declared pools can train on.",
        run="orchestrator.commands.doctor:doctor_cluster",
        flags=(JSON,),
        keys=_POOLS,
        examples=(
            "doctor cluster pools=gcp pools.project=ID",
            "doctor cluster pools=gke pools.project=ID --json",
        ),
    ),
    Command(
        name="cluster",
        group="Machines",
        arguments="pools=gcp pools.project=ID",
        summary="Print or check the file that makes a cluster of pools.",
        run="orchestrator.commands.cluster:cluster",
        flags=(CHECK, DIFF, JSON),
        keys=(*_POOLS, *_JOB),
        examples=(
            "cluster pools=gcp pools.project=ID > cluster.yaml",
            "cluster pools=gke pools.project=ID budget.usd=20 > gke.yaml",
            "cluster --check cluster.yaml",
            "cluster --diff cluster.yaml pools=gcp pools.project=ID",
        ),
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
