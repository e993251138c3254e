"""Run of a sweep: plan, execute, record, report."""

import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.tables.plan import outdated_lines
from orchestrator.core.placement import Attempt, Placement, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.core.trial_progress import TrialEvent, TrialState
from orchestrator.core.trial_spec import Option, TrialSpec
from orchestrator.execute.executor import Executor, SweepContext, TrialCallback
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.execute.scheduling.stop import StopSignals
from orchestrator.execute.trial.records import attempts_made
from orchestrator.pipeline.budget import Confirm, build_budget_tracker, remarks_on, require_consent
from orchestrator.pipeline.compilation import with_answers
from orchestrator.pipeline.components import build_executor
from orchestrator.pipeline.planning import (
    build_prospect,
    describe_expected,
    find_order,
    find_outdated_results,
    plan_sweep,
)
from orchestrator.pipeline.preflight import PreflightState, find_origins
from orchestrator.pipeline.report import SweepReport, write_all
from orchestrator.pipeline.search import ReportingSearch, build_search, describe_search
from orchestrator.pipeline.search_progress import forget_search, progress_in
from orchestrator.pipeline.stores import SweepStores, build_stores
from orchestrator.pipeline.tracking import build_outline, list_predictions, logged, tracked_lines
from orchestrator.plan.cache import reuse_results
from orchestrator.plan.pricing import priced
from orchestrator.record.journal import Journal
from orchestrator.record.ledger import read_ledgers
from orchestrator.record.lock import wait_for_host_lock
from orchestrator.record.running_plan import publish, published
from orchestrator.train.registry import trainer_info
from workloads.data.sources import default_cache
from workloads.registry import cached_workload
from workloads.spec import NativeSpec, ScriptSpec


class JournalingCallback:
    """Callback that writes each trial event to the journal, then forwards it to the wrapped callback.

    Args:
        wait_for_writes: waits for writing that would disturb a trial on this host.
        completed: adds to a record what the ledger has of it too, as its price.
    """

    def __init__(
        self,
        watcher: TrialCallback,
        journal: Journal,
        *,
        wait_for_writes: Callable[[], None],
        completed: Callable[[TrialRecord], TrialRecord],
    ) -> None:
        self._watcher = watcher
        self._journal = journal
        self._wait_for_writes = wait_for_writes
        self._completed = completed

    def started(self, attempt: Attempt) -> None:
        """Wait for writes, journal the start, then forward it; the attempt counts from here on."""
        self._wait_for_writes()
        self._journal.note("starting", [_build_key(attempt)])
        self._watcher.started(attempt)

    def placed(self, attempt: Attempt) -> None:
        """Journal the placement, then forward it."""
        self._journal.note("running", [_build_key(attempt)])
        self._watcher.placed(attempt)

    def ended(self, record: TrialRecord) -> None:
        """Journal the end, then forward it."""
        stage: TrialState = "pruned" if record.is_pruned else "failed" if record.failure else "finished"
        self._journal.note(stage, [(record.trial_id, record.attempt)])
        self._watcher.ended(self._completed(record))

    def withdrawn(self, attempt: Attempt) -> None:
        """Journal the withdrawal, then forward it."""
        self._journal.note("withdrawn", [_build_key(attempt)])
        self._watcher.withdrawn(attempt)


def _build_key(attempt: Attempt) -> tuple[str, int]:
    return attempt.placement.trial_id, attempt.number


OnMessage = Callable[[str], None]
"""Prints one line for a person."""

OpenView = Callable[[Plan, Sequence[TrialRecord]], AbstractContextManager[TrialCallback]]
"""Opens the live view of a plan that runs; the time of trials is estimated from earlier records."""


