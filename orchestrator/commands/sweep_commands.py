"""Commands on a sweep, as the command line prints them: run, plan, report, status, pause, cancel, sync."""

import shlex
import sys
import time
from dataclasses import replace
from functools import partial

from rich.console import Console
from rich.text import Text

from orchestrator.analysis.findings import tables_of
from orchestrator.analysis.formatting import counted
from orchestrator.analysis.recommendation.answer.summary import sentence_of
from orchestrator.analysis.report.headline import headline_of
from orchestrator.analysis.table import cut
from orchestrator.analysis.tables.budget import prospect_line, question
from orchestrator.commands import sweep
from orchestrator.commands.command_line import DONE, NO_RESULT, Command, CommandLine, Flag
from orchestrator.core import codec
from orchestrator.core.budget import BudgetStatus
from orchestrator.core.settings import Rerun, Settings
from orchestrator.execute.scheduling.stop import StopRequest
from orchestrator.pipeline.report import SweepReport, sync_sweep
from orchestrator.pipeline.run import halt_sweep
from orchestrator.record.tracking.mlflow_client import without_secrets
from orchestrator.search.sentences import step_sentences
from orchestrator.terminal.ending import ending_of
from orchestrator.terminal.printing import display_path, print_ending, print_plan
from orchestrator.terminal.screen import Screen
from orchestrator.terminal.status import print_status

_MAX_ROWS = 100  # of one table; files have the others
_YES = Flag(name="--yes", summary="agree to the likely cost without a question, for scripts")
_RERUN_FAILED = Flag(name="--rerun-failed", summary="run failed trials again, even if they would fail again")
_RERUN = Flag(name="--rerun", value="TRIAL_ID", summary="run one trial again; plan --all lists the ids")
_PLAIN = Flag(name="--plain", summary="print a line for each trial, also in a terminal")
_QUIET = Flag(name="--quiet", summary="print the end of the run alone")
_FULL = Flag(name="--full", summary="print every table at the end, not the answers alone")
_ALL = Flag(name="--all", summary="list every point of a long plan")
_JSON = Flag(name="--json", summary="print JSON for programs")
_NEXT = {
    "pause": "starts no further trial and ends when the running trials have ended",
    "cancel": "stops the running trials and ends",
}


def settings_of(line: CommandLine) -> Settings:
    """Load the settings of a command line. Raises ConfigError."""
    rerun = Rerun(
        failed=_RERUN_FAILED.name in line.flags, trial_ids=frozenset(line.flags.get(_RERUN.name, ()))
    )
    return replace(sweep.settings_of(line.overrides), rerun=rerun)


def _run(line: CommandLine, screen: Screen) -> int:
    settings = settings_of(line)
    if _YES.name in line.flags:
        settings = replace(settings, budget=replace(settings.budget, confirm_usd=None))
    is_watched = screen.console.is_terminal and sys.stdin.isatty()
    ask = partial(confirm, screen) if is_watched else None
    console = Console(quiet=True) if _QUIET.name in line.flags else screen.console
    report = sweep.run(settings, console=console, ask=ask, is_plain=_PLAIN.name in line.flags)
    return _print_report(report, screen, line)


