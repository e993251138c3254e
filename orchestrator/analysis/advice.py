"""The setting that a user's wish asks for, or why there is none. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.pareto import Candidate, Job, loss_of
from orchestrator.analysis.wording import UNKNOWN, Number, number
from orchestrator.core.placement import Aim
from orchestrator.core.wish import Wish

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What is recommended of a job, and what would be next; with `chosen` None, why nothing is."""

    job: Job
    chosen: Candidate | None
    runner_up: Candidate | None = None
    reason: str = ""


def advice_on(job: Job, wish: Wish) -> Advice:
    """The candidate that the wish asks for, among those that keep to its limits; of equals the fastest."""
    unknown = _unknown_in(job, wish)
    if unknown:
        return Advice(job=job, chosen=None, reason=f"no {unknown} of any of them is known")
    within = [each for each in job.candidates if _keeps_to(each, job.aim, wish)]
    if not within:
        return Advice(job=job, chosen=None, reason=f"none keeps to that; {_nearest_in(job, wish)}")
    shortfalls = _shortfalls_of(within, job.aim, wish)
    ranked = sorted(within, key=lambda each: (shortfalls[each], each.seconds, each.label))
    return Advice(job=job, chosen=ranked[0], runner_up=ranked[1] if len(ranked) > 1 else None)


def wish_in_words(wish: Wish, aim: Aim | None) -> str:
    """`cheapest within 2 h and $5`, `fastest with accuracy 0.96`."""
    within = [f"{wish.deadline_hours:g} h"] if wish.deadline_hours is not None else []
    within += [f"${wish.budget_usd:g}"] if wish.budget_usd is not None else []
    words = [wish.goal, *([f"within {' and '.join(within)}"] if within else [])]
    if wish.quality is not None:
        words.append(f"with {aim.metric if aim else 'quality'} {wish.quality:g}")
    return " ".join(words)


def dollars_of(one: Candidate) -> str:
    """`0.0123`, or `0.0123 hypothetical`."""
    if one.cost_usd is None:
        return UNKNOWN
    return Number(f"{number(one.cost_usd)} {one.cost_marks}".rstrip(), one.cost_usd)


def _nearest_in(job: Job, wish: Wish) -> str:
    """What the limits would have to allow, each by itself."""
    fastest = f"the fastest takes {number(job.candidates[0].seconds)} s"
    priced = [each for each in job.candidates if each.cost_usd is not None]
    if wish.budget_usd is None or not priced:
        return fastest
    cheapest = min(priced, key=lambda each: each.cost_usd or 0.0)
    return f"{fastest}, the cheapest costs ${dollars_of(cheapest)}"


def _unknown_in(job: Job, wish: Wish) -> str:
    """What the wish needs to know and nobody does."""
    needs_cost = wish.goal == "cheapest" or wish.budget_usd is not None
    if needs_cost and all(each.cost_usd is None for each in job.candidates):
        return "cost"
    needs_quality = wish.goal == "best" or wish.quality is not None
    if needs_quality and all(loss_of(each.quality, job.aim) is None for each in job.candidates):
        return "quality"
    return ""


def _keeps_to(each: Candidate, aim: Aim | None, wish: Wish) -> bool:
    limits = (
        (each.seconds, wish.deadline_hours and wish.deadline_hours * _SECONDS_PER_HOUR),
        (each.cost_usd, wish.budget_usd),
        (loss_of(each.quality, aim), loss_of(wish.quality, aim)),
    )
    return all(most is None or (found is not None and found <= most) for found, most in limits)


def _shortfalls_of(among: Sequence[Candidate], aim: Aim | None, wish: Wish) -> Mapping[Candidate, float]:
    """How far each falls short of the goal: for `balanced` the weighted sum, otherwise of one criterion."""
    weights = {
        "fastest": (1.0, 0.0, 0.0),
        "cheapest": (0.0, 1.0, 0.0),
        "best": (0.0, 0.0, 1.0),
        "balanced": (wish.weight_time, wish.weight_cost, wish.weight_quality),
    }[wish.goal]
    criteria: tuple[Sequence[float | None], ...] = (
        [each.seconds for each in among],
        [each.cost_usd for each in among],
        [loss_of(each.quality, aim) for each in among],
    )
    parts = [
        [weight * each for each in _from_best_to_worst(values)]
        for weight, values in zip(weights, criteria, strict=True)
        if weight
    ]
    return {each: math.fsum(own) for each, own in zip(among, zip(*parts, strict=True), strict=True)}


def _from_best_to_worst(values: Sequence[float | None]) -> list[float]:
    """0 for the least, 1 for the most and for what is not known; all 0 where they do not differ."""
    known = [each for each in values if each is not None]
    width = max(known) - min(known) if known else 0.0
    if not known:
        return [0.0] * len(values)
    return [1.0 if each is None else (each - min(known)) / width if width else 0.0 for each in values]
