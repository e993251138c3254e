"""Contract of a tracking server: a copy of the ledger for people to look at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.core.estimate import EstimateProvenance
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.plan.machine_state import ServiceState

PAGE_NAME = "report.html"
"""The page of a report, for a browser."""

MARKDOWN_NAME = "report.md"
"""The same as Markdown: a section of sentences, then one for each table."""

PLAN_NAME = "plan.json"
"""The plan of a sweep among the files of its report, from which the report can be made again."""

JOB_METRICS = ("time/job_samples", "time/job_seconds", "cost/job_usd")
"""Metrics of a run that change with the length of the job that a command asks about."""

RATE = "time/samples_per_second"
"""Metric of an attempt with timed steps."""

NOISY = "system/noisy"
"""Metric of an attempt: 1 where something else disturbed its timing."""

LoggedRecord = tuple[TrialRecord, Mapping[str, float]]
"""A record that is in the ledger, and the metrics that analysis makes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A setting of a job without a measured time.

    Attributes:
        job: workload and data in words, as in a report.
        setting: fields that distinguish it from the other settings of the job: `t4, fp32`.
        factors: its device, precision and so on by their command-line keys.
        provenance: `predicted`, or `compiled` by the device's own compiler.
        metrics: its numbers by their names on the server.
    """

    job: str
    setting: str
    factors: Mapping[str, str]
    provenance: EstimateProvenance
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutline:
    """A sweep, as far as its tracked run describes it.

    Attributes:
        goal: goal of its recommendation.
        folder: folder of the sweep, in which its logs lie.
        specs: trials that are planned or recorded; their values are those of its axes.
        planned: trial_ids of its plan; None: no plan is known here.
        predictions: settings that no one measured, as its report has them.
    """

    name: str
    goal: str
    folder: Path
    specs: tuple[TrialSpec, ...]
    planned: frozenset[str] | None = None
    predictions: tuple[Prediction, ...] = ()


class Tracker(Protocol):
    """Mirror of a sweep that never raises: the ledger is the truth, and what was missed is sent later."""

    @property
    def missed(self) -> int:
        """Records of this sweep that the server could not be given so far."""

    @property
    def refused(self) -> int:
        """Records that it does not take, however often they are sent."""

    @property
    def sent(self) -> int:
        """Records that it was given."""

    @property
    def experiment_id(self) -> str | None:
        """Id of the sweep's experiment; None where no server has answered."""

    def shows(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> bool:
        """Return whether this report and these records are known to be shown; False where the server would
        have to be opened first.
        """

    def begin(self, outline: SweepOutline) -> None:
        """Open the sweep, the one of an earlier command if there is one."""

    def sync(self, kept: Iterable[LoggedRecord]) -> None:
        """Give the server the records that it lacks."""

    def save(self, record: TrialRecord, metrics: Mapping[str, float]) -> None:
        """Copy one attempt of a trial to the server, once even if called again."""

    def wait_for_writes(self) -> None:
        """Wait, before a trial starts, for writing that would disturb a measurement on this host."""

    def finish(self, files: Sequence[Path], *, predictions: Sequence[Prediction] = ()) -> None:
        """Send again what was missed, and close the sweep with its report and the predictions in it; no file
        when it was interrupted.
        """

    def attach(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> None:
        """Put a report in the place of the sweep's former one, with its predictions and the numbers of the
        records kept; whether the sweep runs stays as it is.
        """


class TrackingServer(Protocol):
    """A server or database that sweeps are tracked on; an extension has it."""

    @property
    def is_on_this_host(self) -> bool:
        """True if writing it takes time from a trial that is measured here."""

    def open_tracker(self) -> Tracker:
        """Open the tracker that copies records to it."""

    def describe_source(self) -> tuple[str, ...]:
        """Show that an environment variable sets its address; nothing where none does."""

    def explain_silence(self) -> str | None:
        """Explain why it does not answer now; None: it does.

        Raises:
            ConfigError, RecordError: it never can.
        """

    def find_state(self) -> ServiceState:
        """Find the version of its package here, and why it does not answer. Raises as `explain_silence`."""

    def read_sweep(self, sweep: str) -> tuple[tuple[TrialRecord, ...], Plan]:
        """Read the records of a sweep, and the plan of its report. Raises RecordError."""

    def find_experiment_id(self, sweep: str) -> str | None:
        """Find the id by which `list_pages` shows a sweep. Raises RecordError."""

    def list_pages(self, experiment_id: str) -> tuple[str, ...]:
        """List the addresses of a sweep's pages."""


class NoTracker:
    """`tracking=none`: the ledger is enough."""

    missed = refused = sent = 0
    experiment_id = None

    def shows(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> bool:  # noqa: ARG002
        """Nothing is to be shown."""
        return True

    def begin(self, outline: SweepOutline) -> None:
        """Open nothing."""

    def sync(self, kept: Iterable[LoggedRecord]) -> None:
        """Send nothing."""

    def save(self, record: TrialRecord, metrics: Mapping[str, float]) -> None:
        """The ledger has it."""

    def wait_for_writes(self) -> None:
        """Nothing is written."""

    def finish(self, files: Sequence[Path], *, predictions: Sequence[Prediction] = ()) -> None:
        """Close nothing."""

    def attach(self, files: Sequence[Path], *, outline: SweepOutline, kept: Iterable[LoggedRecord]) -> None:
        """The report lies in the sweep's folder."""
