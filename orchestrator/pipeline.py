"""The story of a sweep on one page: look, plan, execute, record, analyse."""

import platform
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.analysis.job_length import check_lengths
from orchestrator.analysis.metrics import metrics_of
from orchestrator.analysis.recommendation.answer import Recommendation
from orchestrator.analysis.recommendation.answers import recommendations_of
from orchestrator.analysis.wording import counted
from orchestrator.budgeting import Ask, account_of, remarks_on, require_consent
from orchestrator.core.budget import Balance
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.result import TrialRecord, latest
from orchestrator.core.settings import Settings
from orchestrator.core.stage import Step
from orchestrator.execute.account import Account
from orchestrator.execute.base import Mission, Watcher
from orchestrator.execute.checkpoints import Checkpoints
from orchestrator.execute.halt import Halt, Halts, request
from orchestrator.execute.outcome import attempts_made
from orchestrator.execute.purse import OPEN
from orchestrator.following import Followed
from orchestrator.images import require_browser
from orchestrator.means import (
    checkpoints_of,
    executor_of,
    heavy,
    journal_of,
    ledger_of,
    market_of,
    mirror_of,
    tracker_of,
)
from orchestrator.plan.answers import adopted
from orchestrator.plan.order import running_order, weight_of
from orchestrator.plan.plan import plan
from orchestrator.plan.prices import Market, forecasts_repriced, priced, repriced
from orchestrator.predict.defaults import default_models
from orchestrator.predict.estimator import bases_of, blind_estimator_of, estimator_of
from orchestrator.predict.forecasts import forecasts_of, hindcasts_of, track_record_of
from orchestrator.predict.own import own_of
from orchestrator.predict.step_priors import error_model_of, step_priors_of
from orchestrator.record.base import Tracker
from orchestrator.record.ledger import Ledger, read_ledgers
from orchestrator.record.lock import own_turn
from orchestrator.reporting import Outcome, files_in, write_report
from orchestrator.situation import Situation, origins_of, today
from orchestrator.train.registry import trainers
from workloads.data.sources import default_cache

Say = Callable[[str], None]
"""Tells a person one line."""

Watch = Callable[[Plan], AbstractContextManager[Watcher]]
"""Opens what a person sees while a plan is carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a sweep has come.

    Attributes:
        plan: what is still to run, and what is done.
        holder: who runs it; None: nobody on this host.
    """

    plan: Plan
    records: tuple[TrialRecord, ...]
    steps: tuple[Step, ...]
    holder: str | None


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


def run_sweep(
    settings: Settings, situation: Situation, *, watch: Watch, say: Say, ask: Ask | None
) -> Outcome:
    """Run what is missing when it is this sweep's turn, keep each record as it arrives, and report.

    Args:
        ask: None where nobody is there to answer.
    """
    first = plan_sweep(settings, situation)  # what cannot be carried out is refused before anything is made
    require_consent(prospect_of(settings, situation, first), ask)
    ledger = ledger_of(settings)
    tracker = mirror_of(settings)
    checkpoints = checkpoints_of(settings)
    halts = Halts(ledger.path.parent, say=say)
    with ledger.lock(), halts.received(), _turn(settings, first, halts, say=say) as has_turn:
        # Another driver may have ended between the look and the locks.
        situation = replace(situation, ledgers=read_ledgers(settings.outputs, sweep=settings.sweep.name))
        todo = plan_sweep(settings, situation)
        for record in adopted((*todo.cached, *todo.failed), situation.ledgers, sweep=ledger.sweep):
            ledger.append(record)
        if checkpoints:
            checkpoints.settle_all(ledger.records())
        account = account_of(settings, situation.ledgers, market_of(settings, today=situation.today))
        tracker.begin(settings.sweep.name)
        try:
            tracker.sync((record, metrics_of(record)) for record in ledger.records())
            with watch(todo) as watcher, halts.heard():
                if todo.placements and has_turn:
                    _execute(
                        todo,
                        settings,
                        situation,
                        ledger=ledger,
                        tracker=tracker,
                        checkpoints=checkpoints,
                        watcher=watcher,
                        halts=halts,
                        account=account,
                    )
            if halts.is_interrupted:
                raise KeyboardInterrupt
            outcome = _written(settings, todo, ledger.records(), situation)
            outcome = replace(outcome, remarks=remarks_on(account))
        except BaseException:
            tracker.finish(())
            raise
        tracker.finish(outcome.files)
    return outcome


def report_sweep(settings: Settings, situation: Situation) -> Outcome:
    """Write the report of what is recorded, and show it where the sweep is tracked.

    Costs are at the prices that were kept with the records, unless the command line speaks of prices.
    """
    kept = situation.ledgers.get(settings.sweep.name, ())
    records = _at_prices_asked(settings, kept, today=situation.today)
    outcome = _written(settings, plan_sweep(settings, situation), records, situation)
    if outcome.records:
        tracker_of(settings).attach(outcome.files, sweep=settings.sweep.name)
    return outcome


