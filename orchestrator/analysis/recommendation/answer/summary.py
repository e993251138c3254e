"""A recommendation in words: the state of the answer first."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from orchestrator.analysis.formatting import (
    Number,
    counted,
    counted_marks,
    duration,
    duration_of,
    exact_percent,
    number,
    ratio,
    share,
)
from orchestrator.analysis.recommendation.answer.answer import NextStep, RankedSetting, Recommendation

CardKind = Literal["best", "rival", "next"]
"""What a card tells: what to take, what may be better, what to do next."""

_SURE = 0.995
_MOST_REASONS = 4
_MOST_RIVALS = 12


def answer_of(recommendation: Recommendation) -> str:
    """Name the state and the setting: `Settled: t4, bf16`, `Tie: t4, bf16`, `Not settled`."""
    winner = recommendation.chosen
    if recommendation.is_only_one:
        return f"The only setting: {winner}"
    match recommendation.state:
        case "settled":
            return f"Settled: {winner}"
        case "tie":
            return f"Tie: {winner}"
        case "none":
            return "No setting keeps to the limits" if recommendation.standings else "No setting qualifies"
    return "Not settled"


def sentence_of(recommendation: Recommendation) -> str:
    """Tell all of it in one paragraph."""
    return " ".join(
        (
            f"{answer_of(recommendation)}, for {recommendation.job} ({recommendation.asked}).",
            *details_of(recommendation),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A part of the answer.

    Attributes:
        title: what the part is about.
        headline: its subject in a few words; empty: the sentences have it.
        command: command that does what the sentences ask for; empty if there is none.
    """

    kind: CardKind
    title: str
    headline: str
    sentences: tuple[str, ...]
    command: str = ""


def details_of(recommendation: Recommendation) -> list[str]:
    """List the sentences of all cards, without what the answer says already."""
    sentences: list[str] = []
    for card in cards_of(recommendation):
        if card.kind == "next" and recommendation.next_step is None:
            continue
        first, *others = card.sentences
        if card.kind == "next":
            first = f"Next: {first[:1].lower()}{first[1:]}"
        elif card.headline and card.title != _RECOMMENDED:
            first = f"{card.title}: {card.headline}. {first}"
        sentences += [first, *others]
        if card.command:
            sentences[-1] = f"{sentences[-1].removesuffix('.')}: {card.command}"
    return sentences


def cards_of(recommendation: Recommendation) -> tuple[Card, ...]:
    """Divide the answer into what to take, what may be better, and what to do next."""
    return (
        _best_of(recommendation),
        *([rival] if (rival := _rival_of(recommendation)) else []),
        _next_of(recommendation),
    )


def _best_of(recommendation: Recommendation) -> Card:
    """Tell what to take, and how sure that is."""
    state, best = recommendation.state, recommendation.best_measured
    left_out = _left_out(recommendation)
    if state == "none":
        nearest = [_nearest(recommendation)] if recommendation.standings else []
        sentences = (*nearest, *_reasons(recommendation))
        return Card(kind="best", title="Nearest", headline="", sentences=sentences or (_NOTHING,))
    if best is None:
        has_any = bool(recommendation.standings)
        none = f"No measured setting can be recommended, for {recommendation.basis}." if has_any else _NOTHING
        return Card(kind="best", title="Best measured", headline="", sentences=(none, *left_out))
    is_answered = state in ("settled", "tie")
    facts = f"It takes {describe_outcome(best, recommendation)}, for {recommendation.basis}."
    rate = [f"{number(best.samples_per_second.median)} samples/s"]
    if usd := best.usd_per_million_samples:
        rate.append(f"${number(usd.median)} per million samples")
    within = exact_percent(recommendation.tolerance)
    runs = counted(len(best.rates), "measurement")
    sure = f"Chance to be within {within} of the best: {chance(best.chance)}, after {runs}."
    only = recommendation.is_only_one
    return Card(
        kind="best",
        title=_RECOMMENDED if is_answered else "Best measured",
        headline=best.setting,
        sentences=(
            *_rivals(recommendation),
            facts,
            f"{', '.join(rate)}.",
            *([] if only else [sure]),
            *left_out,
            *(recommendation.caveats if is_answered else ()),
        ),
    )


_RECOMMENDED = "Recommended"
_NOTHING = "No setting can be judged."


