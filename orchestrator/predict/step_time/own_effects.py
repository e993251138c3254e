"""(own measurements, their parts) -> effects after these steps: a user is one more laboratory. Pure.

A measured step updates the effects of the device and of the host by their shares of its time. The
shares depend on these effects, so both are found in a few rounds (the iterated Kalman filter's: Bell and
Cathey 1993). Steps with the same labels and alike shares count as one, their mean.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from orchestrator.predict.step_time.analytic import StepParts
from orchestrator.predict.step_time.crossed_effects import CrossedEffects, PublishedStep, StepLabels

_ROUNDS = 4
_CLASSES = 4  # of shares


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnStep:
    """Own measured step.

    Attributes:
        parts: before all effects.
    """

    labels: StepLabels
    parts: StepParts
    seconds: float


def effects_given(effects: CrossedEffects, own: Sequence[OwnStep]) -> CrossedEffects:
    """Return the effects of published steps after own ones."""
    found = effects
    for _ in range(_ROUNDS):
        found = effects.given(_condensed([_at_effects(step, found) for step in own]))
    return found


def _at_effects(step: OwnStep, effects: CrossedEffects) -> PublishedStep:
    """Return a step with the shares that its parts have after the effects."""
    device, host = effects.means(step.labels)
    parts = step.parts.times(device=math.exp(device), host=math.exp(host))
    shares = parts.device_share, parts.host_share
    left = math.log(step.seconds / parts.seconds)
    return PublishedStep(
        labels=step.labels,
        device_share=shares[0],
        host_share=shares[1],
        log=left + shares[0] * device + shares[1] * host,
    )


def _condensed(steps: Sequence[PublishedStep]) -> list[PublishedStep]:
    alike: Mapping[Hashable, list[PublishedStep]] = defaultdict(list)
    for step in steps:
        alike[step.labels, round(_CLASSES * step.host_share)].append(step)
    return [
        replace(
            same[0],
            device_share=fmean(step.device_share for step in same),
            host_share=fmean(step.host_share for step in same),
            log=fmean(step.log for step in same),
        )
        for same in alike.values()
    ]
