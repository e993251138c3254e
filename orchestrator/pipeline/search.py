"""Adaptive search of a sweep: its messages on the way. An extension has the search itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from orchestrator.analysis.formatting import counted, format_cost
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.answer.summary import chance
from orchestrator.core.codec import to_json
from orchestrator.core.placement import Plan
from orchestrator.core.search import JobProgress, SearchProgress
from orchestrator.core.settings import Settings
from orchestrator.core.trial_progress import Pruning, TrialProgress
from orchestrator.execute.scheduling.queue import ObstacleOf, TrialChooser
from orchestrator.extension import require_part
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.search_progress import FILE_NAME
from workloads.data.files import written_whole


class TrialSearch(TrialChooser, Protocol):
    """Search over the trials of a plan."""

    @property
    def progress(self) -> SearchProgress:
        """State of every job after the last decision on it."""

    def name_setting(self, trial_id: str) -> str:
        """Name the job and the setting of a trial."""

    def describe_outlook(self) -> tuple[str, ...]:
        """Describe what the search likely needs, and what it leaves alone."""


def build_search(settings: Settings, preflight: PreflightState, todo: Plan) -> TrialSearch:
    """Build the search that an extension has.

    Raises:
        ConfigError: none has one.
    """
    build = require_search()
    search: TrialSearch = build(settings, preflight, todo)
    return search


def require_search() -> Any:
    """Return the function that builds a search. Raises ConfigError: no extension has one."""
    return require_part("search", needed_for="an adaptive search", instead="search=grid")


class ReportingSearch:
    """Search that shows every decision on a screen, and keeps the last one for other terminals."""

    def __init__(self, search: TrialSearch, *, folder: Path, on_message: Callable[[str], None]) -> None:
        self._search = search
        self._path = folder / FILE_NAME
        self._on_message = on_message
        self._printed: set[str] = set()
        self.start, self.end, self.drop = search.start, search.end, search.drop

    def next_trial(self, format_obstacle: ObstacleOf) -> str | None:
        """Choose the next trial, and show the reason."""
        chosen = self._search.next_trial(format_obstacle)
        progress = self._search.progress
        with written_whole(self._path) as made:
            made.write_text(to_json(progress), encoding="utf-8")
        sentences = list(step_sentences(progress))
        for sentence in sentences:
            if sentence not in self._printed:
                self._on_message(sentence)
        self._printed = set(sentences)
        return chosen

    def find_pruning(self, trial_id: str, shown: TrialProgress) -> Pruning | None:
        """Let the search decide whether a running trial is ended early, and show the decision."""
        pruning = self._search.find_pruning(trial_id, shown)
        if pruning is not None:
            self._on_message(f"pruned: {self._search.name_setting(trial_id)}: {pruning.why}")
        return pruning


def step_sentences(progress: SearchProgress) -> Iterator[str]:
    """Describe what leads in every job, what is next, and why."""
    for one in progress.jobs:
        known = "" if one.is_measured else ", only predicted"
        leads = f"{one.leader} leads with {chance(one.chance)}{known}; " if one.leader else ""
        what = f"next: {one.next_setting}, {one.why}" if one.next_setting else one.why
        yield f"{one.job}: {leads}{what}"


def end_sentence(one: JobProgress, *, winner: str, goal: str) -> str:
    """Describe what was measured, for what price, and which setting the report takes.

    Args:
        winner: setting that the report takes; empty: none.
    """
    spent = format_cost(one.seconds, one.usd)
    grid = format_cost(one.grid_seconds, one.grid_usd)
    of_grid = f" of {grid} for one trial of each" if grid else ""
    counts = f"{one.num_measured:,} of {counted(one.num_settings, 'setting')} measured"
    found = (
        f"{winner} is the choice ({goal}); its chance to be good is {chance(one.chance)}"
        if winner
        else "none is recommended"
    )
    pruned = f", {one.num_pruned:,} more pruned" if one.num_pruned else ""
    return (
        f"{one.job}: {counts} in {counted(one.num_trials, 'trial')}{pruned} ({spent}{of_grid}); {found}. "
        f"Stopped: {one.why}."
    )


def _ended(job: JobProgress) -> JobProgress:
    """Return the progress at the end of a command; one that ends before a chosen trial was stopped."""
    return replace(job, next_setting="", why="the sweep was stopped") if job.next_setting else job


def describe_search(progress: SearchProgress, answers: Sequence[Recommendation]) -> tuple[str, ...]:
    """Describe for every job what was measured, and which setting the report takes."""
    by_job = {one.job: one for one in answers}
    return tuple(
        end_sentence(
            one,
            winner=(by_job[one.job].chosen or "") if one.job in by_job else "",
            goal=by_job[one.job].asked if one.job in by_job else "",
        )
        for one in map(_ended, progress.jobs)
    )
