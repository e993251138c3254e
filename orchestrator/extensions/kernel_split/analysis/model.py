"""(a step with split convolutions, calibrations) -> its time and that of one worker. Pure."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from orchestrator.core.estimate import Refusal
from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.analysis.calibration import PlatformCalibration
from orchestrator.extensions.kernel_split.analysis.step_time import SplitLayer, bound, step_seconds
from orchestrator.extensions.kernel_split.training.shares import divide_shares

_AGAIN = "them again, for they are of before that was looked at"
_SEVERAL = "another setting with several workers"
_FREE = KernelLink(bytes_per_second=math.inf, latency_seconds=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitQuery:
    """A step.

    Attributes:
        layers: its convolutions.
        is_even: each worker holds as many kernels, however fast it is.
    """

    layers: tuple[SplitLayer, ...]
    workers: int
    is_even: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitModel:
    """A step as the model of time sees it.

    Attributes:
        shares, speeds: kernels and FLOP/s, [layer][rank].
        rest_seconds: time of the master.
        alone_seconds, alone_rest_seconds: step of a single worker, and the rest of that step.
        source: the trials that it stands on.
        stretched: distance of the extrapolation, in words; empty without extrapolation.
    """

    layers: tuple[SplitLayer, ...]
    shares: tuple[tuple[int, ...], ...]
    speeds: tuple[tuple[float, ...], ...]
    rest_seconds: float
    link: KernelLink
    alone_seconds: float
    alone_rest_seconds: float
    source: str
    stretched: str

    @property
    def step_seconds(self) -> float:
        """Seconds of a step with all workers."""
        return step_seconds(
            self.layers, self.shares, self.speeds, rest_seconds=self.rest_seconds, link=self.link
        )

    @property
    def speed_up(self) -> float:
        """Speed-up over one worker."""
        return self.alone_seconds / self.step_seconds

    @property
    def bound(self) -> float:
        """Amdahl's of it."""
        return bound(
            self.layers, self.speeds, alone_seconds=self.alone_seconds, rest_seconds=self.rest_seconds
        )

    @property
    def convolution_fraction(self) -> float:
        """Share of the convolutions in the step of one worker."""
        return 1 - self.alone_rest_seconds / self.alone_seconds

    @property
    def least_bytes_per_second(self) -> float | None:
        """Least link rate in bytes/s at which the workers are as fast as one; None where no rate suffices."""
        free = self.over(math.inf).step_seconds
        if free >= self.alone_seconds:
            return None
        traffic = self.step_seconds - free
        return self.link.bytes_per_second * traffic / (self.alone_seconds - free)

    def over(self, bytes_per_second: float) -> "SplitModel":
        """The same over another link of the same latency."""
        return replace(self, link=replace(self.link, bytes_per_second=bytes_per_second))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SplitInputs:
    """Calibrated inputs of a step: [layer][rank] FLOP/s, and the rest of rank 0."""

    speeds: tuple[tuple[float, ...], ...]
    rest_seconds: float
    calibration: PlatformCalibration


def modelled(query: SplitQuery, calibrations: Mapping[int, PlatformCalibration]) -> SplitModel | Refusal:
    """Predict a step by the calibrations of the nearest number of workers.

    Args:
        calibrations: calibrations of its machine, by their number of workers.
    """
    alone = _known(query.layers, 1, calibrations)
    if isinstance(alone, Refusal):
        return alone
    together = _known(query.layers, query.workers, calibrations)
    if isinstance(together, Refusal):
        return together
    link = together.calibration.link if query.workers > 1 else _FREE
    if link is None:
        is_alone = together.calibration.workers == 1
        return _unknown("the link", together.calibration, to_measure=_SEVERAL if is_alone else _AGAIN)
    whole = [(layer.kernels,) for layer in query.layers]
    return SplitModel(
        layers=query.layers,
        shares=tuple(
            divide_shares(layer.kernels, [1.0] * query.workers if query.is_even else speeds)
            for layer, speeds in zip(query.layers, together.speeds, strict=True)
        ),
        speeds=together.speeds,
        rest_seconds=together.rest_seconds,
        link=link,
        alone_seconds=step_seconds(
            query.layers, whole, alone.speeds, rest_seconds=alone.rest_seconds, link=_FREE
        ),
        alone_rest_seconds=alone.rest_seconds,
        source=" and ".join(dict.fromkeys((alone.calibration.words, together.calibration.words))),
        stretched="; ".join(_stretched(query, alone.calibration, together.calibration)),
    )


def _known(
    layers: tuple[SplitLayer, ...], workers: int, calibrations: Mapping[int, PlatformCalibration]
) -> _SplitInputs | Refusal:
    if not calibrations:
        return Refusal(reason="no other setting is calibrated there", to_measure="another one")
    calibration = calibrations[min(calibrations, key=partial(_distance, workers))]
    speeds = []
    for layer in layers:
        found = [calibration.speed(layer, rank) for rank in range(workers)]
        complete = tuple(value for value in found if value is not None)
        if len(complete) < len(found):
            what = f"a convolution of {layer.geometry}"
            return _unknown(what, calibration, to_measure="another setting with these options")
        speeds.append(complete)
    rest = calibration.rest_seconds(layers)
    if rest is None:
        return _unknown("the step without its convolutions", calibration, to_measure=_AGAIN)
    return _SplitInputs(speeds=tuple(speeds), rest_seconds=rest, calibration=calibration)


def _distance(workers: int, calibrated: int) -> tuple[bool, float, int]:
    """Compute a sort key of nearness: one worker is the last choice for several; the larger breaks a tie."""
    return workers > 1 and calibrated == 1, abs(math.log(calibrated / workers)), -calibrated


def _unknown(what: str, calibration: PlatformCalibration, *, to_measure: str) -> Refusal:
    return Refusal(reason=f"nothing is known of {what} from {calibration.words}", to_measure=to_measure)


def _stretched(query: SplitQuery, one: PlatformCalibration, together: PlatformCalibration) -> Iterator[str]:
    if query.workers > together.workers:
        yield "more workers taken to be as fast, each on a device of its own"
    if not all(calibration.holds(layer) for calibration in (one, together) for layer in query.layers):
        yield "channels beyond those calibrated"
