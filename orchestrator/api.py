"""Commands for notebooks: the overrides of the command line, and values in place of exit codes.

    from orchestrator.api import advise, doctor, plan, predict, report, run

    doctor()                                    # what this machine can train on
    predict("workload=resnet50", "device=t4")   # times and costs where the device is not here
    plan("+sweep=smoke")                        # what would run; starts no trial
    outcome = run("+sweep=smoke", "device=cpu") # runs the missing trials; prints a line per ended attempt
    outcome.results                             # a data frame; also .comparisons and .recommendations
    report("+sweep=smoke", "report.goal=cheapest")
    advise("+sweep=smoke")                      # which setting to use, and what to measure next

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
from typing import Any

import pandas as pd
from rich.console import Console

from orchestrator.analysis.predictions.forecasts import list_predicted, predicted_table
from orchestrator.analysis.report.export import comparisons_frame, recommendations_frame
from orchestrator.analysis.report.headline import build_headline
from orchestrator.analysis.table import cut
from orchestrator.analysis.tables.budget import prospect_line
from orchestrator.analysis.tables.measurements import MEASURED
from orchestrator.analysis.tables.plan import plan_frame, plan_table
from orchestrator.commands import sweep as verbs
from orchestrator.commands.doctor import load_diagnosis
from orchestrator.commands.notebook import MOST_ROWS, Sentences, format_html, format_paragraphs, parse_words
from orchestrator.core.placement import Plan
from orchestrator.core.settings import Rerun, Settings
from orchestrator.extension import require_part
from orchestrator.pipeline.report import SweepReport
from orchestrator.plan.machine_state import Diagnosis
from orchestrator.terminal.diagnosis import describe_machine
from orchestrator.terminal.printing import display_path, print_line, summarise_totals

warnings.filterwarnings("ignore", message="IProgress not found")  # of tqdm, which Ray and MLflow import


_WIDTH = 160  # of lines of progress


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
        return "\n".join((summarise_totals(self.plan), *self._preview.expected, *budget, *first))

    def _repr_html_(self) -> str:
        table = plan_table(self.plan)
        if len(table.rows) > MOST_ROWS:
            note = f"The first {MOST_ROWS} of {len(table.rows):,} rows; `points` has every one."
            table = replace(table, rows=table.rows[:MOST_ROWS], note=note)
        predicted = predicted_table(list_predicted(self.plan.forecasts))
        first = cut(predicted, most_rows=MOST_ROWS, others="`plan.forecasts` has every one")
        tables = [table, *([first] if predicted.rows else [])]
        return "".join(map(format_html, tables)) + format_paragraphs(repr(self).splitlines())


class Report:
    """Findings of a sweep, shown in a notebook; `docs/reference/results.md` names the columns of data frames.

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
        return recommendations_frame(self.outcome.findings.recommendations)

    @property
    def headline(self) -> "Sentences":
        """Sentences that state the result."""
        return Sentences(build_headline(self.outcome.findings))

    def __repr__(self) -> str:
        written = [f"report: {display_path(self.page)}"] if self.outcome.has_page else []
        return "\n".join((*self.headline, *self.outcome.remarks, *written, *self.outcome.unwritten))

    def _repr_html_(self) -> str:
        named = {table.title: table for table in self.outcome.findings.tables}
        tables = (
            [named[MEASURED]] if MEASURED in named else list(named.values())[:1]
        )  # the page has the others
        drawn = "".join(format_html(cut(table, most_rows=MOST_ROWS)) for table in tables)
        sentences = format_paragraphs((*self.headline, *self.outcome.remarks))
        where = escape(display_path(self.page))
        written = f'<p>report: <a href="{where}">{where}</a></p>' if self.outcome.has_page else ""
        return f"{drawn}{sentences}{written}{format_paragraphs(self.outcome.unwritten)}"


