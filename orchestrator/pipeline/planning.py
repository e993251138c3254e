"""Plan a sweep, and add predictions and the expected cost."""

from dataclasses import replace

from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.jobs.length import check_lengths
from orchestrator.analysis.recommendation.recommend import recommendations_of
from orchestrator.core.budget import Balance
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.pipeline.budget import account_of
from orchestrator.pipeline.components import market_of
from orchestrator.pipeline.preflight import Situation
from orchestrator.plan.order import running_order, weight_of
from orchestrator.plan.planner import plan
from orchestrator.plan.pricing import Market, repriced
from orchestrator.predict.step_time.bundled_models import default_models
from orchestrator.predict.step_time.estimator import bases_of, blind_estimator_of, estimator_of
from orchestrator.predict.step_time.own_records import own_of
from orchestrator.predict.step_time.plan_forecasts import forecasts_of, hindcasts_of, track_record_of
from orchestrator.predict.step_time.step_priors import error_model_of, step_priors_of
from orchestrator.train.registry import trainers


def plan_sweep(settings: Settings, situation: Situation) -> Plan:
    """Decide what becomes of every point; nothing is started.

    Raises:
        ConfigError: as `plan` does, or where the report is asked for a job of a length that it cannot have.
    """
    decided = plan(
        settings.sweep,
        inventory=situation.inventory,
        trainers=trainers(),
        environments=situation.environments,
        start_methods={name: chosen.start_method for name, chosen in settings.trainers.items()},
        data_ids={wanted: ref.id for wanted, ref in situation.data.items()},
        train_samples={wanted: ref.train_samples for wanted, ref in situation.data.items()},
        records=[record for records in situation.ledgers.values() for record in records],
        code_sha256=situation.driver["code_sha256"],
        missing_device=settings.missing_device,
        rerun=settings.rerun,
    )
    check_lengths(decided.trainings, settings.wish)
    return decided


def with_predictions(decided: Plan, settings: Settings, situation: Situation) -> Plan:
    """The plan with what is thought of trials whose device is not at hand, or that were measured."""
    market, models = market_of(settings, today=situation.today), default_models()
    every = (record for records in situation.ledgers.values() for record in records)
    basis, own = bases_of(market.devices, models), own_of(every, devices=market.devices)
    blind = blind_estimator_of(basis, own, models.prior)
    return replace(
        decided,
        forecasts=forecasts_of(decided, market, estimator_of(basis, own, models.prior)),
        hindcasts=hindcasts_of(decided, situation.ledgers.get(settings.sweep.name, ()), blind),
        track_record=track_record_of(own, blind),
        step_priors=step_priors_of(decided, basis, own, models.prior),
        error_model=error_model_of(models),
    )


def answers_so_far(settings: Settings, situation: Situation, decided: Plan) -> tuple[Recommendation, ...]:
    """Answer from the records that a run would find, of this sweep and of others; nothing without any.

    Args:
        decided: with predictions.
    """
    every = [record for records in situation.ledgers.values() for record in records]
    standing = latest(every)
    records = [standing[one.trial_id] for one in decided.asked if one.trial_id in standing]
    if not any(record.provenance == "measured" for record in records):
        return ()
    return recommendations_of(
        _at_prices_asked(settings, tuple(records), today=situation.today), decided, settings.wish
    )


def prospect_of(settings: Settings, situation: Situation, todo: Plan) -> Balance | None:
    """What a plan's trials would likely cost within the budget; None where neither is of interest."""
    market = market_of(settings, today=situation.today)
    account = account_of(settings, situation.ledgers, market)
    return account.forecast(_order_of(settings, todo, market)) if account else None


def _at_prices_asked(
    settings: Settings, records: tuple[TrialRecord, ...], *, today: str
) -> tuple[TrialRecord, ...]:
    """The records with the prices that they were kept with, or with those that the command line speaks of."""
    if not settings.reprices:
        return records
    return repriced(records, market_of(settings, today=today))


def _order_of(settings: Settings, todo: Plan, market: Market) -> tuple[Placement, ...]:
    sweep = settings.sweep
    return running_order(todo.placements, seed=sweep.shuffle_seed, weight=weight_of(sweep.order, market))
