"""Progress of a sweep that another process may be running, and the request that it stops."""

from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.errors import RecordError
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.search import SearchProgress
from orchestrator.core.settings import Settings
from orchestrator.core.trial_progress import TrialEvent
from orchestrator.execute.scheduling.stop import StopRequest, request
from orchestrator.pipeline.components import open_journal, open_ledger
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.search_progress import progress_in
from orchestrator.record.running_plan import RunningPlan, running_plan_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Progress of a sweep.

    Attributes:
        plan: plan of the process that runs the sweep; where it left none, the trials to run and those done.
        folder: folder of the sweep.
        holder: the process that runs the sweep; None where no process of this host does.
        search: last decision of its adaptive search; None: it has none.
        running: plan that the holder left; None: it left none.
    """

    plan: Plan
    folder: Path
    records: tuple[TrialRecord, ...]
    steps: tuple[TrialEvent, ...]
    holder: str | None
    search: SearchProgress | None = None
    running: RunningPlan | None = None


def build_status(settings: Settings, preflight: PreflightState, planned: Plan) -> Status:
    """Return the progress of the sweep."""
    ledger = open_ledger(settings)
    return Status(
        plan=planned,
        folder=ledger.path.parent,
        records=preflight.ledgers.get(ledger.sweep, ()),
        steps=open_journal(settings).steps(),
        holder=ledger.holder(),
        search=progress_in(ledger.path.parent) if settings.search.is_adaptive else None,
    )


def find_running_status(settings: Settings) -> Status | None:
    """Return the progress of a sweep as the process that runs it planned it; None: none runs it here."""
    ledger = open_ledger(settings)
    holder, running = ledger.holder(), running_plan_in(ledger.path.parent)
    if holder is None or running is None:
        return None
    return Status(
        plan=running.plan,
        folder=ledger.path.parent,
        records=ledger.records(),
        steps=open_journal(settings).steps(),
        holder=holder,
        search=progress_in(ledger.path.parent) if running.plan.search.is_adaptive else None,
        running=running,
    )


def halt_sweep(settings: Settings, halt: StopRequest) -> str:
    """Request a stop from the process that runs the sweep, and return its name.

    Raises:
        RecordError: no process of this host runs the sweep.
    """
    ledger = open_ledger(settings)
    holder = ledger.holder()
    if holder is None:
        raise RecordError(f"sweep {ledger.sweep!r} is not being run here; there is nothing to {halt}")
    request(ledger.path.parent, halt)
    return holder