class Health:
    """State of this machine, shown in a notebook.

    Attributes:
        diagnosis: all of it, as values.
        is_ready: True if nothing that a sweep needs is missing.
    """

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self.is_ready: bool = diagnosis.is_ready

    @property
    def trainers(self) -> pd.DataFrame:
        """One row a trainer and device of this machine; `reason` why it cannot train there, else empty."""
        rows = [
            {
                "trainer": one.name,
                "device": device,
                "can_train": not one.missing and not reason,
                "reason": one.missing or reason,
                "python": one.python,
            }
            for one in self.diagnosis.trainers
            for device, reason in (one.devices or {"": ""}).items()
        ]
        return pd.DataFrame(rows, columns=["trainer", "device", "can_train", "reason", "python"])

    @property
    def checks(self) -> pd.DataFrame:
        """One row a drawback: its `status`, `missing` or `warning`, and what helps."""
        rows = [(check.status, check.message) for check in self.diagnosis.checks]
        return pd.DataFrame(rows, columns=["status", "message"])

    def __repr__(self) -> str:
        return "\n".join(describe_machine(self.diagnosis))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def predict(*words: str) -> Any:
    """Predict times and costs of points; no trial starts.

    Args:
        words: as after `python -m orchestrator predict`: `"workload=resnet50", "device=t4,h100"`.

    Returns:
        `orchestrator.extensions.predictions.notebook.Predictions`.

    Raises:
        OrchestratorError: the request is invalid or cannot be satisfied.
    """
    return _find_function("predict")(*words)


def advise(*words: str, confidence: float | None = None) -> Any:
    """Recommend a setting for every job of a sweep from all records and predictions; no trial starts.

    Args:
        words: as after `python -m orchestrator predict advise`.
        confidence: probability above which an answer is settled; None: that of the search.

    Returns:
        `orchestrator.extensions.predictions.notebook.Advice`.

    Raises:
        OrchestratorError: the request is invalid or cannot be satisfied.
    """
    return _find_function("advise")(*words, confidence=confidence)


def _find_function(name: str) -> Any:
    return require_part("functions", needed_for=f"{name}()", instead="plan()")[name]


def doctor(*words: str) -> Health:
    """Diagnose what this machine can train on, and what a sweep lacks on it.

    Args:
        words: as after `python -m orchestrator doctor`.

    Raises:
        OrchestratorError: the request is invalid.
    """
    with parse_words(words) as overrides:
        return Health(load_diagnosis(overrides))


def plan(*words: str, rerun_failed: bool = False, rerun: str | Iterable[str] = ()) -> Planned:
    """Decide for every point whether it runs, is cached or is skipped; no trial starts.

    Args:
        words: as after `python -m orchestrator plan`: `"+sweep=smoke", "sweep.repeats=1"`.
        rerun_failed: as for `run`.
        rerun: as for `run`.

    Raises:
        OrchestratorError: the request is invalid or cannot be satisfied.
    """
    rerun_request = _build_rerun(rerun_failed, rerun)
    with _requested(words) as (settings, console):
        return Planned(verbs.plan(replace(settings, rerun=rerun_request), console=console))


def run(*words: str, rerun_failed: bool = False, rerun: str | Iterable[str] = ()) -> Report:
    """Run the missing trials of a sweep, store every record, and report. The report has the failed trials.

    Args:
        words: as after `python -m orchestrator run`.
        rerun_failed: run failed trials again, even if they would fail again.
        rerun: ids of trials to run again, with or without records.

    Raises:
        OrchestratorError: the request is invalid or cannot be satisfied.
        KeyboardInterrupt: the cell was interrupted.
    """
    rerun_request = _build_rerun(rerun_failed, rerun)
    with _requested(words) as (settings, console):
        try:
            return Report(verbs.run_sweep(replace(settings, rerun=rerun_request), console=console))
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


def _build_rerun(failed: bool, trial_ids: str | Iterable[str]) -> Rerun:
    ids = [trial_ids] if isinstance(trial_ids, str) else trial_ids
    return Rerun(failed=failed, trial_ids=frozenset(ids))


@contextmanager
def _requested(words: tuple[str, ...]) -> Iterator[tuple[Settings, Console]]:
    """Yield the settings and a plain console: a notebook does not render live tables and colours."""
    logging.getLogger("ray.widgets").setLevel(logging.ERROR)  # ray 2.60, imported here, asks for ipywidgets
    with parse_words(words) as overrides:
        yield (
            verbs.load_settings(overrides),
            Console(force_terminal=False, force_jupyter=False, width=_WIDTH),
        )
