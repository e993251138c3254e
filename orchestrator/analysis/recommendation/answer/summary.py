"""A recommendation in words: the state of the answer first."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.analysis.formatting import (
    Number,
    about,
    counted,
    counted_marks,
    digits_for,
    exact_percent,
    first_names,
    format_duration,
    number,
    ratio,
    share,
)
from orchestrator.analysis.recommendation.answer.answer import NextStep, RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.job_line import build_job_cost, describe_left_out

_SURE = 0.995
_MOST_REASONS = 4
_MOST_TIED = 3


def find_answer(recommendation: Recommendation) -> str:
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


def format_sentence(recommendation: Recommendation) -> str:
    """Describe all of it in one paragraph."""
    return " ".join(filter(None, (describe_verdict(recommendation), describe_next(recommendation))))


def describe_verdict(recommendation: Recommendation) -> str:
    """Describe the state of the answer, what to take and what may be better."""
    card = _build_verdict(recommendation)
    first, *others = card.sentences
    if card.headline and card.title != _RECOMMENDED:
        first = f"{card.title}: {card.headline}. {first}"
    head = f"{find_answer(recommendation)}, for {recommendation.job} ({recommendation.asked})."
    return " ".join((head, first, *others))


def describe_next(recommendation: Recommendation) -> str:
    """Describe what to do next, its command last; empty: nothing is known to help."""
    if recommendation.next_step is None:
        return ""
    card = _build_next(recommendation)
    first, *others = card.sentences
    sentences = " ".join((f"Next: {first[:1].lower()}{first[1:]}", *others))
    return f"{sentences} Run: {card.command}" if card.command else sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A part of the answer.

    Attributes:
        title: what the part is about.
        headline: its subject in a few words; empty: the sentences have it.
        command: command that does what the sentences ask for; empty if there is none.
    """

    title: str
    sentences: tuple[str, ...]
    headline: str = ""
    command: str = ""


def build_cards(recommendation: Recommendation) -> tuple[Card, Card]:
    """Divide the answer into one verdict, and what would confirm it."""
    return _build_verdict(recommendation), _build_next(recommendation)


def title_words(recommendation: Recommendation) -> str:
    """Show what is known: `cpu, bf16 is the best of what ran for mnist_cnn; t4 is probably 4.4x as fast`."""
    job, best, rival = recommendation.job, recommendation.best_measured, _find_rival(recommendation)
    if recommendation.state == "none" or (best is None and rival is None):
        return f"{find_answer(recommendation)} for {job}"
    if recommendation.is_only_one or recommendation.state == "tie":
        return f"{find_answer(recommendation)} for {job}"
    if recommendation.state == "settled":
        return f"{recommendation.chosen} is the best for {job}"
    nothing = "No measurement decides" if recommendation.num_trials else "Nothing is measured"
    here = f"{best.setting} is the best of what ran for {job}" if best else f"{nothing} for {job}"
    if rival is None:
        return f"{here}; not settled"
    times = _times(rival, recommendation)
    likelihood = "probably" if best is None or rival.chance > best.chance else "maybe"
    return f"{here}; {rival.setting} is {likelihood} {f'{times[1]}x as {times[3]}' if times else 'better'}"


def _build_verdict(recommendation: Recommendation) -> Card:
    """Describe what to take, what may be better, and how sure that is."""
    state, best = recommendation.state, recommendation.best_measured
    if state == "none":
        nearest = _nearest(recommendation) if recommendation.standings else []
        sentences = (*nearest, *_reasons(recommendation))
        return Card(title="Nearest", sentences=sentences or (_NOTHING,))
    is_answered = state in ("settled", "tie")
    open_ = () if is_answered else (*_probably(recommendation), *_reasons(recommendation))
    if best is None:
        none = "No setting is measured that decides." if recommendation.standings else _NOTHING
        return Card(
            title=_BEST,
            sentences=(none, *open_, *recommendation.caveats, *_left_out(recommendation)),
        )
    outcome = describe_outcome(best, recommendation)
    rate = [f"{number(best.samples_per_second.median, digits=digits_for(best.samples_per_second))} samples/s"]
    if usd := best.usd_per_million_samples:
        rate.append(f"${number(usd.median, digits=2)} per million samples")
    return Card(
        title=_RECOMMENDED if is_answered else _BEST,
        headline=best.setting,
        sentences=(
            *_rivals(recommendation),
            *outcome[:1],
            *open_,
            *outcome[1:],
            f"{', '.join(rate)}.",
            *([] if recommendation.is_only_one else [_sure(best, recommendation)]),
            *(_ahead(recommendation) if is_answered else []),
            *_left_out(recommendation),
            *recommendation.caveats,
        ),
    )


_RECOMMENDED = "Recommended"
_BEST = "Best of what ran"
_NOTHING = "No setting can be judged."
_LEAST_LIKELY = 0.05


