"""(what is thought of settings, what is asked of them, what measuring costs) -> what to measure next. Pure.

A setting is good if it keeps to the limits and lies within 5% of the best that does. The winner is the one
that is likeliest good, in draws from what is thought. The gain of a measurement is how much likelier good the
winner is expected to be after it: draws are sorted by what would be measured and cut into strata, each an
outcome of it. That is the knowledge gradient of a good choice (Frazier, Powell and Dayanik 2009, INFORMS
Journal on Computing 21).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.predict.belief import Belief
from orchestrator.predict.pairs import Floats

TOLERANCE = 0.05
"""How far above the best a good setting may lie."""

_DRAWS, _STRATA, _SEED = 2048, 64, 0
_LEAST_GAIN = 0.002  # less is noise of the draws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is to be least, in logarithms.

    Attributes:
        exponent: of the seconds of a step.
        unit: [setting] what it is for a step of one second.
        most: [setting] of the longest step that keeps to the limits; infinite where there are none.
    """

    exponent: float
    unit: Floats
    most: Floats

    def value(self, log_seconds: Floats) -> Floats:
        """[..., setting] what is to be least; infinite where it does not keep to the limits."""
        found: Floats = np.where(log_seconds <= self.most, self.exponent * log_seconds + self.unit, np.inf)
        return found

    def good(self, log_seconds: Floats) -> NDArray[np.bool_]:
        """[draw, setting] whether it keeps to the limits, and lies within the tolerance of the best."""
        value = self.value(log_seconds)
        best = value.min(axis=1, keepdims=True)
        found: NDArray[np.bool_] = np.isfinite(value) & (value <= best + math.log1p(TOLERANCE))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One setting to measure, or two that are compared.

    Attributes:
        gain: by how much likelier good the winner is expected to be after it.
    """

    settings: tuple[int, ...]
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgement:
    """Where a job stands.

    Attributes:
        chances: [setting] that it is good.
        probes: each setting, and the winner against each other one that may be good.
    """

    chances: Floats
    probes: tuple[Probe, ...]

    @property
    def winner(self) -> int:
        """The setting that is likeliest good."""
        return int(self.chances.argmax())

    @property
    def chance(self) -> float:
        """That it is."""
        return float(self.chances.max())


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A measurement that is worth its cost.

    Attributes:
        setting: its number.
        chance: that it is good, before it is measured.
        gain: of the probe that it belongs to.
    """

    setting: int
    chance: float
    gain: float


def judge(belief: Belief, question: Question, *, repeat: float) -> Judgement:
    """How likely each setting is good, and what measuring would be worth.

    Where errors go together, one of two close settings tells nothing of which is better, and both tell it.

    Args:
        repeat: deviation of the logarithms of repeats: what a measurement leaves open.
    """
    draws = belief.draws(_DRAWS, seed=_SEED)
    good = question.good(draws)
    chances: Floats = good.mean(axis=0)
    choices = np.flatnonzero(good.any(axis=0)).tolist()
    if len(choices) < 2:
        return Judgement(chances=chances, probes=())
    seen = draws + np.random.default_rng(_SEED + 1).normal(0.0, repeat, draws.shape)
    winner, own = int(chances.argmax()), int(chances[choices].argmax())
    told: dict[tuple[int, ...], Floats] = {(each,): seen[:, each] for each in range(len(chances))}
    told |= {(winner, each): seen[:, winner] - seen[:, each] for each in choices if each != winner}
    return Judgement(
        chances=chances,
        probes=tuple(
            Probe(settings=settings, gain=_gain(column, good[:, choices], winner=own))
            for settings, column in told.items()
        ),
    )


def next_of(judgement: Judgement, costs: Floats, *, left: float) -> Proposal | None:
    """The setting to measure: of the probe of most gain for its cost, the cheaper one.

    A probe has to leave enough for the one of most gain.

    Args:
        costs: [setting] of measuring it; infinite where that is out of the question.
        left: the most that all measurements together may still cost.

    Returns:
        None: none of them is worth anything, or none fits.
    """

    def cost(*probes: Probe) -> float:
        return float(sum(costs[each] for each in {each for probe in probes for each in probe.settings}))

    useful = [each for each in judgement.probes if each.gain >= _LEAST_GAIN]
    fits = [each for each in useful if math.isfinite(cost(each)) and cost(each) <= left]
    if not fits:
        return None
    most = max(fits, key=lambda each: each.gain)
    leaving = [each for each in fits if cost(each, most) <= left]
    chosen = max(leaving, key=lambda each: each.gain / cost(each))
    setting = int(min(chosen.settings, key=lambda each: costs[each]))
    return Proposal(setting=setting, chance=float(judgement.chances[setting]), gain=chosen.gain)


def agenda(
    belief: Belief,
    question: Question,
    costs: Floats,
    *,
    judgement: Judgement,
    left: float,
    confidence: float,
    repeat: float,
) -> Iterator[tuple[Proposal, float]]:
    """What to measure one after the other, if each comes out as it is thought, until the winner is clear.

    Args:
        judgement: of that belief, before anything of this is measured.

    Returns:
        Each with the chance of the winner after it.
    """
    costs = costs.copy()
    while judgement.chance < confidence:
        proposal = next_of(judgement, costs, left=left)
        if proposal is None:
            return
        chosen = proposal.setting
        left -= costs[chosen]
        costs[chosen] = math.inf
        belief = belief.given({chosen: float(belief.mean[chosen])}, deviation=repeat)
        judgement = judge(belief, question, repeat=repeat)
        yield proposal, judgement.chance


def _gain(seen: Floats, good: NDArray[np.bool_], *, winner: int) -> float:
    """Chosen by half of each stratum and judged by the other: the best of noisy means looks too good."""
    strata = good[np.argsort(seen)].reshape(_STRATA, -1, good.shape[1])
    chosen = strata[:, ::2].mean(axis=1).argmax(axis=1)
    judged = strata[:, 1::2].mean(axis=1)
    return float(np.mean(judged[np.arange(_STRATA), chosen] - judged[:, winner]))