def _rival_of(recommendation: Recommendation) -> Card | None:
    """Tell what may be better and was not measured; where nothing is, how far the choice lies ahead."""
    state = recommendation.state
    if state == "none":
        return None
    if state in ("settled", "tie"):
        ahead = _ahead(recommendation)
        if not ahead:
            return None
        return Card(
            kind="rival",
            title="Next best measured",
            headline=recommendation.runner_up,
            sentences=tuple(ahead),
        )
    sentences = (*_reasons(recommendation), *recommendation.caveats)
    rivals = _unmeasured(recommendation)
    if not rivals:
        open_ = Card(kind="rival", title="Not settled", headline="", sentences=sentences)
        return open_ if sentences else None
    likeliest = rivals[0]
    return Card(
        kind="rival",
        title="Possibly better, not measured",
        headline=f"{likeliest.setting}{_compared(likeliest, recommendation)}",
        sentences=sentences,
    )


def _unmeasured(recommendation: Recommendation) -> list[RankedSetting]:
    """List settings that were not measured and may be the best, the likeliest first."""
    rivals = [
        one for one in recommendation.standings if one.provenance != "measured" and one.chance >= 1 - _SURE
    ]
    return sorted(rivals, key=lambda one: -one.chance)


def _compared(rival: RankedSetting, recommendation: Recommendation) -> str:
    """Tell how much faster, or cheaper, an unmeasured setting may be than the best measured one."""
    best = recommendation.best_measured
    if best is None or recommendation.is_by_quality:
        return ""
    ours, theirs, word = best.seconds, rival.seconds, "fast"
    if recommendation.is_by_cost:
        if best.usd is None or rival.usd is None:
            return ""
        ours, theirs, word = best.usd, rival.usd, "cheap"
    low, likely, high = (ours.median / end for end in (theirs.high, theirs.median, theirs.low))
    times = [number(one, digits=2) for one in (low, likely, high)]
    return f": {times[0]}x to {times[2]}x as {word}, likely {times[1]}x"


def _next_of(recommendation: Recommendation) -> Card:
    """Tell what to do next, with its command and its price."""
    step = recommendation.next_step
    if step is None:
        sentence = (
            f"The answer is for {recommendation.basis}; `report.samples=N`, `report.goal` and `prices` ask "
            "for another one."
        )
        is_settled = recommendation.state == "settled"
        headline = "Nothing needs to be measured" if is_settled else "No measurement is known to help"
        return Card(kind="next", title="Next step", headline=headline, sentences=(sentence,))
    sentence = describe_next_step(step)
    return Card(
        kind="next",
        title="Next step",
        headline="",
        sentences=(f"{sentence[:1].upper()}{sentence[1:]}", *([step.start] if step.start else [])),
        command=step.command,
    )


def _left_out(recommendation: Recommendation) -> list[str]:
    """Name settings that were tried and cannot train the job."""
    if recommendation.state not in ("settled", "tie"):
        return []
    named = [f"{one.setting} ({one.reason})" for one in recommendation.left_out]
    if not named:
        return []
    more = f" and {len(named) - _MOST_REASONS:,} more" if len(named) > _MOST_REASONS else ""
    return [f"Left out: {'; '.join(named[:_MOST_REASONS])}{more}."]


def _ahead(recommendation: Recommendation) -> list[str]:
    """Tell how far the choice lies ahead of the next measured setting."""
    ahead = recommendation.ahead
    if ahead is None or recommendation.is_by_quality:
        return []
    better, worse = ("cheaper", "dearer") if recommendation.is_by_cost else ("faster", "slower")
    verdict = f" {better}" if ahead.low > 1 else f" {worse}" if ahead.high < 1 else ", no difference shown"
    return [f"Against {recommendation.runner_up}: {ratio(ahead)}{verdict}."]


def describe_outcome(standing: RankedSetting, recommendation: Recommendation) -> str:
    """Tell time, cost and quality of the job: `12.30 min [11.90, 12.70], $0.04000, accuracy 0.9700`."""
    parts: list[str] = [duration(standing.seconds)]
    if standing.usd is not None:
        parts.append(f"${number(standing.usd.median)} {standing.price_marks}".rstrip())
    if standing.quality is not None and recommendation.aim is not None:
        after = f" after {standing.quality_samples:,} samples" if standing.quality_samples else ""
        parts.append(f"{recommendation.aim.metric} {number(standing.quality.estimate)}{after}")
    return ", ".join(parts)


