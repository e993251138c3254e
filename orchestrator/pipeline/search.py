"""Adaptive search of a sweep: its data at the start, and its messages on the way."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.core.codec import to_json
from orchestrator.core.placement import Plan
from orchestrator.core.result import latest
from orchestrator.core.search import JobProgress, SearchProgress
from orchestrator.core.settings import Settings
from orchestrator.core.trial_progress import Pruning, TrialProgress
from orchestrator.execute.on_ray.learning_curves import stops_on_curve
from orchestrator.execute.scheduling.queue import ObstacleOf
from orchestrator.pipeline.planning import at_requested_prices, find_order, with_predictions
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.pipeline.search_progress import FILE_NAME
from orchestrator.plan.cache import without_outdated
from orchestrator.search.sentences import end_sentence, outlook_sentence, step_sentences
from orchestrator.search.sweep_search import SweepSearch
from workloads.data.files import written_whole


def build_search(settings: Settings, preflight: PreflightState, todo: Plan) -> SweepSearch:
    """Collect what is known before the next trial: predictions, prices, and the records of all sweeps."""
    predicted = with_predictions(todo, settings, preflight)
    newest = latest(without_outdated(preflight.records, todo.outdated))
    again = {  # the plan runs these: their old records answer nothing, but what a pruned one showed is known
        one.trial_id
        for one in todo.placements
        if one.trial_id in newest and not newest[one.trial_id].is_pruned
    }
    standing = tuple(
        newest[one.trial_id]
        for one in predicted.asked
        if one.trial_id in newest and one.trial_id not in again
    )
    return SweepSearch(
        predicted,
        settings.objective,
        placements=find_order(settings, todo, preflight.price_book),
        records=at_requested_prices(settings, standing, preflight.price_book),
        stops_on_curve=stops_on_curve,
    )


def outlook_lines(search: SweepSearch, plan: Plan) -> tuple[str, ...]:
    """Describe what the search likely needs, and what it leaves alone."""
    rehearsals = sum(one.provenance == "rehearsed" for one in plan.placements)
    left = f"adaptive search: {rehearsals:,} rehearsals are left out, as they measure nothing"
    whole = (
        "adaptive search: nothing can be measured here; trials are rehearsed as if they ended as predicted"
    )
    about = [whole] if search.is_rehearsal else [left] if rehearsals else []
    return (*about, *(f"adaptive search: {outlook_sentence(one)}" for one in search.outlooks))


class ReportingSearch:
    """Search that shows every decision on a screen, and keeps the last one for other terminals."""

    def __init__(self, search: SweepSearch, *, folder: Path, on_message: Callable[[str], None]) -> None:
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
            self._on_message(f"pruned: {self._search.build_setting(trial_id)}: {pruning.why}")
        return pruning


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
