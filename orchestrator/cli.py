"""Words on the command line: which verb, what is printed, and the exit code."""

import io
import logging
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.text import Text

from orchestrator.analysis.findings import tables_of
from orchestrator.analysis.formatting import counted
from orchestrator.analysis.recommendation.answer.summary import sentence_of
from orchestrator.analysis.report.headline import headline_of
from orchestrator.analysis.table import cut
from orchestrator.analysis.tables.budget import prospect_line, question
from orchestrator.commands import cluster as cluster_verb
from orchestrator.commands import predict as predict_verb
from orchestrator.commands import sweep as verbs
from orchestrator.config.hydra_cli import hydra_main, is_hydra_flag
from orchestrator.core import codec
from orchestrator.core.budget import BudgetStatus
from orchestrator.core.errors import ConfigError, OrchestratorError, UnknownNameError
from orchestrator.core.printable import printable
from orchestrator.core.settings import Rerun, Settings
from orchestrator.execute.scheduling.stop import StopRequest
from orchestrator.pipeline.report import SweepReport, sync_sweep
from orchestrator.pipeline.run import halt_sweep
from orchestrator.record.driver_environment import own_version
from orchestrator.record.tracking.mlflow_client import without_secrets
from orchestrator.terminal.error_line import error_line
from orchestrator.terminal.printing import display_path, print_line, print_plan, print_table
from orchestrator.terminal.status import print_status

DONE, NO_RESULT, WRONG_REQUEST, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: all is well · a trial has no result, or a file of the report could not be written · the request
cannot be carried out · Ctrl-C or SIGTERM."""

_PIPE_WIDTH = 160  # where no terminal says how wide it is
_RERUN = "--rerun"
_MOST_ROWS = 100  # of one table; files have the others
_USAGE = """\
python -m orchestrator [VERB] [FLAG] +sweep=NAME [KEY=VALUE ...]

  run      run what is missing of the sweep (the default); --yes agrees to what it costs, for scripts
           --rerun-failed, --rerun TRIAL_ID: what failed by its own doing, or one trial, again
  plan     every point: to run, cached, or skipped and why; --all lists a long plan, --json is for programs
  report   tables, and a page for a browser, of what is recorded
  status   what is under way of the sweep, and how much is left
  pause    have the sweep that another terminal runs start nothing more; cancel: also have what runs leave
  sync     send the tracking server the records that it lacks
  cluster  the file that makes a cluster of declared pools: cluster pools=gcp pools.project=ID > cluster.yaml
           --check [FILE] tells all that is wrong with it or with FILE, --diff FILE what FILE has otherwise
  predict  times and costs on devices that are not here: predict workload=vgg16 device=t4,v100, or +sweep=NAME
           predict advise +sweep=NAME budget.usd=5: what to measure until the best is clear; --json
           predict split +sweep=NAME trainer=kernel_split: whether splitting convolutions is worth it; --json
           predict evaluate data=PATH tells how well latencies of one device tell those of another, --json too

  workload_path=DIR   workloads of your own, each in a folder DIR/NAME, for any verb; docs/own_workload.md
                      workload_seconds=60 and workload_gigabytes=16 limit what their code takes
"""

console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """A command line taken apart: our verb and flags, and the overrides, which are Hydra's.

    Attributes:
        rerun: the ids that follow a `--rerun`.
    """

    verb: str
    flags: frozenset[str]
    rerun: frozenset[str]
    overrides: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. A user's mistake is one line on standard error."""
    signal.signal(signal.SIGTERM, _interrupt)
    _escape_what_has_no_encoding()
    _log_printable_warnings()
    try:
        with verbs.parsed_arguments(arguments) as words:
            return _answer(words)
    except OrchestratorError as error:
        _complain(error.whole)
        return WRONG_REQUEST
    except KeyboardInterrupt:
        _complain("interrupted; finished trials are kept, and the same command runs the rest")
        return INTERRUPTED


def _escape_what_has_no_encoding() -> None:
    """Let no text end a command, whatever encoding the terminal has."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _log_printable_warnings() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Printable("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _Printable(logging.Formatter):
    """Lines without what a terminal obeys: a warning quotes files, servers and packages."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _answer(words: Sequence[str]) -> int:
    if "--version" in words:
        print_line(console, f"orchestrator {own_version() or 'from a folder: it is not installed'}")
        return DONE
    if {"--help", "-h"} & set(words):
        print_line(console, _USAGE)
    if is_hydra_flag(words):
        return hydra_main(words, working_directory=Path.cwd())
    if cluster_verb.NAME in words:
        return cluster_verb.run_command(words, say=partial(print_line, console), complain=_complain)
    if predict_verb.NAME in words:
        show = partial(print_table, console)
        return predict_verb.run_command(words, say=partial(print_line, console), show=show, note=_note)
    line = parse(words)
    rerun = Rerun(failed="--rerun-failed" in line.flags, trial_ids=line.rerun)
    return _VERBS[line.verb].act(replace(verbs.settings_of(line.overrides), rerun=rerun), line.flags)


