"""Commands for notebooks: the overrides of the command line, and values in place of exit codes.

    from orchestrator.api import plan, report, run

    plan("+sweep=smoke")                        # what would run; starts no trial
    outcome = run("+sweep=smoke", "device=cpu") # runs the missing trials; prints a line per ended attempt
    outcome.results                             # a data frame; also .comparisons and .recommendations
    report("+sweep=smoke", "report.goal=cheapest")

Mistakes are raised as errors of `orchestrator.core.errors`, each one line. Interrupting the cell ends the
sweep as Ctrl-C ends a command: nothing stays alive, and what has finished is kept.
"""

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path

import pandas as pd
from rich.console import Console

from orchestrator.analysis.predictions.forecasts import predicted_of, predicted_table
from orchestrator.analysis.report.export import comparisons_frame, recommendations_frame
from orchestrator.analysis.report.headline import headline_of
from orchestrator.analysis.table import Table, cut
from orchestrator.analysis.tables.budget import prospect_line
from orchestrator.analysis.tables.measurements import MEASURED
from orchestrator.analysis.tables.plan import plan_frame, plan_table
from orchestrator.commands import sweep as verbs
from orchestrator.commands.arguments import parsed_arguments
from orchestrator.core.errors import ConfigError
from orchestrator.core.placement import Plan
from orchestrator.core.settings import Rerun, Settings
from orchestrator.pipeline.report import SweepReport
from orchestrator.terminal.printing import display_path, print_line, totals_of

warnings.filterwarnings("ignore", message="IProgress not found")  # of tqdm, which Ray and MLflow import


