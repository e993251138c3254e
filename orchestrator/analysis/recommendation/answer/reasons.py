"""Reasons why an answer is not settled, and limits of the comparison. Pure."""

import math
from collections.abc import Sequence

from orchestrator.analysis.formatting import counted, exact_percent
from orchestrator.analysis.recommendation.answer.answer import AnswerState, ExcludedSetting, RankedSetting
from orchestrator.analysis.recommendation.answer.decide import SHOWN
from orchestrator.analysis.recommendation.answer.summary import chance
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.model import AS_LONG, assumed_quality
from orchestrator.core.price import Price

_MOST_RIVALS = 3  # named in a sentence; the table has the others


def list_caveats(judged: Sequence[CandidateSetting], job: Job, criteria: Criteria) -> list[str]:
    """List the limits of the comparison."""
    caveats = []
    if job.target is None and len({one.batch_size for one in judged}) > 1:
        caveats.append(
            "Batch sizes differ, so qualities after equally many samples may too. "
            "`measure.target=workload` compares the time to a quality."
        )
    longest = max((run.samples for one in judged for run in one.runs), default=0)
    is_judged = criteria.weights[2] > 0 or criteria.objective.quality is not None
    assumed = [quality for one in judged if (quality := assumed_quality(one, job)) is not None]
    if is_judged and assumed and job.target is None and longest < AS_LONG * job.samples:
        caveats.append(f"Quality was measured after {longest:,} samples at most, not at the end of the job.")
    if criteria.objective.goal == "balanced" and any(
        math.isinf(quality.high - quality.low) for quality in assumed
    ):
        caveats.append(
            "Quality is left out of the balance where no interval of it is known: more seeds give one."
        )
    if any(isinstance(one.price, Price) and one.price.nodes > 1 and not one.runs for one in judged):
        caveats.append("Predicted times leave out the network between several machines.")
    return caveats


def list_reasons(
    state: AnswerState,
    standings: Sequence[RankedSetting],
    excluded: Sequence[ExcludedSetting],
    *,
    tolerance: float,
) -> list[str]:
    """Explain why an answer is not settled."""
    if state in ("settled", "tie"):
        return []
    reasons = []
    rivals = sorted(
        (one for one in standings if one.provenance != "measured" and one.chance >= SHOWN),
        key=lambda one: -one.chance,
    )
    if rivals:
        named_rivals = ", ".join(f"{one.setting} ({chance(one.chance)})" for one in rivals[:_MOST_RIVALS])
        left = len(rivals) - _MOST_RIVALS
        more = f" and {left:,} more" if left > 0 else ""
        reasons.append(f"chance to be the best, {_bases(rivals)}: {named_rivals}{more}")
    by_reason: dict[str, int] = {}
    for one in sorted(excluded, key=lambda one: not one.may_be_best):
        by_reason[one.reason] = by_reason.get(one.reason, 0) + 1
    reasons += [f"{counted(count, 'setting')} not judged: {reason}" for reason, count in by_reason.items()]
    if not reasons and standings:
        best = max(standings, key=lambda one: one.chance)
        reasons.append(
            f"the likeliest is {best.setting}: within the limits and {exact_percent(tolerance)} of the best "
            f"with a chance of {chance(best.chance)}"
        )
    return reasons


def _bases(rivals: Sequence[RankedSetting]) -> str:
    """`predicted`, `compiled`, or `predicted or compiled`."""
    return " or ".join(sorted({one.provenance for one in rivals}, reverse=True))
