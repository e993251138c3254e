"""(kernels held, seconds that they took in steps) -> other shares, where they gain enough. Pure.

What a look finds counts once the next one finds it too: a moment's noise is not there twice. All of this is
ours; the paper that `kernel_shares` follows is not known to share out more than once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.train.kernel_shares import Part

_LEAST_GAIN = 0.1  # of a step: more than shares by seconds known to 2.5% can be wrong by

_LEAST_STEPS = 5
_MOST_STEPS = 100
_LEAST_SECONDS = 0.5  # longer than the periods in which a host shares a core out

Parts = Sequence[Sequence[Part]]
"""[layer][rank]"""

Speeds = Sequence[Sequence[float]]
"""[layer][rank], kernels a second in a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """At steps of one division: means over them.

    Attributes:
        step_seconds: the master's.
        convolving_seconds: [layer][rank], of each one's own kernels in a step.
    """

    step_seconds: float
    convolving_seconds: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What looks have found so far; every rank has the same.

    Attributes:
        probed: [layer][rank], in proportion to what each rank was calibrated to.
        speeds: of the last look; where a rank held nothing, of the last one when it did. None before a look.
        before: the last look at the division that stands; None before one.
        steps_to_look: which the next look is made of, at least.
    """

    probed: Speeds
    speeds: Speeds | None = None
    before: Look | None = None
    steps_to_look: int = _LEAST_STEPS

    def anew(self) -> "Balance":
        """The same before any look at the division that stands."""
        return replace(self, before=None)

    def after(
        self, look: Look, parts: Parts, divided: Callable[[Speeds], Parts]
    ) -> tuple["Balance", Parts | None]:
        """Look: what is known then, and the shares to have from here on; None: those that there are.

        Args:
            parts: that there are.
            divided: speeds -> the parts in proportion to them.
        """
        speeds = self._speeds_in(look, parts)
        steps = math.ceil(_LEAST_SECONDS / look.step_seconds)
        found = replace(
            self, speeds=speeds, before=look, steps_to_look=min(max(steps, _LEAST_STEPS), _MOST_STEPS)
        )
        if self.before is None or self.speeds is None:
            return found, None
        proposed = [
            new if any(seconds) else old
            for new, old, seconds in zip(divided(speeds), parts, look.convolving_seconds, strict=True)
        ]
        gain = min(_gain_of(proposed, look, speeds), _gain_of(proposed, self.before, self.speeds))
        return (found, None) if gain < _LEAST_GAIN else (found.anew(), proposed)

    def _speeds_in(self, look: Look, parts: Parts) -> Speeds:
        known = self.speeds or self.probed
        return [
            _speeds_of_layer(*layer, is_probed=self.speeds is None)
            for layer in zip(parts, look.convolving_seconds, known, strict=True)
        ]


def _speeds_of_layer(
    held: Sequence[Part], seconds: Sequence[float], known: Sequence[float], *, is_probed: bool
) -> Sequence[float]:
    """As they were seen. A rank that was not is as it was, or as its probe was beside the others'."""
    seen = {
        rank: len(part.kernels) / took
        for rank, (part, took) in enumerate(zip(held, seconds, strict=True))
        if part.kernels and took > 0
    }
    scale = 1.0
    if seen and is_probed:
        scale = math.fsum(seen.values()) / math.fsum(known[rank] for rank in seen)
    return [seen.get(rank, scale * speed) for rank, speed in enumerate(known)]


def _gain_of(proposed: Parts, look: Look, speeds: Speeds) -> float:
    """Of a step, if each layer takes as long as its slowest rank."""
    saved = math.fsum(
        max(seconds) - max(len(part.kernels) / speed for part, speed in zip(new, fast, strict=True))
        for new, seconds, fast in zip(proposed, look.convolving_seconds, speeds, strict=True)
        if any(seconds)
    )
    return saved / look.step_seconds