def confirm(screen: Screen, text: str) -> bool:
    """Ask a yes-or-no question; an empty answer is no."""
    screen.line(text)
    screen.console.print(Text("Run it? [y/N] "), end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _plan(line: CommandLine, screen: Screen) -> int:
    settings, console = settings_of(line), screen.console
    if _JSON.name in line.flags:
        text = codec.to_json(sweep.plan(settings, console=Console(quiet=True)).plan)
        if console.is_terminal:
            console.print_json(text, ensure_ascii=not text.isprintable())
        else:
            sys.stdout.write(f"{text}\n")
        return DONE
    preview = sweep.plan(settings, console=console)
    print_plan(console, preview.plan, prices=preview.prices, list_all=_ALL.name in line.flags)
    if preview.balance:
        _print_budget(preview.balance, screen)
    for recommendation in preview.recommendations:
        screen.line(sentence_of(recommendation))
    for download in preview.downloads:
        screen.line(f"run would first try to download: {download}")
    for remark in preview.remarks:
        screen.line(remark)
    return DONE


def _print_budget(status: BudgetStatus, screen: Screen) -> None:
    if status.budget.is_capped:
        screen.line(prospect_line(status))
    if text := question(status):
        screen.line(f"run would ask first: {text}")


def _report(line: CommandLine, screen: Screen) -> int:
    settings = settings_of(line)
    return _print_report(sweep.report(settings, console=screen.console), screen, line)


def _status(line: CommandLine, screen: Screen) -> int:
    status = sweep.status(settings_of(line), console=screen.console)
    print_status(
        screen.console,
        status.plan,
        status.records,
        status.steps,
        folder=status.folder,
        holder=status.holder,
        running=status.running,
        now=time.time(),
    )
    for sentence in step_sentences(status.search) if status.search else ():
        screen.line(sentence)
    return DONE


def _halt(line: CommandLine, screen: Screen, *, halt: StopRequest) -> int:
    holder = halt_sweep(settings_of(line), halt)
    screen.line(f"{holder} {_NEXT[halt]}; the same command continues the sweep")
    return DONE


def _sync(line: CommandLine, screen: Screen) -> int:
    settings = settings_of(line)
    synced = sync_sweep(settings)
    server = without_secrets(settings.tracking_uri or "no server: tracking=none")
    screen.line(f"{counted(synced.sent, 'record')} sent to {server}")
    if synced.tracked:
        screen.line(synced.tracked)
    return DONE


def _print_report(report: SweepReport, screen: Screen, line: CommandLine) -> int:
    """Print the answers or all tables, the remarks, where the results are, and the files not written."""
    if _FULL.name in line.flags:
        for table in tables_of(report.findings):
            screen.table(cut(table, most_rows=_MAX_ROWS))
        for sentence in (*headline_of(report.findings), *report.remarks):
            screen.line(sentence)
    else:
        command = f"python -m orchestrator {shlex.join(line.overrides)}"
        print_ending(screen.console, ending_of(report.findings, command=command), remarks=report.remarks)
    if report.has_page:
        screen.line(f"report: {display_path(report.report)}")
    if report.tracked:
        screen.line(report.tracked)
    for text in report.unwritten:
        screen.error(text)
    return DONE if report.is_complete and not report.unwritten else NO_RESULT


COMMANDS = (
    Command(
        name="run",
        arguments="+sweep=NAME",
        summary="Run the trials of the sweep that have no result yet, and write the report.",
        flags=(_YES, _RERUN_FAILED, _RERUN, _FULL, _PLAIN, _QUIET),
        run=_run,
    ),
    Command(
        name="plan",
        arguments="+sweep=NAME",
        summary="List what becomes of every point, with reasons and the likely cost; run nothing.",
        flags=(_ALL, _JSON, _RERUN_FAILED, _RERUN),
        run=_plan,
    ),
    Command(
        name="report",
        arguments="+sweep=NAME",
        summary="Write the report of the recorded trials: the answers here, and a page for a browser.",
        flags=(_FULL,),
        run=_report,
    ),
    Command(
        name="status",
        arguments="+sweep=NAME",
        summary="Show which trials run, which are done, and how many are left.",
        run=_status,
    ),
    Command(
        name="pause",
        arguments="+sweep=NAME",
        summary="Let the process that runs the sweep finish its running trials and start no more.",
        run=partial(_halt, halt="pause"),
    ),
    Command(
        name="cancel",
        arguments="+sweep=NAME",
        summary="Let the process that runs the sweep stop its running trials with a checkpoint.",
        run=partial(_halt, halt="cancel"),
    ),
    Command(
        name="sync",
        arguments="+sweep=NAME",
        summary="Send the tracking server the records that it lacks.",
        run=_sync,
    ),
)
