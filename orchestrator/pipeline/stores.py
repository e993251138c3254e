"""Stores that a run writes to: the ledger, the journal, the checkpoints and the tracker."""

from dataclasses import dataclass

from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.execute.trial.checkpoints import CheckpointStore
from orchestrator.pipeline.components import (
    build_background_tracker,
    open_checkpoints,
    open_journal,
    open_ledger,
)
from orchestrator.pipeline.tracking import compute_tracked_metrics, logged
from orchestrator.record.journal import Journal
from orchestrator.record.ledger import Ledger
from orchestrator.record.tracking.tracker import Tracker


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStores:
    """Stores of one sweep.

    Attributes:
        objective: what the sweep asks about its jobs.
        checkpoints: None where the sweep makes none.
    """

    ledger: Ledger
    journal: Journal
    tracker: Tracker
    checkpoints: CheckpointStore | None
    objective: Objective

    def save(self, record: TrialRecord, plan: Plan) -> None:
        """Store a record of a trial that just ended, in the ledger first."""
        self.ledger.append(record)
        if self.checkpoints:
            self.checkpoints.discard_if_final(record)
        self.tracker.save(record, compute_tracked_metrics(record, plan, self.objective))

    def catch_up(self, plan: Plan) -> None:
        """Send the tracker the records that it lacks."""
        self.tracker.sync(logged(self.ledger.records(), plan, self.objective))


def build_stores(settings: Settings) -> SweepStores:
    """Build the stores that the settings select."""
    return SweepStores(
        ledger=open_ledger(settings),
        journal=open_journal(settings),
        tracker=build_background_tracker(settings),
        checkpoints=open_checkpoints(settings),
        objective=settings.objective,
    )
