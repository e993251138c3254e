"""Identity of a training step's memory. Pure."""

from collections.abc import Hashable

from orchestrator.core.trial_spec import TrialSpec

MemoryKey = Hashable


def memory_key(trial: TrialSpec) -> MemoryKey:
    """Return a key of everything that a step's memory depends on, which seed and length are not."""
    return (
        trial.workload,
        tuple(sorted(trial.workload_options.items())),
        trial.trainer,
        tuple(sorted(trial.trainer_options.items())),
        trial.device,
        trial.precision,
        trial.num_workers,
        trial.num_hosts,
        trial.global_batch_size,
        trial.memory_settings,
    )
