"""A recommendation in words: the state of the answer first."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.analysis.formatting import (
    Number,
    counted,
    counted_marks,
    exact_percent,
    number,
    ratio,
    share,
)
from orchestrator.analysis.recommendation.answer.answer import NextStep, RankedSetting, Recommendation
from orchestrator.core.interval import Spread

_SURE = 0.995
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
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
        is_named: the title belongs to the first sentence where the cards are one paragraph.
        command: command that does what the sentences ask for; empty if there is none.
    """

    title: str
    sentences: tuple[str, ...]
    is_named: bool = False
    command: str = ""


def details_of(recommendation: Recommendation) -> list[str]:
    """List the sentences of all cards."""
    sentences: list[str] = []
    for card in cards_of(recommendation):
        first, *others = card.sentences
        sentences += [f"{card.title}: {first}" if card.is_named else first, *others]
        if card.command:
            sentences[-1] = f"{sentences[-1].removesuffix('.')}: {card.command}"
    return sentences


def cards_of(recommendation: Recommendation) -> tuple[Card, ...]:
    """Divide the answer into what to take, what may be better, and what to do next."""
    caveats, step = recommendation.caveats, recommendation.next_step
    match recommendation.state:
        case "settled" | "tie":
            sentences = (*_choice(recommendation), *_left_out(recommendation), *caveats)
            cards = [Card(title="Recommended", sentences=sentences)]
        case "none":
            nearest = [_nearest(recommendation)] if recommendation.standings else []
            cards = [Card(title="Nearest", sentences=(*nearest, *_reasons(recommendation)))]
        case _:
            cards = [
                _best_measured(recommendation),
                Card(title="May be better", sentences=(*_reasons(recommendation), *caveats)),
            ]
    if step:
        cards.append(
            Card(title="Next", sentences=(describe_next_step(step),), is_named=True, command=step.command)
        )
    return tuple(card for card in cards if card.sentences)


def _choice(recommendation: Recommendation) -> list[str]:
    if recommendation.is_only_one:
        return [_facts(recommendation)]
    if recommendation.state == "tie":
        return [*_rivals(recommendation), _facts(recommendation), *_ahead(recommendation)]
    within = exact_percent(recommendation.tolerance)
    sure = f"Chance to be within {within} of the best: {_chance(recommendation)}."
    return [_facts(recommendation), *_ahead(recommendation), sure]


def _left_out(recommendation: Recommendation) -> list[str]:
    """Name settings that were tried and cannot train the job."""
    named = [f"{one.setting} ({one.reason})" for one in recommendation.left_out]
    if not named:
        return []
    more = f" and {len(named) - _MOST_REASONS:,} more" if len(named) > _MOST_REASONS else ""
    return [f"Left out: {'; '.join(named[:_MOST_REASONS])}{more}."]


def _best_measured(recommendation: Recommendation) -> Card:
    best = recommendation.best_measured
    if best is not None:
        facts = (
            f"{best.setting}, {describe_outcome(best, recommendation)}, for {recommendation.basis}; its "
            f"chance is {chance(best.chance)}."
        )
        return Card(title="Best measured", sentences=(facts, *_rivals(recommendation)), is_named=True)
    if not recommendation.standings:
        return Card(title="Measured", sentences=("No setting can be judged.",))
    return Card(
        title="Measured",
        sentences=(f"No measured setting can be recommended, for {recommendation.basis}.",),
    )


def _facts(recommendation: Recommendation) -> str:
    winner = recommendation.winner
    assert winner is not None
    return f"It takes {describe_outcome(winner, recommendation)}, for {recommendation.basis}."


def _ahead(recommendation: Recommendation) -> list[str]:
    """Tell how far the choice lies ahead of the next measured setting."""
    ahead = recommendation.ahead
    if ahead is None:
        return []
    better, worse = ("cheaper", "dearer") if recommendation.is_by_cost else ("faster", "slower")
    verdict = f" {better}" if ahead.low > 1 else f" {worse}" if ahead.high < 1 else ", no difference shown"
    return [f"Against {recommendation.runner_up}: {ratio(ahead)}{verdict}."]


def describe_outcome(standing: RankedSetting, recommendation: Recommendation) -> str:
    """Tell time, cost and quality of the job: `12.30 min [11.90, 12.70], $0.04000, accuracy 0.9700`."""
    parts = [duration(standing.seconds)]
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
        price.append(duration(Spread(median=step.hours * _HOUR, low=0, high=0), digits=2, ends=False))
    sentence = step.why
    if price:
        sentence += f", about {' and '.join(price)}"
        sentence += ", set-up not included" if step.is_without_setup else ""
    return f"{sentence}."


def duration(seconds: Spread, *, digits: int = 4, ends: bool = True) -> str:
    """Tell seconds in the unit that suits them: `12.30 min [11.90, 12.70]`."""
    units = (("days", _DAY), ("h", _HOUR), ("min", _MINUTE))
    unit, size = next(((unit, size) for unit, size in units if seconds.median >= 2 * size), ("s", 1.0))
    low, high = number(seconds.low / size, digits=digits), number(seconds.high / size, digits=digits)
    brackets = f" [{low}, {high}]" if ends and seconds.low < seconds.high else ""
    return Number(f"{number(seconds.median / size, digits=digits)} {unit}{brackets}", seconds.median)


def known_by(standing: RankedSetting) -> str:
    """`predicted`, `measured, 1 noisy`."""
    marked = counted_marks(num_noisy=standing.num_noisy, num_resumed=standing.num_resumed)
    return f"{standing.provenance}{marked}"


def chance(value: float) -> Number:
    """`46%`; draws never make a setting certain, or impossible."""
    if value > _SURE:
        return Number(">99%", value)
    return Number("<1%", value) if value < 1 - _SURE else share(value)


def _chance(recommendation: Recommendation) -> str:
    winner = recommendation.winner
    return chance(winner.chance) if winner else ""