def _sure(best: RankedSetting, recommendation: Recommendation) -> str:
    """Describe how likely the choice is good, and which devices that leaves open."""
    repeats, within = counted(len(best.rates), "repeat"), exact_percent(recommendation.tolerance)
    devices = {one.device for one in recommendation.standings if one.provenance != "measured"}
    devices -= {one.device for one in recommendation.standings if one.provenance == "measured"}
    if best.chance < _LEAST_LIKELY and devices:
        was = "was" if len(devices) == 1 else "were"
        return (
            f"Unlikely ({chance(best.chance)}) to be the best of all: "
            f"{counted(len(devices), 'device')} {was} not measured."
        )
    return f"Chance to be within {within} of the best: {chance(best.chance)} ({repeats})."


def _probably(recommendation: Recommendation) -> list[str]:
    """Describe what the likeliest setting without a measurement takes, and how much better it may be."""
    rival = _find_rival(recommendation)
    if rival is None:
        return []
    times = _times(rival, recommendation)
    better = f", about {times[1]}x as {times[3]} ({times[0]}x to {times[2]}x)" if times else ""
    best = recommendation.best_measured
    likelihood = "Probably" if best is None or rival.chance > best.chance else "Maybe"
    word = f"{likelihood} {'better' if best else 'the best'}"
    where = "There" if best else f"{_name_job(recommendation)} there"
    return [
        f"{word}, {rival.provenance} and not measured: {rival.setting}{better}.",
        f"{where}: about {about(rival.seconds)}{_format_cost(rival)}.",
        *_within_limits(rival),
        *([f"Its memory is {rival.doubt}, so that it may not fit."] if rival.doubt else []),
        *_spot(rival),
    ]


def _spot(one: RankedSetting) -> list[str]:
    """Describe what the job takes and costs on spot machines, where that is known."""
    return list(filter(None, [build_job_cost(one).describe_spot()]))


def _within_limits(one: RankedSetting) -> list[str]:
    """Describe the chance that a setting keeps to the limits, unless it surely does."""
    kept = one.chance_within_limits
    return [f"Chance to keep to the limits: {chance(kept)}."] if kept < _SURE else []


def _format_cost(one: RankedSetting) -> str:
    if one.usd is None:
        return ""
    marks = format_marks(one.price_marks)
    return f", ${number(one.usd.median, digits=2)}{f' ({marks})' if marks else ''}"


def _find_rival(recommendation: Recommendation) -> RankedSetting | None:
    """Return the likeliest setting that was not measured and may be the best."""
    rivals = (
        one for one in recommendation.standings if one.provenance != "measured" and one.chance >= 1 - _SURE
    )
    return max(rivals, key=lambda one: one.chance, default=None)


def _times(rival: RankedSetting, recommendation: Recommendation) -> tuple[str, str, str, str] | None:
    """Show how many times faster, or cheaper, an unmeasured setting is: least, likely, most, and the word."""
    best = recommendation.best_measured
    if best is None or recommendation.is_by_quality:
        return None
    ours, theirs, word = best.seconds, rival.seconds, "fast"
    if recommendation.is_by_cost:
        if best.usd is None or rival.usd is None or rival.usd.low <= 0:
            return None
        ours, theirs, word = best.usd, rival.usd, "cheap"
    least, likely, most = (
        number(ours.median / end, digits=2) for end in (theirs.high, theirs.median, theirs.low)
    )
    return least, likely, most, word


def _build_next(recommendation: Recommendation) -> Card:
    """Describe what to do next, with its command and its price."""
    step = recommendation.next_step
    if step is None:
        is_settled = recommendation.state == "settled"
        headline = "Nothing needs to be measured" if is_settled else "No measurement is known to help"
        sentences = (
            f"The answer is for {recommendation.basis}.",
            "`report.samples=N`, `report.goal` and `prices` ask for another one.",
        )
        return Card(title="To confirm it", headline=headline, sentences=sentences)
    sentence = describe_next_step(step)
    return Card(
        title="To confirm it",
        sentences=(f"{sentence[:1].upper()}{sentence[1:]}", *([step.start] if step.start else [])),
        command=step.command,
    )


def _left_out(recommendation: Recommendation) -> list[str]:
    """Name settings that were tried and cannot train the job."""
    if recommendation.state not in ("settled", "tie"):
        return []
    named = [f"{one.setting} ({one.reason})" for one in recommendation.left_out]
    return [f"Left out: {first_names(named, separator='; ')}."] if named else []


def _ahead(recommendation: Recommendation) -> list[str]:
    """Describe how far the choice lies ahead of the next measured setting."""
    ahead = recommendation.ahead
    if ahead is None or recommendation.is_by_quality:
        return []
    better, worse = ("cheaper", "dearer") if recommendation.is_by_cost else ("faster", "slower")
    verdict = f" {better}" if ahead.low > 1 else f" {worse}" if ahead.high < 1 else ", no difference shown"
    return [f"Against {recommendation.runner_up}: {ratio(ahead)}{verdict}."]


def describe_outcome(standing: RankedSetting, recommendation: Recommendation) -> list[str]:
    """Describe time, cost, quality and length of the job, a fact each."""
    sentences = [
        f"{_name_job(recommendation)}: {about(standing.seconds)}{_format_cost(standing)}.",
        *_within_limits(standing),
        *_spot(standing),
    ]
    if standing.quality is not None and recommendation.aim is not None:
        after = f" after {standing.quality_samples:,} samples" if standing.quality_samples else ""
        name = recommendation.aim.metric
        name = f"{name[:1].upper()}{name[1:]}"
        sentences.append(f"{name}: {number(standing.quality.estimate, digits=3)}{after}.")
    return sentences


