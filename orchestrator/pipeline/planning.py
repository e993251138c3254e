"""Plan a sweep, and add predictions and the expected cost."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from orchestrator.analysis.recommendation.jobs.length import check_lengths, check_quality
from orchestrator.analysis.tables.budget import expected_line
from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.core.budget import BudgetStatus
from orchestrator.core.estimate import Estimate
from orchestrator.core.memory_fit import Verdict
from orchestrator.core.placement import Outdated, Placement, Plan
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.extension import find_part
from orchestrator.pipeline.components import find_repeated_words, list_command_words
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.script_files import find_outdated
from orchestrator.plan.cache import without_outdated
from orchestrator.plan.order import choose_weight, running_order
from orchestrator.plan.planner import find_memory, plan
from orchestrator.plan.pricing import PriceBook, prices_by_trial, repriced
from orchestrator.plan.trial_specs import build_workload, data_key, find_tasks

if TYPE_CHECKING:
    from orchestrator.analysis.recommendation.answer.answer import Recommendation


def plan_sweep(settings: Settings, preflight: PreflightState) -> Plan:
    """Decide for every point whether it runs, is cached or is skipped; no trial starts.

    Raises:
        ConfigError: as `plan`, or a job length that the workload cannot have.
    """
    decided = plan(
        settings.sweep,
        preflight.requested,
        inventory=preflight.inventory,
        environments=preflight.environments,
        train_samples={
            name: build_workload(point).count_train_samples(preflight.data[data_key(point)])
            for name, point in find_tasks(settings.sweep.points).items()
        },
        records=preflight.records,
        code_sha256=preflight.driver["code_sha256"],
        missing_device=settings.missing_device,
        rerun=settings.rerun,
        memory_fits=preflight.memory_fits,
        outdated=find_outdated_results(settings, preflight),
    )
    check_lengths(decided.trainings, settings.objective)
    check_quality(decided.trainings, decided.aims, settings.objective)
    return replace(
        decided,
        search=settings.search,
        repeated_words=find_repeated_words(settings),
        words=list_command_words(settings),
    )


def find_outdated_results(settings: Settings, preflight: PreflightState) -> Mapping[str, Outdated]:
    """Find the results of scripts that read other files than those that are here now."""
    are_here = settings.cluster is None or settings.is_fake
    return find_outdated(preflight.requested, preflight.records, are_here=are_here)


def with_memory(planned: Plan, settings: Settings, preflight: PreflightState) -> Plan:
    """Add to a plan what is known about the memory of steps; plan anew if one does not fit."""
    fits = preflight.memory_fits
    if any(isinstance(fit, Verdict) and not fit.fits for fit in fits.values()):
        return plan_sweep(settings, preflight)
    return replace(planned, memory=find_memory(planned.placements, fits))


class Predictor(Protocol):
    """Predictor of the steps of trials; an extension has it."""

    def add_to_plan(self, decided: Plan) -> Plan:
        """Add predictions of trials without their device, and of measured ones for comparison."""

    def predict_step(self, placement: Placement) -> Estimate | None:
        """Predict the step of a trial; None: it is refused, or one of several phases."""


def with_predictions(decided: Plan, settings: Settings, preflight: PreflightState) -> Plan:
    """Add to a plan what an extension predicts; of a search also the prices of its trials."""
    predictor = _build_predictor(settings, preflight)
    predicted = predictor.add_to_plan(decided) if predictor else decided
    prices = prices_by_trial(predicted, preflight.price_book) if settings.search.is_adaptive else {}
    return replace(predicted, prices=prices)


def _build_predictor(settings: Settings, preflight: PreflightState) -> Predictor | None:
    """Build the predictor that an extension has; None: none has."""
    build = find_part("predictor")
    return build(settings, preflight) if build else None


def answers_so_far(
    settings: Settings, preflight: PreflightState, decided: Plan
) -> "tuple[Recommendation, ...]":
    """Recommend from the records of all sweeps that a run would reuse; empty without measurements.

    Args:
        decided: plan with predictions.
    """
    newest = latest(without_outdated(preflight.records, decided.outdated))
    records = [newest[request.trial_id] for request in decided.asked if request.trial_id in newest]
    if not any(record.provenance == "measured" for record in records):
        return ()
    from orchestrator.analysis.recommendation.recommend import build_recommendations

    return build_recommendations(
        at_requested_prices(settings, tuple(records), preflight.price_book), decided, settings.objective
    )


def build_prospect(settings: Settings, preflight: PreflightState, todo: Plan) -> BudgetStatus:
    """Estimate the time and cost of a plan's trials, and the budget status after them."""
    from orchestrator.pipeline.budget import build_budget_tracker

    predictor = _build_predictor(settings, preflight)
    budget_tracker = build_budget_tracker(
        settings,
        preflight.ledgers,
        preflight.price_book,
        predict_step=predictor.predict_step if predictor else lambda _: None,
    )
    return budget_tracker.forecast(find_order(settings, todo, preflight.price_book))


def describe_expected(settings: Settings, prospect: BudgetStatus) -> tuple[str, ...]:
    """Describe likely time and cost of the trials of a plan; an adaptive search describes its own."""
    if settings.search.is_adaptive or not prospect.quotes:
        return ()
    start = describe_start(quote.rate.price for quote in prospect.quotes if quote.is_rented)
    return (expected_line(prospect.quotes), *([start] if start else []))


def at_requested_prices(
    settings: Settings, records: tuple[TrialRecord, ...], price_book: PriceBook
) -> tuple[TrialRecord, ...]:
    """Return the records at their stored prices, or repriced if the command line sets prices."""
    return repriced(records, price_book) if settings.reprices else records


def find_order(settings: Settings, todo: Plan, price_book: PriceBook) -> tuple[Placement, ...]:
    """Order the trials of a plan as they start."""
    sweep = settings.sweep
    return running_order(
        todo.placements, seed=sweep.shuffle_seed, weight=choose_weight(sweep.order, price_book)
    )
