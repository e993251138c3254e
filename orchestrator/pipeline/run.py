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
from orchestrator.core.trial_state import TrialEvent, TrialState
from orchestrator.execute.executor import SweepContext, TrialCallback
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.execute.scheduling.stop import StopRequest, StopSignals, request
from orchestrator.execute.trial.checkpoints import CheckpointStore
from orchestrator.execute.trial.records import attempts_made
from orchestrator.pipeline.budget import Ask, budget_tracker_of, remarks_on, require_consent
from orchestrator.pipeline.components import (
    checkpoints_of,
    executor_of,
    journal_of,
    ledger_of,
    mirror_of,
)
from orchestrator.pipeline.planning import order_of, plan_sweep, prospect_of
from orchestrator.pipeline.preflight import PreflightState, origins_of
from orchestrator.pipeline.report import SweepReport, write_all
from orchestrator.plan.cache import reuse_results
from orchestrator.plan.pricing import priced
from orchestrator.record.journal import Journal
from orchestrator.record.ledger import Ledger, read_ledgers
from orchestrator.record.lock import wait_for_host_lock
from orchestrator.record.tracking.tracker import Tracker
from workloads.data.sources import default_cache


class JournalingCallback:
    """A watcher that another one watches through: what it is told of is in the journal first."""

    def __init__(self, watcher: TrialCallback, journal: Journal) -> None:
        self._watcher = watcher
        self._journal = journal

    def started(self, attempt: Attempt) -> None:
        """Journal the start, then forward it; the attempt counts from here on."""
        self._journal.note("starting", [_key_of(attempt)])
        self._watcher.started(attempt)

    def placed(self, attempt: Attempt) -> None:
        """Journal the placement, then forward it."""
        self._journal.note("running", [_key_of(attempt)])
        self._watcher.placed(attempt)

    def ended(self, record: TrialRecord) -> None:
        """Journal the end, then forward it."""
        stage: TrialState = "failed" if record.failure else "finished"
        self._journal.note(stage, [(record.trial_id, record.attempt)])
        self._watcher.ended(record)

    def withdrawn(self, attempt: Attempt) -> None:
        """Journal the withdrawal, then forward it."""
        self._journal.note("withdrawn", [_key_of(attempt)])
        self._watcher.withdrawn(attempt)


def _key_of(attempt: Attempt) -> tuple[str, int]:
    return attempt.placement.trial_id, attempt.number


Say = Callable[[str], None]
"""Tells a person one line."""

Watch = Callable[[Plan], AbstractContextManager[TrialCallback]]
"""Opens what a person sees while a plan is carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Progress of a sweep.

    Attributes:
        plan: what is still to run, and what is done.
        holder: who runs it; None: nobody on this host.
    """

    plan: Plan
    records: tuple[TrialRecord, ...]
    steps: tuple[TrialEvent, ...]
    holder: str | None


def run_sweep(
    settings: Settings, preflight: PreflightState, *, watch: Watch, say: Say, ask: Ask | None
) -> SweepReport:
    """Run what is missing when it is this sweep's turn, keep each record as it arrives, and report.

    Args:
        ask: None where nobody is there to answer.
    """
    first = plan_sweep(settings, preflight)  # what cannot be carried out is refused before anything is made
    require_consent(prospect_of(settings, preflight, first), ask)
    ledger = ledger_of(settings)
    tracker = mirror_of(settings)
    checkpoints = checkpoints_of(settings)
    stop_signals = StopSignals(ledger.path.parent, say=say)
    with (
        ledger.lock(),
        stop_signals.accepting_requests(),
        _turn(settings, first, stop_signals, say=say) as has_turn,
    ):
        # Another driver may have ended between the look and the locks.
        preflight = replace(preflight, ledgers=read_ledgers(settings.outputs, sweep=settings.sweep.name))
        todo = plan_sweep(settings, preflight)
        for record in reuse_results((*todo.cached, *todo.failed), preflight.ledgers, sweep=ledger.sweep):
            ledger.append(record)
        if checkpoints:
            checkpoints.settle_all(ledger.records())
        budget_tracker = budget_tracker_of(settings, preflight.ledgers, preflight.price_book)
        tracker.begin(settings.sweep.name)
        try:
            tracker.sync((record, metrics_of(record)) for record in ledger.records())
            with watch(todo) as watcher, stop_signals.handling_signals():
                if todo.placements and has_turn:
                    _execute(
                        todo,
                        settings,
                        preflight,
                        ledger=ledger,
                        tracker=tracker,
                        checkpoints=checkpoints,
                        watcher=watcher,
                        stop_signals=stop_signals,
                        budget_tracker=budget_tracker,
                    )
            if stop_signals.is_interrupted:
                raise KeyboardInterrupt
            outcome = write_all(settings, todo, ledger.records(), preflight)
            outcome = replace(outcome, remarks=remarks_on(budget_tracker))
        except BaseException:
            tracker.finish(())
            raise
        tracker.finish(outcome.files)
    return outcome