def _name_job(recommendation: Recommendation) -> str:
    """Name the job; a length that is neither requested nor declared is that of no full training."""
    is_known = recommendation.length or recommendation.samples is None
    return f"{'Full training' if is_known else 'Training'} ({recommendation.basis})"


def _rivals(recommendation: Recommendation) -> list[str]:
    """Name what the choice is tied with, and what decides."""
    rivals = [label for label in recommendation.tied if label != recommendation.chosen]
    if not rivals:
        return []
    more = f" and {len(rivals) - _MOST_TIED:,} more in the table" if len(rivals) > _MOST_TIED else ""
    decides = f"Chosen by {recommendation.chosen_by}" if recommendation.chosen_by else "It has the best mean"
    return [f"Tied with {'; '.join(rivals[:_MOST_TIED])}{more}.", f"{decides}."]


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


def _nearest(recommendation: Recommendation) -> list[str]:
    """Describe what the limits would have to allow, each by itself."""
    standings = recommendation.standings
    fastest = min(standings, key=lambda standing: standing.seconds.median)
    sentences = [f"Fastest: {fastest.setting}, {about(fastest.seconds)}."]
    priced = [standing for standing in standings if standing.usd is not None]
    if priced:
        cheapest = min(priced, key=lambda standing: standing.usd.median if standing.usd else 0.0)
        sentences.append(f"Cheapest: {cheapest.setting}{_format_cost(cheapest)}.")
    judged = [standing for standing in standings if standing.quality is not None]
    if judged and recommendation.aim:
        better = max if recommendation.aim.higher_is_better else min
        best = better(judged, key=lambda standing: standing.quality.estimate if standing.quality else 0.0)
        assert best.quality is not None
        estimate = number(best.quality.estimate, digits=3)
        sentences.append(f"Best {recommendation.aim.metric}: {best.setting}, {estimate}.")
    return [*sentences, f"These are for {recommendation.basis}."]


def noise_banner(recommendations: Iterable[Recommendation]) -> str:
    """Format one warning that the host was busy, with the settings that has cost; empty: it was not."""
    answers = list(recommendations)
    noisy = sum(one.num_noisy for one in answers)
    if not noisy:
        return ""
    trials = counted(sum(one.num_trials for one in answers), "trial")
    names = [left.setting for one in answers for left in one.left_out if left.is_noisy]
    unjudged = f" Not judged: {first_names(names, separator='; ')}." if names else ""
    return f"The host was busy: {noisy:,} of {trials} noisy. Noisy trials decide no recommendation.{unjudged}"


def describe_next_step(step: NextStep) -> str:
    """Describe what to measure, and its price."""
    price: list[str] = []
    if step.hours is not None:
        price.append(format_duration(step.hours, digits=2))
    if step.usd is not None:
        price.append(f"${number(step.usd, digits=2)}")
    sentence = step.why
    if price:
        sentence += f", about {' and '.join(price)}"
        left_out = [*(["set-up"] if step.is_without_setup else []), *(["boot"] if step.start else [])]
        sentence += f", without {' and '.join(left_out)}" if left_out else ""
    return f"{sentence}."


def describe_setup(recommendations: Iterable[Recommendation]) -> str:
    """Describe which parts of a job beside its steps are in its time and cost."""
    standings = [standing for one in recommendations for standing in one.standings]
    boot = "; boot of a rented machine is not" if any(one.is_rented for one in standings) else ""
    left_out = describe_left_out(standings)
    if all(one.provenance == "measured" for one in standings):
        return f"Launch and first step are included{boot}. {left_out}"
    if any(one.fixed_seconds > 0 for one in standings):
        return f"Launch and first step are included, for predictions as measured here{boot}. {left_out}"
    also = ", and boot of a rented machine neither" if boot else ""
    return f"Launch and first step are not included, as none was measured{also}. {left_out}"


def known_by(standing: RankedSetting) -> str:
    """`predicted`, `measured, 1 noisy`, `predicted, memory not counted`."""
    doubt = f", memory {standing.doubt}" if standing.doubt else ""
    return f"{standing.provenance}{marks_of_runs(standing)}{doubt}"


def marks_of_runs(standing: RankedSetting) -> str:
    """Describe how many runs need care: `, 1 noisy, 1 outlier`."""
    return counted_marks(
        num_noisy=standing.num_noisy, num_outliers=standing.num_outliers, num_resumed=standing.num_resumed
    )


def format_marks(marks: str) -> str:
    """Leave out that prices are of a list: a page or an ending shows that once."""
    return ", ".join(mark for mark in marks.split(", ") if mark != "hypothetical")


def chance(value: float) -> Number:
    """`46%`; draws never make a setting certain, or impossible."""
    if value > _SURE:
        return Number(">99%", value)
    return Number("<1%", value) if value < 1 - _SURE else share(value)
