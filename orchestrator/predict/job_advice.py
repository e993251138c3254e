"""(settings of one job, what is asked) -> who leads and what to measure next, as it is shown. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from orchestrator.analysis.advice import wish_in_words
from orchestrator.core.errors import ConfigError
from orchestrator.predict.advise import Judgement, Proposal, agenda, judge
from orchestrator.predict.belief import Belief, Kinship
from orchestrator.predict.contenders import Contender, belief_in, question_of, why_not
from orchestrator.predict.own import repeated
from orchestrator.predict.pairs import Floats
from orchestrator.predict.prior import Prior
from orchestrator.predict.terms import Terms

MOST_SETTINGS = 500
"""Of one job: all of them are judged again after each trial on the list."""

_SECONDS_PER_HOUR = 3600
_MILLION = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A setting by what is known of it by now.

    Attributes:
        num_noisy: of its repeats, those that something else disturbed.
        low, likely, high: seconds of a step; what is to hold 90 of 100 measurements.
        usd_per_million_samples: None: no price is known, with `price_marks` of that price.
        chance: that it keeps to the limits and lies within 5% of the best.
    """

    setting: str
    provenance: Literal["measured", "predicted"]
    num_noisy: int
    low: float
    likely: float
    high: float
    usd_per_million_samples: float | None
    price_marks: str
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A trial to measure.

    Attributes:
        hours, usd: that it likely takes; None: no price is known, with `price_marks` of that price.
        chance: that its setting is the one.
        gain: by how much likelier right the winner is expected to be after it, or after it and the setting
            that it is compared with.
        chance_then: of the winner, if it and those before it come out as predicted.
    """

    setting: str
    hours: float
    usd: float | None
    price_marks: str
    chance: float
    gain: float
    chance_then: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A setting that cannot be judged, and what would change that."""

    setting: str
    reason: str
    to_measure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAdvice:
    """What to measure of a job.

    Attributes:
        asked: the wish, in words.
        standings: the likeliest first.
        errands: in the order to measure them; none: the winner is clear, or nothing within the budget tells.
        is_limit: a target may end trials before all of their steps, so that hours and dollars are at most.
        besides_seconds: of set-up and all else beside the steps, in each of them; None: it is not known.
    """

    job: str
    asked: str
    confidence: float
    budget_usd: float | None
    standings: tuple[Standing, ...]
    errands: tuple[Errand, ...]
    left_out: tuple[LeftOut, ...]
    is_limit: bool
    besides_seconds: float | None

    @property
    def winner(self) -> Standing | None:
        """Who leads; None: nothing is known of any of them."""
        return self.standings[0] if self.standings else None

    @property
    def is_clear(self) -> bool:
        """Whether it is likely enough that nothing needs to be measured."""
        return self.winner is not None and self.winner.chance >= self.confidence


def advice_of(
    job: str,
    contenders: Sequence[Contender],
    terms: Terms,
    *,
    prior: Prior,
    kinship: Kinship,
    besides_seconds: float | None,
) -> JobAdvice:
    """On the settings of one job."""
    if len(contenders) > MOST_SETTINGS:
        raise ConfigError(
            f"{job} has {len(contenders):,} settings; advice is given on {MOST_SETTINGS} at most"
        )
    left_out = [(each, told) for each in contenders if (told := why_not(each, terms, prior))]
    known = [each for each in contenders if not why_not(each, terms, prior)]
    standings: list[Standing] = []
    errands: list[Errand] = []
    if known:
        belief, question = belief_in(known, prior, kinship), question_of(known, terms)
        judgement = judge(belief, question, repeat=prior.repeat)
        seconds = _seconds_of(known, belief) + (besides_seconds or 0.0)
        standings = _standings_of(known, belief, judgement, prior)
        proposals = agenda(
            belief,
            question,
            _costs_of(known, seconds),
            judgement=judgement,
            left=math.inf if terms.budget_usd is None else terms.budget_usd,
            confidence=terms.confidence,
            repeat=prior.repeat,
        )
        errands = [
            _errand_of(known[each.setting], each, seconds=float(seconds[each.setting]), chance_then=then)
            for each, then in proposals
        ]
    return JobAdvice(
        job=job,
        asked=wish_in_words(terms.wish, None),
        confidence=terms.confidence,
        budget_usd=terms.budget_usd,
        standings=tuple(standings),
        errands=tuple(errands),
        left_out=tuple(
            LeftOut(setting=each.setting, reason=told.reason, to_measure=told.to_measure)
            for each, told in left_out
        ),
        is_limit=any(each.point.timing.target is not None for each in known),
        besides_seconds=besides_seconds,
    )


def _standings_of(
    known: Sequence[Contender], belief: Belief, judgement: Judgement, prior: Prior
) -> list[Standing]:
    repeats = [repeated(each.measured, prior).of_one if each.measured else prior.repeat for each in known]
    factors = np.exp(prior.quantile * np.hypot(belief.deviation, repeats))
    found = []
    for index, each in enumerate(known):
        likely, factor = math.exp(belief.mean[index]), float(factors[index])
        usd = likely * each.usd_per_second * _MILLION / each.point.global_batch_size
        found.append(
            Standing(
                setting=each.setting,
                provenance="measured" if each.measured else "predicted",
                num_noisy=sum(one.is_noisy for one in each.measured),
                low=likely / factor,
                likely=likely,
                high=likely * factor,
                usd_per_million_samples=None if math.isnan(usd) else usd,
                price_marks=each.price_marks,
                chance=float(judgement.chances[index]),
            )
        )
    return sorted(found, key=lambda each: -each.chance)


def _seconds_of(known: Sequence[Contender], belief: Belief) -> Floats:
    """[setting] of all steps of a trial, likely."""
    found: Floats = np.array([each.point.steps for each in known]) * np.exp(belief.mean)
    return found


def _costs_of(known: Sequence[Contender], seconds: Floats) -> Floats:
    """[setting] of measuring it: time ranks them where a price is missing; what was measured is not again."""
    usd = np.array([each.usd_of(value) for each, value in zip(known, seconds.tolist(), strict=True)])
    costs: Floats = np.where(np.isnan(usd).any(), seconds, usd)
    costs[[index for index, each in enumerate(known) if each.measured]] = math.inf
    return costs


def _errand_of(each: Contender, proposal: Proposal, *, seconds: float, chance_then: float) -> Errand:
    usd = each.usd_of(seconds)
    return Errand(
        setting=each.setting,
        hours=seconds / _SECONDS_PER_HOUR,
        usd=None if math.isnan(usd) else usd,
        price_marks=each.price_marks,
        chance=proposal.chance,
        gain=proposal.gain,
        chance_then=chance_then,
    )
