"""(points with convolutions to split, own trials) -> whether splitting is worth it. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.formatting import counted
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Refusal
from orchestrator.core.interval import Spread
from orchestrator.core.sweep import Point
from orchestrator.extensions.kernel_split.analysis.calibration import Platform, splits
from orchestrator.extensions.kernel_split.analysis.model import SplitModel
from orchestrator.extensions.kernel_split.analysis.speedups import (
    PlatformResults,
    SplitConfig,
    SplitMeasurement,
    is_even,
    kernels_in,
    with_kernels,
)
from orchestrator.extensions.kernel_split.analysis.wording import (
    colons,
    margin_words,
    speed_up_marks,
    work_words,
)

_TIMES_KERNELS = (2, 3, 5, 10, 20)
_TIMES_BATCH = (2, 4, 8, 16, 32)
_MOST_WORKERS = 16
_CALIBRATES = "some of these points, which calibrates"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitProspect:
    """Prediction for one point.

    Attributes:
        speed_up: speed-up over one worker.
        brackets: meaning of the interval, or the reason for none.
        bound: Amdahl's.
        convolution_fraction: fraction of one worker's step in convolutions.
        least_bytes_per_second: bandwidth at which it is as fast as one worker; None: never.
        pays_from: changes that would make it faster, each on its own; empty if it is faster.
        source: the trials that it stands on.
        stretched: distance of the extrapolation beyond the calibration, in words; empty without it.
    """

    speed_up: Spread
    brackets: str
    bound: float
    convolution_fraction: float
    least_bytes_per_second: float | None
    pays_from: tuple[str, ...]
    source: str
    stretched: str

    @property
    def verdict(self) -> str:
        """Verdict on splitting; "likely" where no interval bounds the error."""
        likely = "" if self.speed_up.low < self.speed_up.high else "likely "
        if self.speed_up.low > 1:
            return f"{likely}pays"
        return f"{likely}not worth it" if self.speed_up.high <= 1 else "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOutlook:
    """A point of several workers.

    Attributes:
        host: model and core count, where processors of a host compute.
        setting: split workload and number of workers.
        measured: speed-up over one worker, if it was measured; `marks` qualify it.
        off_by: relative error of the prediction made without the measurement; None if one of them is missing.
    """

    workload: str
    device: str
    host: str | None
    precision: str
    setting: str
    num_workers: int
    predicted: SplitProspect | Refusal
    measured: Spread | None
    marks: str
    off_by: float | None


def split_outlooks(
    points: Iterable[tuple[Point, str | None]], families: Sequence[PlatformResults]
) -> tuple[SplitOutlook, ...]:
    """Return one for each point of a trainer that splits, over several workers.

    Args:
        points: each with the hosts of the processors that would compute, as `TrialSpec.host_cpu`.
    """
    by_machine = {family.machine: family for family in families}
    return tuple(
        _outlook(point, _build_machine(point, host), by_machine)
        for point, host in points
        if splits(point.trainer) and point.num_workers > 1
    )


def require_known(outlooks: Sequence[SplitOutlook], *, command: str) -> None:
    """Raise ConfigError if no point can be predicted.

    Args:
        command: command that measures these points.
    """
    if not outlooks:
        raise ConfigError(
            "predict split: no point has a trainer that splits convolutions and several workers; "
            "add trainer=kernel_split num_workers=2"
        )
    refused = [outlook.predicted for outlook in outlooks if isinstance(outlook.predicted, Refusal)]
    if len(refused) == len(outlooks):
        first = refused[0]
        how = f": {command}" if first.to_measure == _CALIBRATES else ""
        raise ConfigError(f"predict split: {first.reason}; measure {first.to_measure}{how}")


def _build_machine(point: Point, host: str | None) -> Platform:
    return Platform(workload=point.workload, device=point.device_label, host=host, precision=point.precision)


def _outlook(point: Point, machine: Platform, by_machine: Mapping[Platform, PlatformResults]) -> SplitOutlook:
    family = by_machine.get(machine)
    work = SplitConfig(
        options=point.workload_options,
        batch=point.global_batch_size,
        workers=point.num_workers,
        is_even=is_even(point.trainer_options),
    )
    done = next((split for split in family.splits if split.work == work), None) if family else None
    return SplitOutlook(
        workload=point.workload,
        device=machine.device,
        host=machine.host,
        precision=point.precision,
        setting=work_words(point.workload, work),
        num_workers=point.num_workers,
        predicted=_predicted(work, family, done) if family else _unknown(point, machine, by_machine),
        measured=done.speed_up if done else None,
        marks=speed_up_marks(done) if done else "",
        off_by=done.error if done else None,
    )


def _unknown(point: Point, machine: Platform, platforms: Iterable[Platform]) -> Refusal:
    others = [str(platform.host) for platform in platforms if replace(platform, host=machine.host) == machine]
    # one host alone needs no name, and a long one would leave no room for the command in an error's line
    device = place_words(machine.device, machine.host) if others else machine.device
    there = f"{machine.workload} on {device} in {machine.precision}"
    only = f", only of {' and '.join(others)}" if others else ""
    return Refusal(
        reason=f"no own trial of {point.trainer} of {there} is recorded{only}",
        to_measure=_CALIBRATES,
    )


def place_words(device: str, host: str | None) -> str:
    """`cpu (Some CPU x2)`, `t4`."""
    return f"{device} ({host})" if host else device


def _predicted(
    work: SplitConfig, family: PlatformResults, done: SplitMeasurement | None
) -> SplitProspect | Refusal:
    """Predict without the point's own trials; with them where nothing else calibrates it."""
    without = done.model if done else None
    model = without if isinstance(without, SplitModel) else family.model(work)
    if isinstance(model, Refusal):
        return model
    return SplitProspect(
        speed_up=family.bracketed(model.speed_up),
        brackets=margin_words(family.margin),
        bound=model.bound,
        convolution_fraction=model.convolution_fraction,
        least_bytes_per_second=model.least_bytes_per_second,
        pays_from=tuple(_pays_from(work, family)) if model.speed_up <= 1 else (),
        source=model.source,
        stretched=model.stretched,
    )


def _pays_from(work: SplitConfig, family: PlatformResults) -> Iterator[str]:
    """Yield the first larger number of kernels, batch and workers, varied one at a time, that beats one
    worker.
    """
    kernels = kernels_in(family.machine.workload, work.options)
    more_kernels = [tuple(factor * kernel for kernel in kernels) for factor in _TIMES_KERNELS if kernels]
    larger = [factor * work.batch for factor in _TIMES_BATCH]
    candidates: tuple[list[tuple[str, SplitConfig]], ...] = (
        [
            (f"kernels {colons(kernels_of_layers)}", with_kernels(work, kernels_of_layers))
            for kernels_of_layers in more_kernels
        ],
        [(f"batch {batch:,}", replace(work, batch=batch)) for batch in larger],
        [
            (counted(index, "worker"), replace(work, workers=index))
            for index in range(work.workers + 1, _MOST_WORKERS + 1)
        ],
    )
    for some in candidates:
        modelled = ((words, family.model(config)) for words, config in some)
        faster = (words for words, model in modelled if isinstance(model, SplitModel) and model.speed_up > 1)
        first = next(faster, None)
        if first:
            yield first
