"""The story of a sweep on one page: look, plan, execute, record, analyse."""

import platform
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.analysis.metrics.definitions import metrics_of
from orchestrator.core.errors import RecordError
from orchestrator.core.placement import Attempt, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.core.trial_state import Stage, Step
from orchestrator.execute.executor import Mission, Watcher
from orchestrator.execute.scheduling.budget import OPEN, Account
from orchestrator.execute.scheduling.stop import Halt, Halts, request
from orchestrator.execute.trial.checkpoints import Checkpoints
from orchestrator.execute.trial.records import attempts_made
from orchestrator.pipeline.budget import Ask, account_of, remarks_on, require_consent
from orchestrator.pipeline.components import (
    checkpoints_of,
    executor_of,
    journal_of,
    ledger_of,
    market_of,
    mirror_of,
)
from orchestrator.pipeline.planning import _order_of, plan_sweep, prospect_of
from orchestrator.pipeline.preflight import Situation, origins_of
from orchestrator.pipeline.report import Outcome, _written
from orchestrator.plan.cache import adopted
from orchestrator.plan.pricing import priced
from orchestrator.record.journal import Journal
from orchestrator.record.ledger import Ledger, read_ledgers
from orchestrator.record.lock import own_turn
from orchestrator.record.tracking.tracker import Tracker
from workloads.data.sources import default_cache


class Followed:
    """A watcher that another one watches through: what it is told of is in the journal first."""

    def __init__(self, watcher: Watcher, journal: Journal) -> None:
        self._watcher = watcher
        self._journal = journal

    def started(self, attempt: Attempt) -> None:
        """As `Watcher.started`: the attempt counts from here on."""
        self._journal.note("starting", [_key_of(attempt)])
        self._watcher.started(attempt)

    def placed(self, attempt: Attempt) -> None:
        """As `Watcher.placed`."""
        self._journal.note("running", [_key_of(attempt)])
        self._watcher.placed(attempt)

    def ended(self, record: TrialRecord) -> None:
        """As `Watcher.ended`."""
        stage: Stage = "failed" if record.failure else "finished"
        self._journal.note(stage, [(record.trial_id, record.attempt)])
        self._watcher.ended(record)

    def withdrawn(self, attempt: Attempt) -> None:
        """As `Watcher.withdrawn`."""
        self._journal.note("withdrawn", [_key_of(attempt)])
        self._watcher.withdrawn(attempt)


def _key_of(attempt: Attempt) -> tuple[str, int]:
    return attempt.placement.trial_id, attempt.number


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
