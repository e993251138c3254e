"""(kernels held, seconds that they took in steps) -> other shares, where they gain enough. Pure.

What a look finds counts once the next one finds it too: a moment's noise is not there twice. A layer's own
seconds count where there are enough of them; otherwise it is as it was calibrated, at the pace that each rank
has in all layers. All of this is ours; the paper that `kernel_shares` follows is not known to share out more
than once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from orchestrator.extensions.kernel_split.training.shares import KernelRange

_LEAST_GAIN = 0.1  # of a step: more than shares by seconds known to 2.5% can be wrong by

_LEAST_STEPS = 5
_MOST_STEPS = 100
_LEAST_SECONDS = 0.5  # longer than the periods in which a host shares a core out
_LEAST_CONVOLVING_SECONDS = 0.1  # in a layer: less may fall between the pauses of a device, which seems fast

Parts = Sequence[Sequence[KernelRange]]
"""[layer][rank]"""

Speeds = Sequence[Sequence[float]]
"""[layer][rank], kernels a second in a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProfile:
    """Mean profile of steps with one division of kernels.

    Attributes:
        steps: number of steps.
        step_seconds: the master's.
        convolving_seconds: [layer][rank], of each one's own kernels in a step.
    """

    steps: int
    step_seconds: float
    convolving_seconds: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceState:
    """Rebalancing state from the profiles so far, equal on every rank.

    Attributes:
        probed: calibrated speed of every rank.
        paces: speed of each rank, relative to the last look at which it held a kernel; None before one.
        speeds: speeds at the last look; None before one.
        before: the last look at the division that stands; None before one.
        steps_to_look: least number of steps before the next look.
    """

    probed: Speeds
    paces: tuple[float, ...] | None = None
    speeds: Speeds | None = None
    before: StepProfile | None = None
    steps_to_look: int = _LEAST_STEPS

    def anew(self) -> "RebalanceState":
        """The same before any look at the division that stands."""
        return replace(self, before=None)

    def after(
        self, look: StepProfile, parts: Parts, divided: Callable[[Speeds], Parts]
    ) -> tuple["RebalanceState", Parts | None]:
        """Look: what is known then, and the shares to have from here on; None: those that there are.

        Args:
            parts: number of parts.
            divided: speeds -> the parts in proportion to them.
        """
        paces = _find_paces(look, parts, self.probed, self.paces)
        speeds = [
            _find_speeds(look, held, seconds, [fast * pace for fast, pace in zip(probed, paces, strict=True)])
            for held, seconds, probed in zip(parts, look.convolving_seconds, self.probed, strict=True)
        ]
        steps = math.ceil(_LEAST_SECONDS / look.step_seconds)
        updated = replace(
            self,
            paces=paces,
            speeds=speeds,
            before=look,
            steps_to_look=min(max(steps, _LEAST_STEPS), _MOST_STEPS),
        )
        if self.before is None or self.speeds is None:
            return updated, None
        proposed = [
            new if any(seconds) else old
            for new, old, seconds in zip(divided(speeds), parts, look.convolving_seconds, strict=True)
        ]
        gain = min(
            _compute_gain(proposed, parts, *seen) for seen in ((look, speeds), (self.before, self.speeds))
        )
        return (updated, None) if gain < _LEAST_GAIN else (updated.anew(), proposed)


def _find_paces(
    look: StepProfile, parts: Parts, probed: Speeds, known: Sequence[float] | None
) -> tuple[float, ...]:
    """Return each rank's speed over its calibration in all its convolutions; the earlier value where it held
    nothing.
    """
    seen = {}
    for rank, layers in enumerate(zip(*look.convolving_seconds, strict=True)):
        took = math.fsum(layers)
        if took > 0:
            held = zip(parts, probed, layers, strict=True)
            seen[rank] = math.fsum(len(of[rank].kernels) / fast[rank] for of, fast, one in held if one) / took
    usual = fmean(seen.values()) if seen else 1.0
    return tuple(seen.get(rank, known[rank] if known else usual) for rank in range(len(parts[0])))


def _find_speeds(
    look: StepProfile, held: Sequence[KernelRange], seconds: Sequence[float], expected: list[float]
) -> list[float]:
    """Return the speed of each rank in a layer: as expected, unless all its holders were profiled long
    enough.
    """
    is_long = all(
        look.steps * took >= _LEAST_CONVOLVING_SECONDS
        for part, took in zip(held, seconds, strict=True)
        if part.kernels
    )
    if not is_long:
        return expected
    return [
        len(part.kernels) / took if part.kernels else usual
        for part, took, usual in zip(held, seconds, expected, strict=True)
    ]


def _compute_gain(proposed: Parts, parts: Parts, look: StepProfile, speeds: Speeds) -> float:
    """Return the gain of a step if each layer takes as long as its slowest rank, at the profiled time per
    kernel.
    """
    saved = math.fsum(
        max(seconds) - max(map(_seconds_with, new, held, seconds, fast))
        for new, held, seconds, fast in zip(proposed, parts, look.convolving_seconds, speeds, strict=True)
        if any(seconds)
    )
    return saved / look.step_seconds


def _seconds_with(new: KernelRange, held: KernelRange, seconds: float, speed: float) -> float:
    return seconds * len(new.kernels) / len(held.kernels) if held.kernels else len(new.kernels) / speed
