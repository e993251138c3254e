"""Adaptive search of a sweep at its start: what is known before the next trial."""

from orchestrator.core.placement import Plan
from orchestrator.core.result import latest
from orchestrator.core.settings import Settings
from orchestrator.extensions.adaptive_search.learning_curves import stops_on_curve
from orchestrator.extensions.adaptive_search.sweep_search import SweepSearch
from orchestrator.pipeline.planning import at_requested_prices, find_order, with_predictions
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.plan.cache import without_outdated


def build_search(settings: Settings, preflight: PreflightState, todo: Plan) -> SweepSearch:
    """Collect what is known before the next trial: predictions, prices, and the records of all sweeps."""
    predicted = with_predictions(todo, settings, preflight)
    newest = latest(without_outdated(preflight.records, todo.outdated))
    again = {  # the plan runs these: their old records answer nothing, but what a pruned one showed is known
        one.trial_id
        for one in todo.placements
        if one.trial_id in newest and not newest[one.trial_id].is_pruned
    }
    standing = tuple(
        newest[one.trial_id]
        for one in predicted.asked
        if one.trial_id in newest and one.trial_id not in again
    )
    return SweepSearch(
        predicted,
        settings.objective,
        placements=find_order(settings, todo, preflight.price_book),
        records=at_requested_prices(settings, standing, preflight.price_book),
        stops_on_curve=stops_on_curve,
    )
