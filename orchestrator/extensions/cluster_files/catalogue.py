"""Commands that the extension adds."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Flag, Key

CHECK = Flag(name="--check", value="[FILE]", summary="tell all that is wrong with it, or with FILE")
DIFF = Flag(name="--diff", value="FILE", summary="print a unified diff between FILE and it")

_POOLS = (
    Key(usage="pools=gcp", summary="declared pools: gcp (ray up), gke (KubeRay), or a file of yours"),
    Key(usage="pools.project=ID", summary="project that pays"),
    Key(usage="pools.zone=ZONE", summary="zone of the nodes; any key of the file: pools.KEY"),
    Key(usage="prices=gcp", summary="price list"),
)
_JOB = (
    Key(usage="+sweep=smoke", summary="sweep of pools=gke; tpu_vs_gpu unless it is given"),
    Key(usage="budget.usd=20", summary="most that the sweep of pools=gke may cost; it must be given"),
    Key(usage="record.path=gs://BUCKET", summary="bucket of that sweep's records, instead of a disk"),
)

COMMANDS = (
    Command(
        name="doctor cluster",
        group="Machines",
        arguments="pools=gcp pools.project=ID",
        summary="Tell what declared pools can train on.",
        run="orchestrator.extensions.cluster_files.commands:doctor_cluster",
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
        run="orchestrator.extensions.cluster_files.commands:cluster",
        flags=(CHECK, DIFF, JSON),
        keys=(*_POOLS, *_JOB),
        examples=(
            "cluster pools=gcp pools.project=ID > cluster.yaml",
            "cluster pools=gke pools.project=ID budget.usd=20 > gke.yaml",
            "cluster --check cluster.yaml",
            "cluster --diff cluster.yaml pools=gcp pools.project=ID",
        ),
    ),
)