def parse(arguments: Sequence[str]) -> TextLine:
    """Take a command line apart: the verb is the first word without `=`, our flags begin with `--`.

    Raises:
        ConfigError: a verb or a flag that does not exist, or two verbs.
    """
    arguments, rerun = _without_rerun(arguments)
    flags = frozenset(word for word in arguments if word.startswith("--"))
    words = [word for word in arguments if "=" not in word and word[:1] not in ("-", "~", "+")]
    if len(words) > 1:
        raise ConfigError(f"one verb at a time: {words[0]!r} and {words[1]!r} were given")
    verb = words[0] if words else "run"
    if verb not in _VERBS:
        raise UnknownNameError("verb", verb, known=(*_VERBS, cluster_verb.NAME, predict_verb.NAME))
    asked = flags | ({_RERUN} if rerun else set())
    unknown = sorted(asked - _VERBS[verb].flags)
    if unknown:
        raise UnknownNameError(f"flag of {verb!r}:", unknown[0], known=_VERBS[verb].flags)
    overrides = tuple(word for word in arguments if word not in flags and word not in words)
    return TextLine(verb=verb, flags=flags, rerun=rerun, overrides=overrides)


def _without_rerun(arguments: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """The words without each `--rerun` and the id that follows it, and these ids."""
    rest, ids = [], set()
    words = iter(arguments)
    for word in words:
        if word != _RERUN:
            rest.append(word)
            continue
        trial_id = next(words, "")
        if not trial_id.isalnum():
            raise ConfigError(f"{_RERUN} needs the id of a trial after it; plan --all has them")
        ids.add(trial_id)
    return rest, frozenset(ids)


def _run(settings: Settings, flags: frozenset[str]) -> int:
    if "--yes" in flags:
        settings = replace(settings, budget=replace(settings.budget, confirm_usd=None))
    is_watched = console.is_terminal and sys.stdin.isatty()
    return _conclude(verbs.run(settings, console=console, ask=_ask if is_watched else None))


def _ask(question: str) -> bool:
    """Yes or no, and no where nothing is said."""
    print_line(console, question)
    console.print(Text("Run it? [y/N] "), end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _plan(settings: Settings, flags: frozenset[str]) -> int:
    if "--json" in flags:
        told = codec.to_json(verbs.plan(settings, console=Console(quiet=True)).plan)
        if console.is_terminal:
            console.print_json(told, ensure_ascii=not told.isprintable())
        else:
            sys.stdout.write(f"{told}\n")
        return DONE
    preview = verbs.plan(settings, console=console)
    print_plan(console, preview.plan, prices=preview.prices, list_all="--all" in flags)
    if preview.balance:
        _tell_budget(preview.balance)
    for recommendation in preview.recommendations:
        print_line(console, sentence_of(recommendation))
    for download in preview.downloads:
        print_line(console, f"run would first try to download: {download}")
    return DONE


def _tell_budget(balance: BudgetStatus) -> None:
    if balance.budget.is_capped:
        print_line(console, prospect_line(balance))
    if asked := question(balance):
        print_line(console, f"run would ask first: {asked}")


def _report(settings: Settings, _flags: frozenset[str]) -> int:
    return _conclude(verbs.report(settings, console=console))


def _status(settings: Settings, _flags: frozenset[str]) -> int:
    found = verbs.status(settings, console=console)
    print_status(console, found.plan, found.records, found.steps, holder=found.holder)
    return DONE


def _halt(settings: Settings, _flags: frozenset[str], *, halt: StopRequest) -> int:
    holder = halt_sweep(settings, halt)
    then = {
        "pause": "starts nothing more and ends when nothing runs",
        "cancel": "ends when what runs has left",
    }
    print_line(console, f"{holder} {then[halt]}; the same command goes on")
    return DONE


def _sync(settings: Settings, _flags: frozenset[str]) -> int:
    sent = sync_sweep(settings)
    server = without_secrets(settings.tracking_uri or "nobody: tracking=none")
    print_line(console, f"{counted(sent, 'record')} sent to {server}")
    return DONE


def _conclude(outcome: SweepReport) -> int:
    """Tables, then the sentences that matter, then where the page is, and what could not be written."""
    for table in tables_of(outcome.findings):
        print_table(console, cut(table, most_rows=_MOST_ROWS))
    for sentence in headline_of(outcome.findings):
        print_line(console, sentence)
    for remark in outcome.remarks:
        print_line(console, remark)
    if outcome.has_page:
        print_line(console, f"report: {display_path(outcome.report)}")
    for line in outcome.unwritten:
        _complain(line)
    return DONE if outcome.is_complete and not outcome.unwritten else NO_RESULT


def _complain(text: str) -> None:
    Console(stderr=True).print(Text(error_line(text)), soft_wrap=True)


def _note(line: str) -> None:
    Console(stderr=True).print(Text(printable(line), style="dim"), soft_wrap=True)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """Action of a verb, and the flags that it accepts."""

    act: Callable[[Settings, frozenset[str]], int]
    flags: frozenset[str] = frozenset()


_RERUNS = frozenset({_RERUN, "--rerun-failed"})
_VERBS: Mapping[str, _Command] = {
    "run": _Command(act=_run, flags=frozenset({"--yes"}) | _RERUNS),
    "plan": _Command(act=_plan, flags=frozenset({"--all", "--json"}) | _RERUNS),
    "report": _Command(act=_report),
    "status": _Command(act=_status),
    "pause": _Command(act=partial(_halt, halt="pause")),
    "cancel": _Command(act=partial(_halt, halt="cancel")),
    "sync": _Command(act=_sync),
}
