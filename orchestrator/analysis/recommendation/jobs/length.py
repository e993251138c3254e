"""Length of the job on which settings are compared: samples, and the source of that number. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from orchestrator.analysis.formatting import counted
from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import MOST_SAMPLES, Objective
from orchestrator.core.placement import Aim, FullTraining

_FRACTIONS = ("accuracy", "auc", "f1", "precision", "recall", "roc_auc")
_CURE = "give report.samples=N"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLength:
    """The length of a job.

    Attributes:
        samples: samples that it trains on, all epochs together.
        source: reason for this length, in words.
        label: `5 epochs`; empty where it was neither asked for nor declared.
    """

    samples: int
    source: str
    label: str = ""


def job_length(
    training: FullTraining | None, objective: Objective, *, recorded_samples: Sequence[int]
) -> JobLength:
    """Return the length that is requested, else the one that the workload declares, else the longest trial's.

    Args:
        training: training of the job's workload; None if its plan has none.
        recorded_samples: samples of a trial of each setting: recorded ones, else planned ones; at least one.

    Raises:
        ConfigError: epochs of a data set of unknown size, or too many samples.
    """
    return known_length(training, objective) or _longest(training, recorded_samples)


def known_length(training: FullTraining | None, objective: Objective) -> JobLength | None:
    """Return the length that is requested or declared; None: neither. Raises as `job_length`."""
    return _requested(training, objective) or _declared(training)


def check_lengths(trainings: Mapping[str, FullTraining], objective: Objective) -> None:
    """Raises ConfigError, before anything is run, where `job_length` would for one of the workloads."""
    for workload, training in trainings.items():
        try:
            known_length(training, objective)
        except ConfigError as error:
            raise ConfigError(f"workload {workload!r}: {error}") from error


def check_quality(
    trainings: Mapping[str, FullTraining], aims: Mapping[str, Aim], objective: Objective
) -> None:
    """Raise ConfigError, before anything is run, for a quality that no workload of the sweep can have."""
    quality = objective.quality
    if quality is None or not trainings:
        return
    if not aims:
        raise ConfigError(
            f"report.quality={quality:g}: no workload of this sweep has a quality; leave it out"
        )
    for aim in aims.values():
        if aim.metric in _FRACTIONS and not 0 <= quality <= 1:
            raise ConfigError(f"report.quality={quality:g} is no {aim.metric}, which is from 0 to 1")


def _requested(training: FullTraining | None, objective: Objective) -> JobLength | None:
    if objective.samples is not None:
        return _of_samples(objective.samples, origin="as `report.samples` asks")
    if objective.tokens is not None:
        if training is None or not training.tokens_per_sample:
            raise ConfigError(f"report.tokens={objective.tokens}: its samples have no tokens; {_CURE}")
        samples = max(1, round(objective.tokens / training.tokens_per_sample))
        label = counted(samples, "sample")
        source = f"{label} of {objective.tokens:,} tokens together, as `report.tokens` asks"
        return JobLength(samples=samples, source=source, label=label)
    if objective.epochs is None:
        return None
    if training is None or training.train_samples is None:
        raise ConfigError(
            f"report.epochs={objective.epochs:g} needs the number of training samples, "
            f"and the data set declares no train_samples; {_CURE}"
        )
    return _of_epochs(objective.epochs, training.train_samples, origin="as `report.epochs` asks")


def _declared(training: FullTraining | None) -> JobLength | None:
    if training is not None and training.samples is not None:
        return _of_samples(training.samples, origin="the whole training, as the command declares")
    if training is None or training.epochs is None or training.train_samples is None:
        return None
    return _of_epochs(training.epochs, training.train_samples, origin="as the workload declares")


def _of_samples(samples: int, *, origin: str) -> JobLength:
    label = counted(samples, "sample")
    return _require_possible(JobLength(samples=samples, source=f"{label}, {origin}", label=label))


def _of_epochs(epochs: float, train_samples: int, *, origin: str) -> JobLength:
    samples = max(1, round(Fraction(epochs) * train_samples))
    label = counted(samples, "sample") if epochs == 1 else f"{epochs:,g} epochs"
    whole = label if epochs == 1 else f"{label} x {counted(train_samples, 'sample')}"
    return _require_possible(JobLength(samples=samples, source=f"{whole}, {origin}", label=label))


def _require_possible(length: JobLength) -> JobLength:
    if length.samples > MOST_SAMPLES:
        raise ConfigError(f"{length.source}: a job has at most {MOST_SAMPLES:,} samples; {_CURE}")
    return length


def _longest(training: FullTraining | None, recorded_samples: Sequence[int]) -> JobLength:
    samples = max(recorded_samples)
    return JobLength(
        samples=samples,
        source=f"{counted(samples, 'sample')}, as the longest trial: {_undeclared(training)}; "
        "`report.samples=N` sets another length",
    )


def _undeclared(training: FullTraining | None) -> str:
    if training is None:
        return "the plan tells of no full training"
    if training.epochs is None:
        return "the workload declares no epochs"
    return "the data set declares no train_samples"
