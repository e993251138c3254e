"""Formats the time and cost of a whole job, and of its cheapest setting, in one line. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.formatting import about, number
from orchestrator.analysis.predictions.spot import (
    LEAST_SHOWN_SECONDS,
    SpotCost,
    describe_spot,
    predict_spot_cost,
)
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.model.candidate import TimeBasis
from orchestrator.core.interval import Spread
from orchestrator.core.price import Price, Unpriced, find_regions

_DIGITS = 2
_MOST_SPOTS = 10
_LEFT_OUT: Mapping[tuple[bool, bool], str] = {
    (False, False): "Evaluations, checkpoints and storage are not included.",
    (True, False): "One evaluation is included; further ones, checkpoints and storage are not.",
    (False, True): "Checkpoints are included; evaluations and storage are not.",
    (True, True): "One evaluation and checkpoints are included; further evaluations and storage are not.",
}
"""(an evaluation was measured, checkpoints were) -> what the time and cost of a job leave out, in words."""

_TO_TARGET = "Evaluations until the target are included; checkpoints and storage are not."


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCost:
    """The whole job in one setting.

    Attributes:
        usd: None: no price is known.
        is_without_setup: its steps alone.
        is_without_network: the network between its machines is not in its time.
        is_rented: a machine starts for it; the boot is not in its time and cost.
        price: price of its hardware; None: none was looked up.
        setup_seconds, checkpoint_seconds: of the job; None: not measured.
        checkpoint_share: time of checkpoints over that of the rest of the job.
    """

    setting: str
    seconds: Spread
    usd: Spread | None
    provenance: TimeBasis
    is_without_setup: bool = False
    is_without_network: bool = False
    is_rented: bool = False
    price: Price | Unpriced | None = None
    setup_seconds: float | None = None
    checkpoint_seconds: float | None = None
    checkpoint_share: float = 0.0

    @property
    def spot(self) -> SpotCost | None:
        """The same on spot machines; None: it is not rented, or not known."""
        if not self.is_rented:
            return None
        return predict_spot_cost(
            self.price,
            training=self.seconds.times(1 / (1 + self.checkpoint_share)),
            setup_seconds=self.setup_seconds or 0.0,
            checkpoint_seconds=self.checkpoint_seconds,
        )

    def describe_spot(self) -> str:
        """Describe the same in words, and name a seller without a known spot price; empty: not known."""
        price, words = self.price, describe_spot(self.spot)
        is_shown = self.is_rented and self.seconds.median >= LEAST_SHOWN_SECONDS
        if not is_shown or not isinstance(price, Price) or price.usd_per_hour_as("spot") or not price.seller:
            return words
        return f"No spot price is known for {price.instance} in {find_regions(price)}. {words}".rstrip()


def job_line(
    length: str, first: JobCost, costs: Iterable[JobCost], *, job: str = "", left_out: str = ""
) -> str:
    """`Your job (5 epochs) on cpu: 29 s, $0.0030 (measured). Cheapest, t4: 40 s, $0.0010 (predicted).`

    What its time and cost leave out follows.

    Args:
        first: the setting that comes first.
        costs: all settings.
        job: its name, where there are several.
        left_out: what its time and cost leave out; empty: no part beside the steps is in them.
    """
    # of several reserved devices, which cost nothing, the fastest comes first
    priced = [one for one in costs if one.usd is not None]
    cheapest = min(
        priced, key=lambda one: (one.usd.median if one.usd else math.inf, one.seconds.median), default=first
    )
    named = (
        f"Your job{f' {job}' if job else ''} ({length}) on {first.setting}: {_cost(first)}{_known_by(first)}"
    )
    sentences = [f"{named}."]
    if cheapest.setting != first.setting:
        sentences.append(f"Cheapest, {cheapest.setting}: {_cost(cheapest)}{_known_by(cheapest)}.")
    elif len(priced) > 1:
        sentences = [f"{named}, which is the cheapest."]
    spot = (cheapest.describe_spot(), _describe_cheaper_spot(cheapest, priced))
    return " ".join(filter(None, (*sentences, left_out or _LEFT_OUT[False, False], *spot)))


def _describe_cheaper_spot(cheapest: JobCost, priced: Sequence[JobCost]) -> str:
    """Describe another setting that is cheaper on spot machines than the cheapest on demand; empty: none.

    Of the settings that cost least on demand alone, as each is a simulation of interruptions.
    """
    first = sorted(priced, key=lambda one: one.usd.median if one.usd else math.inf)[:_MOST_SPOTS]
    known = [(spot.usd.median, one, spot) for one in first if (spot := one.spot)]
    usd, other, spot = min(known, key=lambda one: one[0], default=(math.inf, cheapest, None))
    is_long = other.seconds.median >= LEAST_SHOWN_SECONDS
    saves = cheapest.usd is not None and usd < cheapest.usd.median
    if spot is None or other.setting == cheapest.setting or not (is_long and saves):
        return ""
    return (
        f"Cheapest as a spot machine, {other.setting}: {about(spot.seconds)}, ${number(usd, digits=_DIGITS)}."
    )


def format_job_lines(recommendations: Sequence[Recommendation]) -> tuple[str, ...]:
    """Format time and cost of each job with a requested or declared length, best measured setting first."""
    return tuple(
        job_line(
            answer.length,
            build_job_cost(
                answer.best_measured
                or min(answer.standings, key=lambda one: (one.provenance != "measured", one.seconds.median))
            ),
            map(build_job_cost, answer.standings),
            job=answer.job if len(recommendations) > 1 else "",
            left_out=_TO_TARGET if answer.samples is None else describe_left_out(answer.standings),
        )
        for answer in recommendations
        if answer.length and answer.standings
    )


def describe_left_out(settings: Sequence[RankedSetting]) -> str:
    """Describe which evaluations and checkpoints are not in the time and cost of a job."""
    has_evaluation = any(one.evaluation_seconds > 0 for one in settings)
    return _LEFT_OUT[has_evaluation, any(one.checkpoint_share > 0 for one in settings)]


def build_job_cost(one: RankedSetting) -> JobCost:
    """Take the time and cost of the job from a setting of an answer."""
    return JobCost(
        setting=one.setting,
        seconds=one.seconds,
        usd=one.usd,
        provenance=one.provenance,
        is_rented=one.is_rented,
        price=one.price,
        setup_seconds=one.fixed_seconds - one.evaluation_seconds,
        checkpoint_seconds=one.checkpoint_seconds,
        checkpoint_share=one.checkpoint_share,
    )


def _cost(one: JobCost) -> str:
    usd = "" if one.usd is None else f", ${number(one.usd.median, digits=_DIGITS)}"
    if isinstance(one.price, Price) and one.price.is_reserved:
        usd += " reserved"
    return f"{about(one.seconds)}{usd}"


def _known_by(one: JobCost) -> str:
    parts = {"network": one.is_without_network, "set-up": one.is_without_setup, "boot": one.is_rented}
    left_out = ", ".join(part for part, is_left_out in parts.items() if is_left_out)
    before, _, last = left_out.rpartition(", ")
    return f" ({one.provenance}{', without ' if last else ''}{' and '.join(filter(None, (before, last)))})"
