"""Contract of an executor, and the data that executors share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.core.device import Device
from orchestrator.core.errors import FailureKind
from orchestrator.core.placement import Attempt
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Checkpointing, Deadlines
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.execute.scheduling.queue import Queue
from workloads.origins import Origin
from workloads.spec import NativeSpec, ScriptSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepContext:
    """Data shared by all trials of a sweep, wherever they run.

    Attributes:
        folder: the sweep's folder; logs of trials go to `logs/` in it.
        data_paths: data id -> prepared file.
        pythons: trainer -> interpreter that has its framework.
        devices: name -> facts of such a device.
        retry_limits: failure kind -> how often a trial that failed so is started again.
        backoff_seconds: wait before the first retry.
        prior_attempts: trial_id -> attempts that earlier commands made.
        environment: versions and variables of the driver; part of every record.
        environments: trainer -> its environment as the driver probed it. Versions that an attempt's workers
            report replace the probed ones.
        origins: workload -> where a worker imports it from.
        checkpointing: None makes and reads no checkpoints.
        needs_progress: a search reads the progress of running trials.
        native_specs: trial_id -> description of its native job, in the trainer's framework alone, or script.
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
    environments: Mapping[str, TrainerEnvironment] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    checkpointing: Checkpointing | None = None
    needs_progress: bool = False
    native_specs: Mapping[str, NativeSpec | ScriptSpec] = field(default_factory=dict)


class TrialCallback(Protocol):
    """Callback that observes a running sweep."""

    def started(self, attempt: Attempt) -> None:
        """Receive that an attempt is about to be handed to its host, where it may wait for hardware."""

    def placed(self, attempt: Attempt) -> None:
        """Report that an attempt got its hardware."""

    def ended(self, record: TrialRecord) -> None:
        """Receive that an attempt ended, and its record is durable."""

    def withdrawn(self, attempt: Attempt) -> None:
        """Report that an attempt was withdrawn before it got its hardware; it does not count as an
        attempt.
        """


class Executor(Protocol):
    """Backend that runs the attempts of a queue and hands over each record when its attempt ends."""

    def run_queue(
        self,
        queue: Queue,
        context: SweepContext,
        callback: TrialCallback,
        *,
        on_record: Callable[[TrialRecord], None],
    ) -> None:
        """Run every attempt of the queue, until the queue is drained.

        Args:
            context: data shared by all trials of the sweep.
            callback: observer of the attempts.
            on_record: stores a record durably before its trial counts as done.
        """
