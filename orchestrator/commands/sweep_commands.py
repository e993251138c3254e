"""Commands on a sweep, as the command line prints them: run, plan, report, status, pause, cancel, sync."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from orchestrator.analysis.formatting import counted
from orchestrator.analysis.tables.budget import prospect_line, question
from orchestrator.analysis.tables.plan import file_lines
from orchestrator.commands import sweep
from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.catalogue.sweeps import ALL, FULL, PLAIN, QUIET, RERUN, RERUN_FAILED, YES
from orchestrator.commands.command_line import DONE, NO_RESULT, CommandLine
from orchestrator.commands.json_output import print_document, progress_screen, wants_json
from orchestrator.commands.plan_document import plan_document
from orchestrator.core.errors import UnknownNameError
from orchestrator.core.printable import without_secrets
from orchestrator.core.settings import Rerun, Settings
from orchestrator.execute.scheduling.stop import StopRequest
from orchestrator.pipeline.status import halt_sweep
from orchestrator.terminal.printing import display_path, print_ending
from orchestrator.terminal.screen import Screen

if TYPE_CHECKING:
    from orchestrator.pipeline.report import SweepReport

# pandas and all of a report take a second to import, and a plan needs none of it: hence imports in functions

_MAX_ROWS = 100  # of one table; files have the others
_NEXT = {
    "pause": "starts no further trial and ends when the running trials have ended",
    "cancel": "stops the running trials and ends",
}


def load_settings(line: CommandLine) -> Settings:
    """Load the settings of a command line. Raises ConfigError."""
    rerun = Rerun(failed=RERUN_FAILED.name in line.flags, trial_ids=frozenset(line.flags.get(RERUN.name, ())))
    return replace(sweep.load_settings(line.overrides), rerun=rerun)


def run(line: CommandLine, screen: Screen) -> int:
    """Run the trials that have no result, and print the report."""
    return end(run_line(line, screen), line, screen)


def run_line(line: CommandLine, screen: Screen) -> "SweepReport":
    """Run the trials of a command line that have no result."""
    settings = load_settings(line)
    if YES.name in line.flags:
        settings = replace(settings, budget=replace(settings.budget, confirm_usd=None))
    with progress_screen(line, screen) as progress:
        is_watched = progress.console.is_terminal and sys.stdin.isatty()
        ask_user = partial(confirm, progress) if is_watched else None
        console = Console(quiet=True) if QUIET.name in line.flags else progress.console
        return sweep.run_sweep(settings, console=console, confirm=ask_user, is_plain=PLAIN.name in line.flags)


def confirm(screen: Screen, text: str) -> bool:
    """Ask a yes-or-no question; an empty answer is no."""
    screen.line(text)
    screen.console.print(Text("Run it? [y/N] "), end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def plan(line: CommandLine, screen: Screen) -> int:
    """Print what becomes of every point."""
    from orchestrator.terminal.plan import print_plan

    settings, console = load_settings(line), screen.console
    with progress_screen(line, screen) as progress:
        preview = sweep.plan(settings, console=progress.console)
    if wants_json(line):
        print_document(plan_document(preview.plan))
        return DONE
    print_plan(console, preview.plan, prices=preview.prices, list_all=ALL.name in line.flags)
    _print_budget(preview, screen)
    if preview.recommendations:
        from orchestrator.analysis.recommendation.answer.summary import format_sentence

        for recommendation in preview.recommendations:
            screen.line(format_sentence(recommendation))
    for download in preview.downloads:
        screen.line(f"run would first try to download: {download}")
    for remark in (*file_lines(preview.files, list_all=ALL.name in line.flags), *preview.remarks):
        screen.line(remark)
    return DONE


def _print_budget(preview: sweep.PlanPreview, screen: Screen) -> None:
    for line in preview.expected:
        screen.line(line)
    if preview.balance.budget.is_capped:
        screen.line(prospect_line(preview.balance))
    if text := question(preview.balance):
        screen.line(f"run would ask first: {text}")


def report(line: CommandLine, screen: Screen) -> int:
    """Print the report of the recorded trials of a sweep."""
    with _load_named(line) as settings, progress_screen(line, screen) as progress:
        outcome = sweep.report(settings, console=progress.console)
    return end(outcome, line, screen)


@contextmanager
def _load_named(line: CommandLine) -> Iterator[Settings]:
    """Yield the settings of a sweep, which its file or its folder names."""
    with ExitStack() as contexts:
        try:
            settings = load_settings(line)
        except UnknownNameError as error:
            from orchestrator.commands.stored_words import list_stored_words

            if error.kind != "sweep":
                raise
            words = contexts.enter_context(parsed_arguments(list_stored_words(line.overrides)))
            settings = sweep.load_settings(words)
        yield settings


def status(line: CommandLine, screen: Screen) -> int:
    """Print the progress of the sweep."""
    with _load_named(line) as settings, progress_screen(line, screen) as progress:
        found = sweep.status(settings, console=progress.console)
    if wants_json(line):
        from orchestrator.commands.documents import status_document

        print_document(status_document(found, now=time.time()))
        return DONE
    from orchestrator.terminal.status import print_status

    print_status(
        screen.console,
        found.plan,
        found.records,
        found.steps,
        folder=found.folder,
        holder=found.holder,
        running=found.running,
        now=time.time(),
    )
    if found.search:
        from orchestrator.pipeline.search import step_sentences

        for sentence in step_sentences(found.search):
            screen.line(sentence)
    return DONE


def pause(line: CommandLine, screen: Screen) -> int:
    """Ask the process that runs the sweep to start no further trial."""
    return _halt(line, screen, halt="pause")


def cancel(line: CommandLine, screen: Screen) -> int:
    """Ask the process that runs the sweep to stop its running trials."""
    return _halt(line, screen, halt="cancel")


def _halt(line: CommandLine, screen: Screen, *, halt: StopRequest) -> int:
    with _load_named(line) as settings:
        holder = halt_sweep(settings, halt)
    screen.line(f"{holder} {_NEXT[halt]}; the same command continues the sweep")
    return DONE


def sync(line: CommandLine, screen: Screen) -> int:
    """Send the tracking server the records that it lacks."""
    from orchestrator.pipeline.report import sync_sweep

    with _load_named(line) as settings, progress_screen(line, screen) as progress:
        sweep.print_tracking_variable(settings, progress.console)
        synced = sync_sweep(settings)
    server = None if settings.tracking_uri is None else without_secrets(settings.tracking_uri)
    if wants_json(line):
        print_document({"sent": synced.sent, "server": server})
        return DONE
    screen.line(f"{counted(synced.sent, 'record')} sent to {server or 'no server: tracking=none'}")
    for text in synced.tracked:
        screen.line(text)
    return DONE


def end(outcome: "SweepReport", line: CommandLine, screen: Screen) -> int:
    """Print the report, or its document, and return the exit code of the sweep."""
    if not wants_json(line):
        return _print_report(outcome, screen, line)
    from orchestrator.commands.documents import report_document

    print_document(report_document(outcome))
    return _choose_exit_code(outcome)


def _print_report(report: "SweepReport", screen: Screen, line: CommandLine) -> int:
    """Print the answers or all tables, the remarks, where the results are, and the files not written."""
    from orchestrator.analysis.report.headline import build_headline
    from orchestrator.analysis.table import cut
    from orchestrator.terminal.ending import choose_ending

    if FULL.name in line.flags:
        for table in report.findings.tables:
            screen.table(cut(table, most_rows=_MAX_ROWS))
        for sentence in (*build_headline(report.findings), *report.remarks):
            screen.line(sentence)
    else:
        print_ending(screen.console, choose_ending(report.findings), remarks=report.remarks)
    if report.has_page:
        screen.line(f"report: {display_path(report.report)}")
    for text in report.tracked:
        screen.line(text)
    for text in report.unwritten:
        screen.error(text)
    return _choose_exit_code(report)


def _choose_exit_code(report: "SweepReport") -> int:
    return DONE if report.is_complete and not report.unwritten else NO_RESULT