def _rivals(recommendation: Recommendation) -> list[str]:
    """Name what the measurements do not separate, and what decides."""
    rivals = [label for label in recommendation.tied if label != recommendation.chosen]
    if not rivals:
        return []
    more = f" and {len(rivals) - _MOST_RIVALS:,} more in the table" if len(rivals) > _MOST_RIVALS else ""
    sentence = f"The measurements do not separate it from {'; '.join(rivals[:_MOST_RIVALS])}{more}."
    if recommendation.chosen_by:
        return [sentence, f"Among them it is chosen by {recommendation.chosen_by}."]
    return [sentence, "Nothing else separates them; its mean is the best."]


def _reasons(recommendation: Recommendation) -> list[str]:
    reasons = recommendation.reasons
    left = len(reasons) - _MOST_REASONS
    sentences = [f"{reason[:1].upper()}{reason[1:]}." for reason in reasons[:_MOST_REASONS]]
    if left > 0:
        sentences.append(f"{left:,} more reasons are in the table Not judged.")
    cap = recommendation.budget_usd
    if cap is not None and not recommendation.errands and recommendation.standings:
        sentences.append(f"No trial within budget.usd={cap:g} would tell much more.")
    return sentences


def _nearest(recommendation: Recommendation) -> str:
    """Tell what the limits would have to allow, each by itself."""
    standings = recommendation.standings
    fastest = min(standings, key=lambda standing: standing.seconds.median)
    sentence = f"The fastest, {fastest.setting}, takes {duration(fastest.seconds)}"
    priced = [standing for standing in standings if standing.usd is not None]
    if priced:
        cheapest = min(priced, key=lambda standing: standing.usd.median if standing.usd else 0.0)
        assert cheapest.usd is not None
        sentence += f"; the cheapest, {cheapest.setting}, costs ${number(cheapest.usd.median)}"
    judged = [standing for standing in standings if standing.quality is not None]
    if judged and recommendation.aim:
        better = max if recommendation.aim.higher_is_better else min
        best = better(judged, key=lambda standing: standing.quality.estimate if standing.quality else 0.0)
        assert best.quality is not None
        sentence += (
            f"; the best {recommendation.aim.metric}, {number(best.quality.estimate)}, has {best.setting}"
        )
    return f"{sentence}, for {recommendation.basis}."


def noise_banner(recommendations: Iterable[Recommendation]) -> str:
    """Tell once that the host was busy; empty: it was not."""
    answers = list(recommendations)
    noisy = sum(one.num_noisy for one in answers)
    if not noisy:
        return ""
    trials = counted(sum(one.num_trials for one in answers), "trial")
    return f"The host was busy: {noisy:,} of {trials} noisy. Noisy trials decide no recommendation."


def describe_next_step(step: NextStep) -> str:
    """Tell what to measure, and its price."""
    price = []
    if step.usd is not None:
        price.append(f"${number(step.usd, digits=2)} {step.price_marks}".rstrip())
    if step.hours is not None:
        price.append(duration_of(step.hours, digits=2))
    sentence = step.why
    if price:
        sentence += f", about {' and '.join(price)}"
        left_out = [*(["set-up"] if step.is_without_setup else []), *(["boot"] if step.start else [])]
        sentence += f", {' and '.join(left_out)} not included" if left_out else ""
    return f"{sentence}."


def describe_setup(recommendations: Iterable[Recommendation]) -> str:
    """Tell which parts of a job beside its steps are in its time and cost."""
    standings = [standing for one in recommendations for standing in one.standings]
    boot = "; boot of a rented machine is not" if any(one.is_rented for one in standings) else ""
    if all(one.provenance == "measured" for one in standings):
        return f"launch and first step are included{boot}"
    if any(one.fixed_seconds > 0 for one in standings):
        return f"launch and first step are included, of predicted settings as long as of measured ones{boot}"
    also = ", and boot of a rented machine neither" if boot else ""
    return f"launch and first step are not included, as none was measured{also}"


def known_by(standing: RankedSetting) -> str:
    """`predicted`, `measured, 1 noisy`."""
    return f"{standing.provenance}{marks_of_runs(standing)}"


def marks_of_runs(standing: RankedSetting) -> str:
    """Tell how many runs need care: `, 1 noisy, 1 outlier`."""
    return counted_marks(
        num_noisy=standing.num_noisy,
        num_outliers=standing.num_outliers,
        num_resumed=standing.num_resumed,
    )


def chance(value: float) -> Number:
    """`46%`; draws never make a setting certain, or impossible."""
    if value > _SURE:
        return Number(">99%", value)
    return Number("<1%", value) if value < 1 - _SURE else share(value)
