"""Plan a sweep, and add predictions and the expected cost."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from orchestrator.analysis.recommendation.jobs.length import check_lengths, check_quality
from orchestrator.analysis.tables.budget import expected_line
from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.core.budget import BudgetStatus
from orchestrator.core.estimate import Estimate
from orchestrator.core.memory_fit import NoFit, Verdict, choose_fit
from orchestrator.core.placement import Outdated, Placement, Plan
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.pipeline.components import find_repeated_words, list_command_words
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.script_files import find_outdated
from orchestrator.plan.cache import without_outdated
from orchestrator.plan.memory import MemoryKey, memory_key
from orchestrator.plan.order import choose_weight, running_order
from orchestrator.plan.planner import find_memory, plan
from orchestrator.plan.pricing import PriceBook, prices_by_trial, repriced
from orchestrator.plan.spending import StepOf
from orchestrator.plan.trial_specs import build_workload, data_key, find_tasks
from workloads.registry import cached_workload

if TYPE_CHECKING:
    from orchestrator.analysis.recommendation.answer.answer import Recommendation
    from orchestrator.predict.memory_need import MemoryNeed
    from orchestrator.predict.step_time.estimator import BasisOf
    from orchestrator.predict.step_time.loader_rates import LoaderRates
    from orchestrator.predict.step_time.own_records import StepMeasurement


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


def with_predictions(decided: Plan, settings: Settings, preflight: PreflightState) -> Plan:
    """Add predictions to a plan: of trials without their device, and of measured ones for comparison."""
    from orchestrator.predict.step_time.bundled_models import default_models
    from orchestrator.predict.step_time.compiled_estimate import estimates_from
    from orchestrator.predict.step_time.estimator import build_estimator, leave_one_workload_out_estimator
    from orchestrator.predict.step_time.plan_forecasts import (
        build_forecasts,
        count_track_record,
        predict_backtests,
    )
    from orchestrator.predict.step_time.step_priors import fit_error_model, predict_step_priors

    price_book, models = preflight.price_book, default_models()
    basis, own = _basis_and_own(settings, preflight)
    find_compiled_estimate = estimates_from(preflight.compiled_steps)
    loader_rates, find_memory = _loader_rates(preflight), _find_memories(decided, preflight, basis)
    blind = leave_one_workload_out_estimator(basis, own, models)
    return replace(
        decided,
        forecasts=build_forecasts(
            decided,
            price_book,
            build_estimator(basis, own, models, find_compiled_estimate, loader_rates),
            find_memory,
        ),
        hindcasts=predict_backtests(decided, preflight.ledgers.get(settings.sweep.name, ()), blind),
        track_record=count_track_record(own, blind),
        step_priors=predict_step_priors(
            decided, basis, own, models, find_compiled_estimate, loader_rates, find_memory
        ),
        error_model=fit_error_model(models),
        prices=prices_by_trial(decided, price_book) if settings.search.is_adaptive else {},
    )


def _find_memories(
    decided: Plan, preflight: PreflightState, basis_of_trial: "BasisOf"
) -> "Callable[[TrialSpec], MemoryNeed | None]":
    """Return a function that finds what is known about the memory of a step, by whichever trainer's."""

    def build_key(trial: TrialSpec) -> MemoryKey:
        return memory_key(replace(trial, trainer="", trainer_options={}))

    fits: dict[MemoryKey, list[Verdict | NoFit]] = defaultdict(list)
    skipped = (one.trial for one in decided.skipped if one.trial)
    for trial in (*(one.trial for one in decided.asked), *skipped):
        if fit := preflight.memory_fits.get(memory_key(trial)):
            fits[build_key(trial)].append(fit)

    def find_memory(trial: TrialSpec) -> "MemoryNeed | None":
        need = None if trial.other_devices else basis_of_trial(trial).query.memory
        return need and replace(need, counted=choose_fit(fits.get(build_key(trial), ())))

    return find_memory


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

    budget_tracker = build_budget_tracker(
        settings, preflight.ledgers, preflight.price_book, predict_step=_find_steps(settings, preflight)
    )
    return budget_tracker.forecast(find_order(settings, todo, preflight.price_book))


def describe_expected(settings: Settings, prospect: BudgetStatus) -> tuple[str, ...]:
    """Describe likely time and cost of the trials of a plan; an adaptive search describes its own."""
    if settings.search.is_adaptive or not prospect.quotes:
        return ()
    start = describe_start(quote.rate.price for quote in prospect.quotes if quote.is_rented)
    return (expected_line(prospect.quotes), *([start] if start else []))


def _find_steps(settings: Settings, preflight: PreflightState) -> StepOf:
    """Build the predictor of steps. It loads its models when it is first asked, which takes a while."""
    from orchestrator.predict.step_time.bundled_models import default_models
    from orchestrator.predict.step_time.compiled_estimate import estimates_from
    from orchestrator.predict.step_time.estimator import Estimator, build_estimator
    from orchestrator.predict.step_time.own_records import Shape, step_key

    @cache
    def estimator() -> Estimator:
        basis, own = _basis_and_own(settings, preflight)
        find_compiled_estimate = estimates_from(preflight.compiled_steps)
        return build_estimator(basis, own, default_models(), find_compiled_estimate, _loader_rates(preflight))

    known: dict[Shape, Estimate | None] = {}

    def predict_step(placement: Placement) -> Estimate | None:
        trial, shape = placement.trial, step_key(placement.trial)
        if shape not in known:
            has_phases = len(cached_workload(trial.workload, trial.workload_options).phases) > 1
            step = None if has_phases else estimator()(trial)  # it is that of the last phase alone
            known[shape] = step if isinstance(step, Estimate) else None
        return known[shape]

    return predict_step


def _basis_and_own(
    settings: Settings, preflight: PreflightState
) -> "tuple[BasisOf, tuple[StepMeasurement, ...]]":
    """Return the estimates from published data, and the own measurements that correct them."""
    from orchestrator.predict.step_time.bundled_models import default_models
    from orchestrator.predict.step_time.estimator import build_bases
    from orchestrator.predict.step_time.own_records import step_measurements
    from orchestrator.record.calibrations import host_calibrations

    devices = preflight.price_book.devices
    calibrations, network_gbps = host_calibrations(settings), settings.network_gbps
    basis = build_bases(devices, default_models(), calibrations, network_gbps=network_gbps)
    return basis, step_measurements(preflight.records, devices=devices)


def _loader_rates(preflight: PreflightState) -> "LoaderRates":
    from orchestrator.predict.step_time.loader_rates import collect_loader_rates

    newest = latest(preflight.records)
    return collect_loader_rates(newest.values())


def at_requested_prices(
    settings: Settings, records: tuple[TrialRecord, ...], price_book: PriceBook
) -> tuple[TrialRecord, ...]:
    """Return the records at their stored prices, or repriced if the command line sets prices."""
    return repriced(records, price_book) if settings.reprices else records


def find_order(settings: Settings, todo: Plan, price_book: PriceBook) -> tuple[Placement, ...]:
    sweep = settings.sweep
    return running_order(
        todo.placements, seed=sweep.shuffle_seed, weight=choose_weight(sweep.order, price_book)
    )
