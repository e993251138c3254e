"""(records and plan of a sweep, goal) -> the answer for every job, wherever it is shown. Pure."""

from collections.abc import Sequence

from orchestrator.analysis.recommendation.answer import Recommendation
from orchestrator.analysis.recommendation.criteria import CONFIDENCE, Criteria
from orchestrator.analysis.recommendation.jobs_of_plan import jobs_of_plan
from orchestrator.analysis.recommendation.model import INDEPENDENT
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.wish import Wish


def recommendations_of(
    records: Sequence[TrialRecord], plan: Plan, wish: Wish, *, confidence: float = CONFIDENCE
) -> tuple[Recommendation, ...]:
    """Answer the question of every job of a sweep.

    Args:
        records: that stand, of trials of the plan.
    """
    criteria = Criteria(wish=wish, confidence=confidence)
    errors = plan.error_model or INDEPENDENT
    return tuple(recommend(job, criteria, errors) for job in jobs_of_plan(records, plan, wish))