def run_plan(
    settings: Settings,
    preflight: PreflightState,
    todo: Plan,
    *,
    open_view: OpenView,
    on_message: OnMessage,
    confirm: Confirm | None,
) -> SweepReport:
    """Run the missing trials once the host is free, store each record when its trial ends, and report.

    Args:
        todo: plan of the sweep, made before anything is written.
        confirm: asks a person whether to spend the estimated cost; None where no person can answer.
    """
    _show_prospect(settings, preflight, todo, on_message=on_message, confirm=confirm)
    stores = build_stores(settings)
    ledger, tracker = stores.ledger, stores.tracker
    stop_signals = StopSignals(ledger.path.parent, on_message=on_message)
    with (
        ledger.lock(),
        published(ledger.path.parent, todo) as running,
        stop_signals.accepting_requests(),
        _turn(settings, todo, stop_signals, on_message=on_message) as has_turn,
    ):
        if not settings.search.is_adaptive:
            forget_search(ledger.path.parent)
        ledgers = read_ledgers(settings.outputs, sweep=settings.sweep.name)
        # between preflight and the lock another driver may add records, and a script may be edited
        if ledgers != preflight.ledgers or find_outdated_results(settings, preflight) != todo.outdated:
            preflight = replace(preflight, ledgers=ledgers)
            todo = plan_sweep(settings, preflight)
            publish(ledger.path.parent, replace(running, plan=todo))
        for record in reuse_results((*todo.cached, *todo.failed), preflight.ledgers, sweep=ledger.sweep):
            ledger.append(record)
        if stores.checkpoints:
            stores.checkpoints.remove_unneeded(ledger.records())
        budget_tracker = build_budget_tracker(settings, preflight.ledgers, preflight.price_book)
        executor = build_executor(settings, preflight.inventory) if todo.placements and has_turn else None
        if executor:  # imports are done: the tracker's thread imports its package while the executor starts
            tracker.begin(build_outline(settings, ledger.records(), todo))
        try:
            if executor:
                stores.catch_up(todo)
            with open_view(todo, preflight.records) as watcher, stop_signals.handling_signals():
                if executor:
                    _execute(
                        executor,
                        todo,
                        settings,
                        preflight,
                        stores=stores,
                        watcher=watcher,
                        stop_signals=stop_signals,
                        budget_tracker=budget_tracker,
                        on_message=on_message,
                    )
            if stop_signals.is_interrupted:
                raise KeyboardInterrupt
            outcome = write_all(settings, todo, ledger.records(), preflight)
            remarks = (*_search_remarks(settings, outcome), *remarks_on(budget_tracker))
            outcome = replace(outcome, remarks=remarks)
        except BaseException:
            if executor:
                tracker.finish(())
            raise
        _show(outcome, settings, todo, stores=stores, is_begun=executor is not None)
    return replace(outcome, tracked=tracked_lines(settings, tracker.experiment_id))


def _show_prospect(
    settings: Settings,
    preflight: PreflightState,
    todo: Plan,
    *,
    on_message: OnMessage,
    confirm: Confirm | None,
) -> None:
    """Print what a plan will likely take, and ask for consent where it costs more than may pass unasked."""
    for line in outdated_lines(todo):
        on_message(line)
    if settings.search.is_adaptive:
        for line in build_search(settings, preflight, todo).describe_outlook():
            on_message(line)
    prospect = build_prospect(settings, preflight, todo)
    for line in describe_expected(settings, prospect):
        on_message(line)
    require_consent(prospect, confirm)


def _turn(
    settings: Settings, todo: Plan, stop_signals: StopSignals, *, on_message: OnMessage
) -> AbstractContextManager[bool]:
    """Wait until no other sweep runs on this host; a cluster schedules by itself and needs no wait.

    The value is False if a stop was requested before the host was free.
    """
    if not todo.placements or settings.cluster_address not in ("local", "fake"):
        return nullcontext(True)
    path = default_cache() / f"sweep-on-{platform.node()}.lock"  # hosts may share a user's cache
    return wait_for_host_lock(
        path,
        sweep=settings.sweep.name,
        on_message=on_message,
        is_wanted=lambda: stop_signals.requested() is None,
    )


