"""Commands on sweeps, for the command line and for notebooks: they return values and show progress."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.analysis.tables.plan import memory_lines, outdated_lines, time_lines
from orchestrator.config.loader import devices_named, load
from orchestrator.core.budget import BudgetStatus
from orchestrator.core.estimate import NOT_ASKED
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.pipeline.components import find_tracking_server, open_ledger, require_places
from orchestrator.pipeline.planning import (
    answers_so_far,
    build_prospect,
    describe_expected,
    plan_sweep,
    with_memory,
    with_predictions,
)
from orchestrator.pipeline.preflight import PreflightState, describe_busy_host, inspect, unused_accelerators
from orchestrator.pipeline.script_files import list_files
from orchestrator.pipeline.status import Status, build_status, find_running_status
from orchestrator.plan.pricing import prices_in
from orchestrator.terminal.printing import display_path, print_line, summarise_totals

if TYPE_CHECKING:  # a plan needs no report, which takes pandas
    from orchestrator.analysis.recommendation.answer.answer import Recommendation
    from orchestrator.execute.executor import TrialCallback
    from orchestrator.pipeline.budget import Confirm
    from orchestrator.pipeline.report import SweepReport

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPreview:
    """Plan with prices, budget, downloads, and recommendations so far.

    Attributes:
        expected: line on what the trials likely take and cost; empty where there are none.
        recommendations: from the records of all sweeps; empty without measurements.
        files: files that count of every command of a script, by the command.
        remarks: lines on results that files of a script have made outdated, on steps with unknown memory,
            on accelerators of this host that no point uses, and on what an adaptive search likely needs.
    """

    plan: Plan
    prices: tuple[tuple[TrialSpec, Price | Unpriced], ...]
    downloads: tuple[str, ...]
    balance: BudgetStatus
    expected: tuple[str, ...] = ()
    recommendations: "tuple[Recommendation, ...]" = ()
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def load_settings(overrides: Sequence[str]) -> Settings:
    """Load the settings that a command requests in this working directory. Raises ConfigError."""
    return load(overrides, working_directory=Path.cwd())


def run_sweep(
    settings: Settings, *, console: Console, confirm: "Confirm | None" = None, is_plain: bool = False
) -> "SweepReport":
    """Run the missing trials of the sweep, and report.

    Args:
        is_plain: a line for every trial, in a terminal too.
        confirm: asks a person whether to spend the likely cost; None where no person can answer.
    """
    from orchestrator.pipeline.run import run_plan

    _check_places(settings, console)
    places = [display_path(open_ledger(settings).path), *filter(None, [settings.archive_url])]
    print_line(console, f"records: {' and '.join(places)}")
    preflight, planned = _prepare(settings, console, download=True, compiles=True)
    for line in (*describe_busy_host(settings), *_unanswered(settings, preflight), *_unused(settings)):
        print_line(console, line)

    open_view = partial(_watch, console, ledger=open_ledger(settings).path, is_plain=is_plain)
    on_message = partial(print_line, console)
    return run_plan(settings, preflight, planned, open_view=open_view, on_message=on_message, confirm=confirm)


def plan(settings: Settings, *, console: Console) -> PlanPreview:
    """Decide for every point whether it runs, is cached or is skipped; no trial starts."""
    _check_places(settings, console)
    preflight, planned = _prepare(settings, console, download=False, compiles=True)
    decided = with_predictions(planned, settings, preflight)
    balance = build_prospect(settings, preflight, decided)
    return PlanPreview(
        plan=decided,
        prices=prices_in(decided, preflight.price_book),
        downloads=tuple(ref.to_download for ref in preflight.data.values() if ref.to_download),
        balance=balance,
        expected=describe_expected(settings, balance),
        recommendations=answers_so_far(settings, preflight, decided),
        files=list_files(settings.sweep.points, planned, preflight.records),
        remarks=(
            *outdated_lines(planned),
            *_unanswered(settings, preflight),
            *_unused(settings),
            *(_outlook(settings, preflight, planned) if settings.search.is_adaptive else ()),
        ),
    )


def status(settings: Settings, *, console: Console) -> Status:
    """Return the progress of the sweep, whichever process runs it."""
    return find_running_status(settings) or build_status(
        settings, *_prepare(settings, console, download=False)
    )


def report(settings: Settings, *, console: Console) -> "SweepReport":
    """Write the report of the recorded trials."""
    from orchestrator.pipeline.report import report_sweep, report_tracked

    print_tracking_variable(settings, console)
    if settings.report_source == "mlflow":
        return report_tracked(settings)
    return report_sweep(settings, *_prepare(settings, console, download=False))


def _unanswered(settings: Settings, preflight: PreflightState) -> tuple[str, ...]:
    """Describe what compilers did not answer, and why; times that were not asked for are named once."""
    asked = settings.compiling.stage == "full"
    times = [step for step in preflight.compiled_steps.values() if asked or step == NOT_ASKED]
    return (*memory_lines(preflight.memory_fits.values()), *time_lines(times))


def _outlook(settings: Settings, preflight: PreflightState, planned: Plan) -> tuple[str, ...]:
    from orchestrator.pipeline.search import build_search

    return build_search(settings, preflight, planned).describe_outlook()


def _unused(settings: Settings) -> tuple[str, ...]:
    return unused_accelerators(settings, partial(devices_named, Path.cwd()))


def print_tracking_variable(settings: Settings, console: Console) -> None:
    """Print a line where an environment variable sets the tracking server."""
    server = find_tracking_server(settings)
    for line in server.describe_source() if server else ():
        print_line(console, line)


def _check_places(settings: Settings, console: Console) -> None:
    print_tracking_variable(settings, console)
    if settings.search.is_adaptive:
        from orchestrator.pipeline.search import require_search

        require_search()
    if warning := require_places(settings):
        logger.warning("%s", warning)


def _prepare(
    settings: Settings, console: Console, *, download: bool, compiles: bool = False
) -> tuple[PreflightState, Plan]:
    """Inspect what is here, plan, and ask compilers about the steps of the plan."""
    if download:
        from orchestrator.terminal.download import download_bar

        with download_bar(console) as progress:
            preflight = inspect(settings, download=True, progress=progress)
    else:
        preflight = inspect(settings, download=False)
    for ref in preflight.data.values() if compiles else ():  # status and report train on nothing
        print_line(console, f"data: {ref.description}")
        if ref.missing:
            logger.info("data: %s", ref.missing)
    if settings.keeps_checkpoints_here:
        print_line(
            console,
            "checkpoints: in a folder, so a lost trial starts anew on another node unless nodes share it; "
            "checkpoint.path=gs://BUCKET/FOLDER is visible to all nodes",
        )
    planned = plan_sweep(settings, preflight)
    if not settings.asks_compiler:
        return preflight, planned
    from orchestrator.pipeline.compilation import with_compilers

    on_message = partial(print_line, console)
    preflight = with_compilers(preflight, settings, planned, compiles=compiles, on_message=on_message)
    return preflight, with_memory(planned, settings, preflight)


@contextmanager
def _watch(
    console: Console, plan: Plan, earlier: Sequence[TrialRecord], *, ledger: Path, is_plain: bool
) -> "Iterator[TrialCallback]":
    from orchestrator.terminal.live_view import watching

    print_line(console, summarise_totals(plan))
    with watching(
        console, plan, folder=ledger.parent, ledger=display_path(ledger), history=earlier, is_plain=is_plain
    ) as watcher:
        yield watcher