def report_tracked(settings: Settings) -> Outcome:
    """The same report from the tracking server alone: no ledger, no data and no trainer need be here.

    Raises:
        RecordError: the server cannot be read, or does not know the sweep.
    """
    if settings.images:
        require_browser()
    if settings.tracking_uri is None:
        raise ConfigError("report.source=mlflow needs a tracking server, and tracking=none has none")
    mlflow_read = heavy(
        "orchestrator.record.mlflow_read", "report.source=mlflow", instead="report.source=ledger"
    )
    records, told = mlflow_read.read_sweep(settings.tracking_uri, sweep=settings.sweep.name)
    records = _at_prices_asked(settings, records, today=today())
    if settings.reprices:
        told = forecasts_repriced(told, market_of(settings, today=today()))
    folder = settings.outputs / settings.sweep.name
    return write_report(folder, records, told, settings.wish, images=settings.images)


def sync_sweep(settings: Settings) -> int:
    """Give the tracking server the records that it lacks, and return how many those were.

    Raises:
        RecordError: it could not be given all of them.
    """
    ledger, tracker = ledger_of(settings), tracker_of(settings)
    tracker.begin(settings.sweep.name)
    tracker.sync((record, metrics_of(record)) for record in ledger.records())
    tracker.finish(files_in(ledger.path.parent))
    if tracker.missed:
        missing = counted(tracker.missed, "record")
        raise RecordError(f"{missing} could not be sent; sync again when the server answers")
    return tracker.sent


def status_of(settings: Settings, situation: Situation) -> Status:
    """How far the sweep has come."""
    ledger = ledger_of(settings)
    return Status(
        plan=plan_sweep(settings, situation),
        records=situation.ledgers.get(ledger.sweep, ()),
        steps=journal_of(settings).steps(),
        holder=ledger.holder(),
    )


def halt_sweep(settings: Settings, halt: Halt) -> str:
    """Ask whoever runs the sweep to stop, and return who that is.

    Raises:
        RecordError: nobody runs it.
    """
    ledger = ledger_of(settings)
    holder = ledger.holder()
    if holder is None:
        raise RecordError(f"sweep {ledger.sweep!r} is not being run here; there is nothing to {halt}")
    request(ledger.path.parent, halt)
    return holder


def _turn(settings: Settings, todo: Plan, halts: Halts, *, say: Say) -> AbstractContextManager[bool]:
    """This host for this sweep alone, if it runs anything here: a cluster knows itself what is free.

    False if it was told to stop before its turn came.
    """
    if not todo.placements or settings.cluster_address not in ("local", "fake"):
        return nullcontext(True)
    path = default_cache() / f"sweep-on-{platform.node()}.lock"  # hosts may share a user's cache
    return own_turn(path, sweep=settings.sweep.name, say=say, is_wanted=lambda: halts.wished() is None)


def _at_prices_asked(
    settings: Settings, records: tuple[TrialRecord, ...], *, today: str
) -> tuple[TrialRecord, ...]:
    """The records with the prices that they were kept with, or with those that the command line speaks of."""
    if not settings.reprices:
        return records
    return repriced(records, market_of(settings, today=today))


def _written(
    settings: Settings, current: Plan, records: tuple[TrialRecord, ...], situation: Situation
) -> Outcome:
    """The report, in the sweep's folder.

    Args:
        records: of this sweep, as they are by now.
    """
    folder = ledger_of(settings).path.parent
    ledgers = {**situation.ledgers, settings.sweep.name: records}
    told = with_predictions(current, settings, replace(situation, ledgers=ledgers))
    return write_report(folder, records, told, settings.wish, images=settings.images)


def _execute(
    todo: Plan,
    settings: Settings,
    situation: Situation,
    *,
    ledger: Ledger,
    tracker: Tracker,
    checkpoints: Checkpoints | None,
    watcher: Watcher,
    halts: Halts,
    account: Account | None,
) -> None:
    market = market_of(settings, today=situation.today)

    def keep(attempted: TrialRecord) -> None:
        record = priced(attempted, market)
        ledger.append(record)
        if checkpoints:
            checkpoints.settle(record)
        tracker.keep(record, metrics_of(record))

    journal = journal_of(settings)
    mission = _mission_of(settings, situation, journal.steps(), folder=ledger.path.parent)
    order = _order_of(settings, todo, market)
    made = mission.prior_attempts
    journal.note("queued", [(each.trial_id, made.get(each.trial_id, 0)) for each in order])
    executor_of(settings, situation.inventory).run(
        order,
        mission,
        keep=keep,
        watcher=Followed(watcher, journal),
        wished=halts.wished,
        purse=account or OPEN,
    )


def _order_of(settings: Settings, todo: Plan, market: Market) -> tuple[Placement, ...]:
    sweep = settings.sweep
    return running_order(todo.placements, seed=sweep.shuffle_seed, weight=weight_of(sweep.order, market))


def _mission_of(settings: Settings, situation: Situation, steps: Iterable[Step], *, folder: Path) -> Mission:
    return Mission(
        sweep=settings.sweep.name,
        folder=folder.absolute(),
        deadlines=settings.deadlines,
        data_paths={ref.id: str(ref.path) for ref in situation.data.values()},
        pythons={name: found.python for name, found in situation.environments.items()},
        devices=settings.sweep.devices,
        retry_limits=settings.retries,
        backoff_seconds=settings.backoff_seconds,
        prior_attempts=attempts_made(situation.ledgers.get(settings.sweep.name, ()), steps),
        environment=situation.driver,
        versions={name: found.versions for name, found in situation.environments.items()},
        origins=origins_of(settings),
        checkpointing=settings.checkpointing,
    )