def _show(
    outcome: SweepReport, settings: Settings, todo: Plan, *, stores: SweepStores, is_begun: bool
) -> None:
    """Close the tracked sweep with its report; one that ran no trial is opened only if something differs."""
    predictions = list_predictions(outcome.findings)
    if not is_begun:
        outline = build_outline(settings, outcome.records, todo, predictions=predictions)
        kept = logged(outcome.records, todo, settings.objective)
        if stores.tracker.shows(outcome.files, outline=outline, kept=kept):
            return
        stores.tracker.begin(outline)
        stores.catch_up(todo)
    stores.tracker.finish(outcome.files, predictions=predictions)


def _execute(
    executor: Executor,
    todo: Plan,
    settings: Settings,
    preflight: PreflightState,
    *,
    stores: SweepStores,
    watcher: TrialCallback,
    stop_signals: StopSignals,
    budget_tracker: BudgetTracker,
    on_message: OnMessage,
) -> None:
    def completed(record: TrialRecord) -> TrialRecord:
        own = replace(record, epoch_samples=todo.count_epoch_samples(record.spec))
        return with_answers(priced(own, preflight.price_book), preflight)

    def on_record(record: TrialRecord) -> None:
        stores.save(completed(record), todo)

    journal = stores.journal
    context = _build_context(settings, preflight, todo, journal.steps(), folder=stores.ledger.path.parent)
    order = find_order(settings, todo, preflight.price_book)
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
        chooser=_build_chooser(
            settings, preflight, todo, folder=stores.ledger.path.parent, on_message=on_message
        ),
    )
    callback = JournalingCallback(
        watcher, journal, wait_for_writes=stores.tracker.wait_for_writes, completed=completed
    )
    executor.run_queue(queue, context, callback, on_record=on_record)


def _build_chooser(
    settings: Settings, preflight: PreflightState, todo: Plan, *, folder: Path, on_message: OnMessage
) -> ReportingSearch | None:
    """Build the search of an adaptive sweep; None: its trials run in their order."""
    if not settings.search.is_adaptive:
        return None
    return ReportingSearch(build_search(settings, preflight, todo), folder=folder, on_message=on_message)


def _search_remarks(settings: Settings, outcome: SweepReport) -> tuple[str, ...]:
    """Report how an adaptive search ended."""
    progress = progress_in(outcome.report.parent) if settings.search.is_adaptive else None
    return describe_search(progress, outcome.findings.recommendations) if progress else ()


def _build_context(
    settings: Settings, preflight: PreflightState, todo: Plan, steps: Iterable[TrialEvent], *, folder: Path
) -> SweepContext:
    return SweepContext(
        sweep=settings.sweep.name,
        folder=folder.absolute(),
        deadlines=settings.deadlines,
        data_paths={ref.id: str(ref.path) for ref in preflight.data.values()},
        pythons={name: environment.python for name, environment in preflight.environments.items()},
        devices=settings.sweep.devices,
        retry_limits=settings.retries,
        backoff_seconds=settings.backoff_seconds,
        prior_attempts=attempts_made(preflight.ledgers.get(settings.sweep.name, ()), steps),
        environment=preflight.driver,
        environments=preflight.environments,
        origins=find_origins(settings),
        checkpointing=settings.checkpointing,
        needs_progress=settings.search.is_adaptive,
        native_specs=find_native_specs(todo.placements),
    )


_Job = tuple[str, tuple[tuple[str, Option], ...], str | None]
"""Workload, its options, and the framework of the trainer."""


def find_native_specs(placements: Iterable[Placement]) -> dict[str, NativeSpec | ScriptSpec]:
    """Return the descriptions of native jobs, in their trainer's framework, and of scripts by trial_id.

    Trials of one job share one object, which is then written once to where they run.
    """
    described: dict[_Job, NativeSpec | ScriptSpec | None] = {}
    found: dict[str, NativeSpec | ScriptSpec] = {}
    for placement in placements:
        job = _build_job(placement.trial)
        if job not in described:
            workload, options, framework = job
            described[job] = cached_workload(workload, dict(options)).describe_for(framework)
        if spec := described[job]:
            found[placement.trial_id] = spec
    return found


def _build_job(trial: TrialSpec) -> _Job:
    options = tuple(sorted(trial.workload_options.items()))
    return trial.workload, options, trainer_info(trial.trainer).framework
