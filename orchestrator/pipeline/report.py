"""The files of a report, in the folder of its sweep."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from orchestrator.analysis.figures.drawing import draw_png, draw_svg
from orchestrator.analysis.figures.palette import on_paper
from orchestrator.analysis.figures.vega_lite import Figure
from orchestrator.analysis.findings import Findings, collect_findings
from orchestrator.analysis.formatting import counted
from orchestrator.analysis.report.drawings import Drawings
from orchestrator.analysis.report.export import comparisons_frame, format_csv, format_markdown, storable
from orchestrator.analysis.report.figures import build_figures
from orchestrator.analysis.report.page import drawings_wanted, render
from orchestrator.config.overrides import find_group
from orchestrator.core.codec import to_json
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.printable import command_text
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.pipeline.components import (
    build_price_book,
    build_tracker,
    find_repeated_words,
    find_tracking_server,
    list_command_words,
    open_ledger,
)
from orchestrator.pipeline.planning import at_requested_prices, build_prospect, with_predictions
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.search_progress import other_search
from orchestrator.pipeline.tracking import (
    build_outline,
    last_plan_in,
    list_predictions,
    logged,
    tracked_lines,
)
from orchestrator.plan.cache import with_further_repeats
from orchestrator.plan.pricing import forecasts_repriced, repriced
from orchestrator.record.driver_environment import own_version
from orchestrator.record.tracking.tracker import MARKDOWN_NAME, PAGE_NAME, PLAN_NAME
from workloads.data.files import written_whole

SUFFIXES = (".png", ".svg")
_WIDTH_PIXELS = 900
_DOTS_PER_PIXEL = 2  # sharp on paper


def draw_images(figures: Mapping[str, Figure], folder: Path) -> None:
    """Write `NAME.svg` and `NAME.png` of every figure, in colours for white paper."""
    folder.mkdir(exist_ok=True)
    for name, figure in figures.items():
        svg = draw_svg(figure, width=_WIDTH_PIXELS)
        (folder / f"{name}.svg").write_text(on_paper(svg), encoding="utf-8")
        (folder / f"{name}.png").write_bytes(draw_png(svg, scale=_DOTS_PER_PIXEL))


def images_in(folder: Path) -> tuple[Path, ...]:
    """List the images of a report."""
    return tuple(sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES))


_IMAGES = "figures"
_NAMES = (PAGE_NAME, MARKDOWN_NAME, "results.csv", "results.parquet", "comparisons.csv", PLAN_NAME)

_Write = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Result of a command: every record of the sweep, the findings, and the report files.

    Attributes:
        report: the page.
        files: the page, and all others; without those that could not be written.
        unwritten: one line per file that could not be written.
        remarks: further sentences about the command.
        tracked: lines on where the tracking server shows the sweep.
    """

    records: tuple[TrialRecord, ...]
    findings: Findings
    report: Path
    files: tuple[Path, ...]
    unwritten: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    tracked: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True where every trial of the plan has a result; an adaptive search leaves trials out."""
        is_open = (
            self.findings.num_missing or self.findings.pruned
        ) and not self.findings.plan.search.is_adaptive
        return not self.findings.failed and not is_open

    @property
    def has_page(self) -> bool:
        """True where the page could be written."""
        return self.report in self.files


def write_report(
    folder: Path,
    records: Sequence[TrialRecord],
    plan: Plan,
    objective: Objective,
    *,
    images: bool = False,
) -> SweepReport:
    """Analyse the records, and write the report in every format.

    A file that cannot be written keeps its old content and is named in the result; the others are written.

    Args:
        images: also write the figures as images.
    """
    findings = collect_findings(records, plan, objective)
    errors: dict[Path, str] = {}
    figures = build_figures(findings)
    with _catch_errors(folder, errors), Drawings(_former_page(folder)) as drawings:
        drawings.begin(drawings_wanted(figures))
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in _writers(findings, plan, figures, drawings).items():
            with _catch_errors(folder / name, errors), written_whole(folder / name) as new:
                write(new)
        with _catch_errors(folder / _IMAGES, errors):
            for path in images_in(folder / _IMAGES):
                path.unlink()
            if images:
                draw_images(figures, folder / _IMAGES)
    return SweepReport(
        records=tuple(records),
        findings=findings,
        report=folder / PAGE_NAME,
        files=tuple(path for path in files_in(folder) if path not in errors),
        unwritten=tuple(errors.values()),
    )


def files_in(folder: Path) -> tuple[Path, ...]:
    """Return the existing files of a report."""
    named = (path for path in (folder / name for name in _NAMES) if path.is_file())
    return (*named, *images_in(folder / _IMAGES))


def _former_page(folder: Path) -> str:
    """Return the page of an earlier report; empty: there is none that can be read."""
    page = folder / PAGE_NAME
    try:
        return page.read_text(encoding="utf-8") if page.is_file() else ""
    except (OSError, ValueError):
        return ""


def _writers(
    findings: Findings, plan: Plan, figures: Mapping[str, Figure], drawings: Drawings
) -> Mapping[str, _Write]:
    """Return the writer of each file by its name, the page last: no fault of it costs another file."""
    writers = {
        "results.csv": _build_writer(lambda: format_csv(findings.frame)),
        "comparisons.csv": _build_writer(lambda: format_csv(comparisons_frame(findings))),
        PLAN_NAME: _build_writer(lambda: to_json(plan)),
        MARKDOWN_NAME: _build_writer(lambda: format_markdown(plan.sweep, findings)),
    }
    if find_spec("pyarrow"):  # it comes with MLflow, which need not be installed
        writers["results.parquet"] = lambda path: storable(findings.frame).to_parquet(path, index=False)
    version = own_version() or ""
    page = _build_writer(
        lambda: render(
            sweep=plan.sweep, findings=findings, version=version, figures=figures, drawings=drawings
        )
    )
    return {**writers, PAGE_NAME: page}


def _build_writer(read_whole_text: Callable[[], str]) -> _Write:
    def write(path: Path) -> None:
        path.write_text(read_whole_text(), encoding="utf-8", errors="backslashreplace")

    return write


@contextmanager
def _catch_errors(path: Path, errors: dict[Path, str]) -> Iterator[None]:
    """Catch an error of writing `path`, and put its message into `errors`."""
    try:
        yield
    except OSError as error:
        errors[path] = (
            f"{str(path)!r} cannot be written: {error.strerror or error}; the records are kept; run `report` "
            "when the cause is fixed"
        )


def report_sweep(settings: Settings, preflight: PreflightState, plan: Plan) -> SweepReport:
    """Write the report of the recorded trials, and attach it to the sweep's tracked run.

    Costs are at the prices stored with the records, unless the command line sets prices.
    """
    kept = preflight.ledgers.get(settings.sweep.name, ())
    plan = _keep_spending_words(plan, last_plan_in(open_ledger(settings).path.parent))
    records = at_requested_prices(settings, kept, preflight.price_book)
    outcome = write_all(settings, plan, records, preflight)
    if outcome.records:
        tracker, rows = build_tracker(settings), tuple(logged(kept, plan, settings.objective))
        outline = build_outline(settings, kept, plan, predictions=list_predictions(outcome.findings))
        if not tracker.shows(outcome.files, outline=outline, kept=rows):
            tracker.attach(outcome.files, outline=outline, kept=rows)
        outcome = replace(outcome, tracked=tracked_lines(settings, tracker.experiment_id))
    if searched := other_search(settings):
        command = command_text((*list_command_words(settings), *searched), verb="report")
        remark = f"the last run was an adaptive search, and this is the report of a grid; its own: {command}"
        outcome = replace(outcome, remarks=(*outcome.remarks, remark))
    return outcome


def _keep_spending_words(plan: Plan, earlier: Plan | None) -> Plan:
    """Keep the words of the last plan on the budget and on prices, unless the plan has its own on them.

    A report need not repeat them, and the commands that it proposes spend money.
    """
    given = {find_group(word) for word in plan.words}
    kept = [
        word
        for word in (earlier.words if earlier else ())
        if (group := find_group(word)) in ("budget", "prices") and group not in given
    ]
    return replace(plan, words=(*plan.words, *kept), repeated_words=(*plan.repeated_words, *kept))


def report_tracked(settings: Settings) -> SweepReport:
    """Write the report from the tracking server alone: needs no ledger, data or trainer here.

    Raises:
        RecordError: the server cannot be read, or has no run of the sweep.
    """
    server = find_tracking_server(settings)
    if server is None:
        raise ConfigError("report.source=mlflow needs a tracking server; tracking=none sets none")
    records, stored_plan = server.read_sweep(settings.sweep.name)
    if settings.reprices:
        price_book = build_price_book(settings)
        records, stored_plan = repriced(records, price_book), forecasts_repriced(stored_plan, price_book)
    folder = settings.outputs / settings.sweep.name
    here = replace(
        stored_plan,
        repeated_words=find_repeated_words(settings),
        words=stored_plan.words or list_command_words(settings),
    )
    outcome = _written(folder, records, here, settings)
    experiment_id = server.find_experiment_id(settings.sweep.name)
    return replace(outcome, tracked=tracked_lines(settings, experiment_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """Result of `sync`: the number of records sent, and where the server shows the sweep."""

    sent: int
    tracked: tuple[str, ...]


def sync_sweep(settings: Settings) -> Synced:
    """Send the tracking server the records that it lacks.

    Raises:
        RecordError: the server did not take all of them.
    """
    ledger, tracker = open_ledger(settings), build_tracker(settings)
    folder, records = ledger.path.parent, ledger.records()
    plan = last_plan_in(folder)
    tracker.begin(build_outline(settings, records, plan))
    tracker.sync(logged(records, plan, settings.objective))
    findings = collect_findings(records, plan, settings.objective) if plan else None
    tracker.finish(files_in(folder), predictions=list_predictions(findings) if findings else ())
    if tracker.missed:
        missing = counted(tracker.missed, "record")
        raise RecordError(f"{missing} could not be sent; sync again when the server answers")
    if tracker.refused:
        refused = counted(tracker.refused, "record")
        raise RecordError(f"{refused} refused by the tracking server; only the ledger has what it refuses")
    return Synced(sent=tracker.sent, tracked=tracked_lines(settings, tracker.experiment_id))


def write_all(
    settings: Settings, current: Plan, records: tuple[TrialRecord, ...], preflight: PreflightState
) -> SweepReport:
    """Write the report into the sweep's folder.

    Args:
        records: current records of the sweep.
    """
    folder, current = open_ledger(settings).path.parent, with_further_repeats(current, records)
    ledgers = {**preflight.ledgers, settings.sweep.name: records}
    known = replace(preflight, ledgers=ledgers)
    predicted = with_predictions(current, settings, known)
    if settings.budget.is_capped:
        predicted = replace(predicted, over_budget=_find_over_budget(settings, known, predicted, records))
    return _written(folder, records, predicted, settings)


def _find_over_budget(
    settings: Settings, preflight: PreflightState, plan: Plan, records: Iterable[TrialRecord]
) -> tuple[str, ...]:
    """Return the cap that leaves out each trial without a record; those that fit have none."""
    done = {record.trial_id for record in records}
    left = replace(plan, placements=tuple(one for one in plan.placements if one.trial_id not in done))
    return tuple(cap for cap, _ in build_prospect(settings, preflight, left).left_out)


def _written(folder: Path, records: Sequence[TrialRecord], plan: Plan, settings: Settings) -> SweepReport:
    return write_report(folder, records, plan, settings.objective, images=settings.images)