def html_of(table: Table) -> str:
    """Title, rows and the sentence on how to read them."""
    aligned = ["right" if column.is_number else "left" for column in table.columns]
    head = _row("th", [column.header for column in table.columns], aligned)
    rows = "".join(_row("td", row, aligned) for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead>{head}</thead><tbody>{rows}</tbody></table>{note}"


def _row(tag: str, cells: Iterable[str], aligned: Iterable[str]) -> str:
    drawn = (
        f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, aligned, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"


_WIDTH = 160  # of lines of progress
_MOST_ROWS = 100  # that are shown of one table; data frames have all


class Planned:
    """Plan of a sweep, shown in a notebook.

    Attributes:
        plan: placements, cached and skipped points, as values.
        downloads: files that a run would first try to download.
    """

    def __init__(self, preview: verbs.PlanPreview) -> None:
        self.plan: Plan = preview.plan
        self.downloads: tuple[str, ...] = preview.downloads
        self._preview = preview

    @property
    def points(self) -> pd.DataFrame:
        """One row a point; `state` is `measure`, `rehearse`, `cached`, `failed` or `skip`; `note` why."""
        return plan_frame(self.plan)

    def __repr__(self) -> str:
        balance = self._preview.balance
        budget = [prospect_line(balance)] if balance.budget.is_capped else []
        first = (f"run would first try to download: {download}" for download in self.downloads)
        return "\n".join((totals_of(self.plan), *self._preview.expected, *budget, *first))

    def _repr_html_(self) -> str:
        table = plan_table(self.plan)
        if len(table.rows) > _MOST_ROWS:
            note = f"The first {_MOST_ROWS} of {len(table.rows):,} rows; `points` has every one."
            table = replace(table, rows=table.rows[:_MOST_ROWS], note=note)
        predicted = predicted_table(predicted_of(self.plan.forecasts))
        first = cut(predicted, most_rows=_MOST_ROWS, others="`plan.forecasts` has every one")
        tables = [table, *([first] if predicted.rows else [])]
        return "".join(map(html_of, tables)) + _paragraphs(repr(self).splitlines())


class Report:
    """Findings of a sweep, shown in a notebook; `docs/results.md` names the columns of its data frames.

    Attributes:
        outcome: all of it, as values.
        page: the report for a browser.
        is_complete: True if every trial of the plan has a result.
    """

    def __init__(self, outcome: SweepReport) -> None:
        self.outcome = outcome
        self.page: Path = outcome.report
        self.is_complete: bool = outcome.is_complete

    @property
    def results(self) -> pd.DataFrame:
        """One row per trial that has a record."""
        return self.outcome.findings.frame

    @property
    def comparisons(self) -> pd.DataFrame:
        """One row per comparison, with its interval and verdict."""
        return comparisons_frame(self.outcome.findings)

    @property
    def recommendations(self) -> pd.DataFrame:
        """One row per workload and data: the recommended setting, or the reason for none."""
        return recommendations_frame(self.outcome.findings)

    @property
    def headline(self) -> tuple[str, ...]:
        """Sentences that state the result."""
        return headline_of(self.outcome.findings)

    def __repr__(self) -> str:
        written = [f"report: {display_path(self.page)}"] if self.outcome.has_page else []
        return "\n".join((*self.headline, *self.outcome.remarks, *written, *self.outcome.unwritten))

    def _repr_html_(self) -> str:
        named = {table.title: table for table in self.outcome.findings.tables}
        tables = (
            [named[MEASURED]] if MEASURED in named else list(named.values())[:1]
        )  # the page has the others
        drawn = "".join(html_of(cut(table, most_rows=_MOST_ROWS)) for table in tables)
        sentences = _paragraphs((*self.headline, *self.outcome.remarks))
        where = escape(display_path(self.page))
        written = f'<p>report: <a href="{where}">{where}</a></p>' if self.outcome.has_page else ""
        return f"{drawn}{sentences}{written}{_paragraphs(self.outcome.unwritten)}"


def plan(*words: str, rerun_failed: bool = False, rerun: str | Iterable[str] = ()) -> Planned:
    """Decide for every point whether it runs, is cached or is skipped; no trial starts.

    Args:
        words: as after `python -m orchestrator plan`: `"+sweep=smoke", "sweep.repeats=1"`.
        rerun_failed: as for `run`.
        rerun: as for `run`.

    Raises:
        OrchestratorError: the request is invalid or cannot be satisfied.
    """
    rerun_request = _rerun_of(rerun_failed, rerun)
    with _requested(words) as (settings, console):
        return Planned(verbs.plan(replace(settings, rerun=rerun_request), console=console))


def run(*words: str, rerun_failed: bool = False, rerun: str | Iterable[str] = ()) -> Report:
    """Run the missing trials of a sweep, store every record, and report. The report has the failed trials.

    Args:
        words: as after `python -m orchestrator run`.
        rerun_failed: run failed trials again, even if they would fail again.
        rerun: ids of trials to run again, whatever their records are.

    Raises:
        OrchestratorError: the request is invalid or cannot be satisfied.
        KeyboardInterrupt: the cell was interrupted.
    """
    rerun_request = _rerun_of(rerun_failed, rerun)
    with _requested(words) as (settings, console):
        try:
            return Report(verbs.run(replace(settings, rerun=rerun_request), console=console))
        except KeyboardInterrupt:
            print_line(console, ("interrupted; finished trials are kept, and the same call runs the rest"))
            raise


def report(*words: str) -> Report:
    """Report what is recorded of a sweep; nothing is run.

    Args:
        words: as after `python -m orchestrator report`.

    Raises:
        OrchestratorError: the request cannot be understood, or the records cannot be read.
    """
    with _requested(words) as (settings, console):
        return Report(verbs.report(settings, console=console))


def _rerun_of(failed: bool, trial_ids: str | Iterable[str]) -> Rerun:
    ids = [trial_ids] if isinstance(trial_ids, str) else trial_ids
    return Rerun(failed=failed, trial_ids=frozenset(ids))


@contextmanager
def _requested(words: tuple[str, ...]) -> Iterator[tuple[Settings, Console]]:
    """Yield the settings and a plain console: a notebook does not render live tables and colours."""
    logging.getLogger("ray.widgets").setLevel(logging.ERROR)  # ray 2.60, imported here, asks for ipywidgets
    with parsed_arguments(words) as overrides:
        for word in overrides:
            if "=" not in word and not word.startswith("~"):
                raise ConfigError(f"{word!r} is not KEY=VALUE; commands and flags are for the command line")
        yield (
            verbs.settings_of(overrides),
            Console(force_terminal=False, force_jupyter=False, width=_WIDTH),
        )


def _paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
