"""What is recommended and how far it lies ahead of the runner-up, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis.advice import Advice, dollars_of, wish_in_words
from orchestrator.analysis.choice import quality_of
from orchestrator.analysis.compare import ratio_of, verdict_on
from orchestrator.analysis.pareto import Candidate
from orchestrator.analysis.wording import counted, marks, number, ratio
from orchestrator.core.placement import Aim
from orchestrator.core.wish import Goal, Wish

_OF_COST = {"faster": "cheaper", "slower": "dearer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A job with a choice, and the answer.

    Attributes:
        asked: the job and the wish.
        answer: the setting; None where nothing is recommended.
        facts: what its training took, or why there is none.
        standing: how far it lies ahead of the runner-up, with what that stands on; empty without one.
    """

    asked: str
    answer: str | None
    facts: str
    standing: str = ""

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        if self.answer is None:
            return f"Nothing is recommended on {self.asked}: {self.facts}."
        return " ".join(
            filter(None, (f"Recommended on {self.asked}: {self.answer}: {self.facts}.", self.standing))
        )


def decisions_of(advice: Sequence[Advice], wish: Wish) -> Iterator[Decision]:
    """One for each job that leaves a choice, or whose limits were asked about."""
    for each in advice:
        asked = f"{each.job.where} ({wish_in_words(wish, each.job.aim)})"
        if each.chosen is None:
            yield Decision(asked=asked, answer=None, facts=each.reason)
        elif len(each.job.candidates) > 1:
            yield Decision(
                asked=asked,
                answer=each.chosen.label,
                facts=", ".join(_facts_of(each.chosen, each.job.aim)),
                standing=_standing_of(each.chosen, each.runner_up, wish.goal) if each.runner_up else "",
            )


def _facts_of(chosen: Candidate, aim: Aim | None) -> Iterator[str]:
    yield f"{number(chosen.seconds)} s"
    if chosen.cost_usd is not None:
        yield f"${dollars_of(chosen)}"
    if chosen.quality is not None:
        yield quality_of(chosen, aim)


def _standing_of(chosen: Candidate, other: Candidate, goal: Goal) -> str:
    """By cost where that was asked for, otherwise by time; nothing where one of them is not known."""
    of_cost = goal == "cheapest"
    own, others = ((each.all_usd if of_cost else each.all_seconds) for each in (chosen, other))
    if not all((*own, *others)) or not own or not others:
        return ""
    ahead = ratio_of(others, own)
    verdict = str(verdict_on(ahead, num_repeats=min(len(own), len(others))))
    said = _OF_COST.get(verdict, verdict) if of_cost else verdict
    comma = "" if verdict in _OF_COST else ","
    marked = marks(
        is_noisy=chosen.is_noisy or other.is_noisy, is_resumed=chosen.is_resumed or other.is_resumed
    )
    cost = f"${dollars_of(other)}" if of_cost else f"{number(other.seconds)} s"
    return (
        f"Against the runner-up {other.label} ({cost}): {ratio(ahead)}{comma} {said}{marked}, over "
        f"{_repeats_of(own, others)} of the whole training."
    )


def _repeats_of(own: Sequence[float], others: Sequence[float]) -> str:
    if len(own) == len(others):
        return f"{counted(len(own), 'repeat')} each"
    return f"{counted(len(own), 'repeat')} against {len(others):,}"
