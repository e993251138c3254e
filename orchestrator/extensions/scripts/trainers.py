"""The trainer of scripts, with all facts that are known without starting one."""

from collections.abc import Mapping

from orchestrator.core.trainer import RankContext, TrainerInfo
from orchestrator.train import rendezvous
from orchestrator.train.registry import ON_CPUS, ON_GPUS, ON_TPUS


def build_rank_variables(rank_context: RankContext) -> Mapping[str, str]:
    """Return the variables of `torch.distributed` and TensorFlow, of which a script takes those it needs.

    A single process has none of them, as in the user's own run: scripts take RANK as a sign of several. The
    script itself chooses Keras' backend.
    """
    if len(rank_context.addresses) == 1:
        return rendezvous.alone(rank_context)
    variables = {
        **rendezvous.tensorflow_cluster(rank_context),
        **rendezvous.torch_distributed(rank_context),
    }
    return {name: value for name, value in variables.items() if name != "KERAS_BACKEND"}


TRAINERS = (
    TrainerInfo(
        name="script",
        version=4,
        path="orchestrator.extensions.scripts.trainer:ScriptTrainer",
        packages=("numpy",),
        install="pip install 'numpy>=1.26,<3'",
        environment="core",
        precisions={"cpu": ON_CPUS, "gpu": ON_GPUS, "tpu": ON_TPUS},
        process_model=lambda _kind, _options: "per_replica",
        variables=build_rank_variables,
        preload=("orchestrator.extensions.scripts.trainer", "numpy.random"),
        fork_proven=("cpu", "gpu"),
        synchronous_on=("cpu", "gpu", "tpu"),
        spans_hosts=("cpu", "gpu", "tpu"),
        run_on=("cpu",),
        runs_scripts=True,
    ),
)
