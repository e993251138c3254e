"""The files of a report, in the folder of its sweep."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from orchestrator.analysis.findings import Findings, findings_of
from orchestrator.analysis.formatting import counted
from orchestrator.analysis.metrics.definitions import metrics_of
from orchestrator.analysis.report.export import comparisons_frame, csv_of, storable
from orchestrator.analysis.report.figures import figures_of
from orchestrator.analysis.report.markdown import markdown_of
from orchestrator.analysis.report.page import render
from orchestrator.core.codec import to_json
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.pipeline.components import import_optional, ledger_of, price_book_of, tracker_of
from orchestrator.pipeline.planning import at_requested_prices, plan_sweep, with_predictions
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.report_images import draw_images, forget_images, require_browser
from orchestrator.plan.pricing import forecasts_repriced, repriced
from orchestrator.record.tracking.tracker import MARKDOWN_NAME, PAGE_NAME, PLAN_NAME
from workloads.data.files import written_whole

_IMAGES = "figures"
_NAMES = (PAGE_NAME, MARKDOWN_NAME, "results.csv", "results.parquet", "comparisons.csv", PLAN_NAME)

_Write = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Result of a command: every record of the sweep, the findings, and the report files.

    Attributes:
        report: the page.
        files: the page, and all others; without those that could not be written.
        unwritten: a line for each of those.
        remarks: what else a person must know of the command, in sentences.
    """

    records: tuple[TrialRecord, ...]
    findings: Findings
    report: Path
    files: tuple[Path, ...]
    unwritten: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True where every trial of the plan has a result."""
        return not self.findings.failed and not self.findings.num_missing

    @property
    def has_page(self) -> bool:
        """True where the page could be written."""
        return self.report in self.files


def write_report(
    folder: Path, records: Sequence[TrialRecord], plan: Plan, objective: Objective, *, images: bool = False
) -> SweepReport:
    """Work out what the records answer of the plan, and write it as files of every form.

    A file that cannot be written is told in the outcome, keeps what it held, and costs no other file.

    Args:
        images: whether figures are written as images too, which takes a browser and seconds.
    """
    findings = findings_of(records, plan, objective)
    told: dict[Path, str] = {}
    with _survived(folder, told):
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in _writers(findings, plan).items():
            with _survived(folder / name, told), written_whole(folder / name) as new:
                write(new)
        with _survived(folder / _IMAGES, told):
            forget_images(folder / _IMAGES)
            if images:
                draw_images(figures_of(findings), folder / _IMAGES)
    return SweepReport(
        records=tuple(records),
        findings=findings,
        report=folder / PAGE_NAME,
        files=tuple(path for path in files_in(folder) if path not in told),
        unwritten=tuple(told.values()),
    )


def files_in(folder: Path) -> tuple[Path, ...]:
    """The files of a report that are there."""
    named = (path for path in (folder / name for name in _NAMES) if path.is_file())
    return (*named, *sorted((folder / _IMAGES).glob("*.png")))


def _writers(findings: Findings, plan: Plan) -> Mapping[str, _Write]:
    """Return the writer of each file by its name."""
    texts = {
        PAGE_NAME: render(sweep=plan.sweep, findings=findings),
        MARKDOWN_NAME: markdown_of(plan.sweep, findings),
        "results.csv": csv_of(findings.frame),
        "comparisons.csv": csv_of(comparisons_frame(findings)),
        PLAN_NAME: to_json(plan),
    }
    writers = {name: _writer_of(text) for name, text in texts.items()}
    if find_spec("pyarrow"):  # it comes with MLflow, which need not be installed
        writers["results.parquet"] = lambda path: storable(findings.frame).to_parquet(path, index=False)
    return writers


def _writer_of(text: str) -> _Write:
    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")

    return write


@contextmanager
def _survived(path: Path, told: dict[Path, str]) -> Iterator[None]:
    """Put into `told` why `path` could not be written."""
    try:
        yield
    except OSError as error:
        told[path] = (
            f"{str(path)!r} cannot be written: {error.strerror or error}; the records are kept, and `report` "
            "writes it once that is put right"
        )


def report_sweep(settings: Settings, preflight: PreflightState) -> SweepReport:
    """Write the report of what is recorded, and show it where the sweep is tracked.

    Costs are at the prices that were kept with the records, unless the command line speaks of prices.
    """
    kept = preflight.ledgers.get(settings.sweep.name, ())
    records = at_requested_prices(settings, kept, preflight.price_book)
    outcome = write_all(settings, plan_sweep(settings, preflight), records, preflight)
    if outcome.records:
        tracker_of(settings).attach(outcome.files, sweep=settings.sweep.name)
    return outcome


def report_tracked(settings: Settings) -> SweepReport:
    """The same report from the tracking server alone: no ledger, no data and no trainer need be here.

    Raises:
        RecordError: the server cannot be read, or does not know the sweep.
    """
    if settings.images:
        require_browser()
    if settings.tracking_uri is None:
        raise ConfigError("report.source=mlflow needs a tracking server, and tracking=none has none")
    mlflow_read = import_optional(
        "orchestrator.record.tracking.mlflow_read", "report.source=mlflow", instead="report.source=ledger"
    )
    records, told = mlflow_read.read_sweep(settings.tracking_uri, sweep=settings.sweep.name)
    if settings.reprices:
        price_book = price_book_of(settings)
        records, told = repriced(records, price_book), forecasts_repriced(told, price_book)
    folder = settings.outputs / settings.sweep.name
    return write_report(folder, records, told, settings.objective, images=settings.images)


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


def write_all(
    settings: Settings, current: Plan, records: tuple[TrialRecord, ...], preflight: PreflightState
) -> SweepReport:
    """The report, in the sweep's folder.

    Args:
        records: of this sweep, as they are by now.
    """
    folder = ledger_of(settings).path.parent
    ledgers = {**preflight.ledgers, settings.sweep.name: records}
    told = with_predictions(current, settings, replace(preflight, ledgers=ledgers))
    return write_report(folder, records, told, settings.objective, images=settings.images)