def status_of(settings: Settings, preflight: PreflightState) -> Status:
    """Return the progress of the sweep."""
    ledger = ledger_of(settings)
    return Status(
        plan=plan_sweep(settings, preflight),
        records=preflight.ledgers.get(ledger.sweep, ()),
        steps=journal_of(settings).steps(),
        holder=ledger.holder(),
    )


def halt_sweep(settings: Settings, halt: StopRequest) -> str:
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


def _turn(
    settings: Settings, todo: Plan, stop_signals: StopSignals, *, say: Say
) -> AbstractContextManager[bool]:
    """This host for this sweep alone, if it runs anything here: a cluster knows itself what is free.

    False if it was told to stop before its turn came.
    """
    if not todo.placements or settings.cluster_address not in ("local", "fake"):
        return nullcontext(True)
    path = default_cache() / f"sweep-on-{platform.node()}.lock"  # hosts may share a user's cache
    return wait_for_host_lock(
        path, sweep=settings.sweep.name, say=say, is_wanted=lambda: stop_signals.requested() is None
    )


def _execute(
    todo: Plan,
    settings: Settings,
    preflight: PreflightState,
    *,
    ledger: Ledger,
    tracker: Tracker,
    checkpoints: CheckpointStore | None,
    watcher: TrialCallback,
    stop_signals: StopSignals,
    budget_tracker: BudgetTracker,
) -> None:
    def keep(attempted: TrialRecord) -> None:
        record = priced(attempted, preflight.price_book)
        ledger.append(record)
        if checkpoints:
            checkpoints.discard_if_final(record)
        tracker.keep(record, metrics_of(record))

    journal = journal_of(settings)
    context = _context_of(settings, preflight, journal.steps(), folder=ledger.path.parent)
    order = order_of(settings, todo, preflight.price_book)
    made = context.prior_attempts
    journal.note("queued", [(placement.trial_id, made.get(placement.trial_id, 0)) for placement in order])
    queue = Queue(
        order,
        inventory=preflight.inventory,
        prior_attempts=made,
        retry_limits=context.retry_limits,
        backoff_seconds=context.backoff_seconds,
        budget_tracker=budget_tracker,
        requested=stop_signals.requested,
    )
    callback = JournalingCallback(watcher, journal)
    executor_of(settings, preflight.inventory).run(queue, context, callback, keep=keep)


def _context_of(
    settings: Settings, preflight: PreflightState, steps: Iterable[TrialEvent], *, folder: Path
) -> SweepContext:
    return SweepContext(
        sweep=settings.sweep.name,
        folder=folder.absolute(),
        deadlines=settings.deadlines,
        data_paths={ref.id: str(ref.path) for ref in preflight.data.values()},
        pythons={name: found.python for name, found in preflight.environments.items()},
        devices=settings.sweep.devices,
        retry_limits=settings.retries,
        backoff_seconds=settings.backoff_seconds,
        prior_attempts=attempts_made(preflight.ledgers.get(settings.sweep.name, ()), steps),
        environment=preflight.driver,
        versions={name: found.versions for name, found in preflight.environments.items()},
        origins=origins_of(settings),
        checkpointing=settings.checkpointing,
    )
