"""The contract of an executor, and what every one of them is told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.core.device import Device
from orchestrator.core.errors import FailureKind
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Checkpointing, Deadlines
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.scheduling.stop import StopRequest
from workloads.origins import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepContext:
    """What a sweep's trials have in common, wherever they run.

    Attributes:
        folder: the sweep's folder; logs of trials go to `logs/` in it.
        data_paths: data id -> prepared file.
        pythons: trainer -> interpreter that has its framework.
        devices: name -> what is known of such a device.
        retry_limits: failure kind -> how often a trial that failed so is started again.
        backoff_seconds: that it rests before that, the first time.
        prior_attempts: trial_id -> attempts that earlier commands made.
        environment: what the driver runs with; part of every record.
        versions: trainer -> its packages as the driver found them; those of an attempt's workers are in the
            place of these, once they have told them.
        origins: workload -> where a worker imports it from.
        checkpointing: None makes and reads no checkpoints.
    """

    sweep: str
    folder: Path
    deadlines: Deadlines
    data_paths: Mapping[str, str]
    pythons: Mapping[str, str]
    devices: Mapping[str, Device]
    retry_limits: Mapping[FailureKind, int]
    prior_attempts: Mapping[str, int]
    environment: Mapping[str, str]
    backoff_seconds: float = 0.0
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    checkpointing: Checkpointing | None = None


class TrialCallback(Protocol):
    """Who wants to see a sweep while it runs."""

    def started(self, attempt: Attempt) -> None:
        """An attempt is about to be handed to its host, where it may wait for hardware."""

    def placed(self, attempt: Attempt) -> None:
        """It has its hardware."""

    def ended(self, record: TrialRecord) -> None:
        """An attempt ended, and its record is durable."""

    def withdrawn(self, attempt: Attempt) -> None:
        """It did not get its hardware before nothing more was to be started: there was no attempt."""


class Executor(Protocol):
    """Runs placements and hands over each record as it arrives; returns when none is left."""

    def run(
        self,
        placements: Sequence[Placement],
        context: SweepContext,
        *,
        keep: Callable[[TrialRecord], None],
        watcher: TrialCallback,
        wished: Callable[[], StopRequest | None],
        budget_tracker: BudgetTracker,
    ) -> None:
        """Run every placement for which there is money, unless another wish comes.

        Args:
            keep: makes a record durable before the trial counts as done.
            wished: what is wished of the sweep by now.
        """
