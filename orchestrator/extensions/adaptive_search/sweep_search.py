"""The trials of a sweep as an adaptive search sees them: what is known, what runs, and what starts next."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orchestrator.analysis.recommendation.answer.judgement import Judgement, judge
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import jobs_of_plan
from orchestrator.analysis.recommendation.jobs.length import job_length
from orchestrator.analysis.recommendation.jobs.settings_of_records import (
    fatal_failures,
    is_fatal,
    is_run,
    read_pruned_run,
    read_run,
)
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import build_criteria
from orchestrator.analysis.recommendation.model.model import INDEPENDENT
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.price import Price
from orchestrator.core.result import TrialRecord
from orchestrator.core.search import JobProgress, SearchProgress
from orchestrator.core.trial_progress import Pruning, TrialProgress
from orchestrator.execute.scheduling.queue import ObstacleOf
from orchestrator.extensions.adaptive_search.costs import TrialCosts
from orchestrator.extensions.adaptive_search.decision import Choice, Stop, next_trial
from orchestrator.extensions.adaptive_search.expected_runs import with_expected_runs
from orchestrator.extensions.adaptive_search.outlook import Outlook, build_outlook, outlook_sentence
from orchestrator.extensions.adaptive_search.pruning import StopsOnCurve, find_pruning


def build_progress(job: Job, view: Judgement, decision: Choice | Stop) -> JobProgress:
    """Sum up how far the search of a job is."""
    leader = decision.leader
    is_choice = isinstance(decision, Choice)
    runs = [(one, run.trial_seconds) for one in job.candidates for run in one.runs]
    pruned = [(one, early.trial_seconds) for one in job.candidates for early in one.pruned]
    grid_seconds, grid_usd = _sum_grid(job, view)
    return JobProgress(
        job=job.where,
        num_settings=len(job.candidates),
        num_measured=sum(bool(one.runs) for one in job.candidates),
        num_trials=len(runs),
        num_pruned=len(pruned),
        leader=leader.setting if leader else "",
        chance=leader.chance if leader else 0.0,
        is_measured=leader is not None and leader.is_measured,
        next_setting=decision.setting if isinstance(decision, Choice) else "",
        why=decision.why,
        stop="" if is_choice else str(getattr(decision, "reason", "")),
        seconds=math.fsum(seconds for _, seconds in (*runs, *pruned)),
        usd=_sum(one.billed_usd(seconds) for one, seconds in (*runs, *pruned)),
        grid_seconds=grid_seconds,
        grid_usd=grid_usd,
    )


def _sum_grid(job: Job, view: Judgement) -> tuple[float | None, float | None]:
    """Sum one trial of every setting that may run; None, None before any time is known."""
    left = [one for one in job.candidates if not one.failure_kinds]
    known = {one.label for one in view.candidates}
    if not any(one.quiet or one.label in known for one in left):
        return None, None
    costs = TrialCosts(job, view, in_usd=True)
    return math.fsum(map(costs.estimate_seconds, left)), _sum(_usd(costs, one) for one in left)


def _usd(costs: TrialCosts, one: CandidateSetting) -> float:
    usd = costs.compute_usd(one)
    return math.nan if usd is None else usd


def _sum(values: object) -> float | None:
    total = math.fsum(values)  # type: ignore[arg-type]
    return None if math.isnan(total) else total


Decision = Choice | Stop

_REHEARSED = "nothing can be measured here; trials are rehearsed as if they ended as predicted"
_MOST_NOISY = 5
_BUSY = f"the first {_MOST_NOISY} trials ran on a busy host; the same command goes on when it is quiet"


class SweepSearch:
    """Adaptive search over the trials of a plan.

    Trials of devices that are not at hand are no part of it, unless all are: a rehearsal of a whole sweep
    goes on as if each trial had ended as predicted.

    Args:
        plan: plan with predictions and prices.
        placements: its trials, in the order in which repeats of a setting start.
        records: records that stand, of trials of the plan.
        stops_on_curve: rule that compares learning curves of trainings to a target.
    """

    def __init__(
        self,
        plan: Plan,
        objective: Objective,
        *,
        placements: Sequence[Placement],
        records: Sequence[TrialRecord],
        stops_on_curve: StopsOnCurve,
    ) -> None:
        measured = [one for one in placements if one.provenance == "measured" and one.trains]
        self.is_rehearsal = not measured and not any(one.provenance == "measured" for one in records)
        chosen = (
            [replace(one, provenance="measured") for one in placements if one.trains]
            if self.is_rehearsal
            else measured
        )
        self._plan = plan
        self._objective = objective
        self._stops_on_curve = stops_on_curve
        self._criteria = build_criteria(plan.search, objective)
        self._errors = plan.error_model or INDEPENDENT
        self._jobs = list(
            jobs_of_plan(records, replace(plan, placements=tuple(chosen), forecasts=()), objective)
        )
        own = {one.trial_id: one for one in placements}
        self._placements = {one.trial_id: own[one.trial_id] for one in chosen}
        self._places = {
            trial: (index, one.label)
            for index, job in enumerate(self._jobs)
            for one in job.candidates
            for trial in one.trial_ids
        }
        self._failed: dict[tuple[int, str], list[TrialRecord]] = {}
        self._running: set[str] = set()
        self._num_noisy: Counter[int] = Counter()  # by job, of this command
        self._decided: dict[int, Decision] = {}
        self._judged: dict[int, tuple[Job, Judgement]] = {}

    def next_trial(self, format_obstacle: ObstacleOf) -> str | None:
        """Choose the trial_id of the next trial; None: none starts now, as `progress` explains."""
        in_usd = self._is_priced()
        self._decided = {
            index: self._decide(index, format_obstacle, in_usd=in_usd) for index in range(len(self._jobs))
        }
        choices = [
            (index, decision) for index, decision in self._decided.items() if isinstance(decision, Choice)
        ]
        if not choices:
            return None
        index, best = max(choices, key=lambda choice: choice[1].worth)
        return self._candidate(index, best.setting).trial_ids[0]

    def _is_priced(self) -> bool:
        return all(isinstance(one.price, Price) for job in self._jobs for one in job.candidates)

    def _decide(self, index: int, format_obstacle: ObstacleOf, *, in_usd: bool) -> Decision:
        job = self._jobs[index]
        if self._num_noisy[index] >= _MOST_NOISY and not any(one.quiet for one in job.candidates):
            return Stop(reason="exhausted", why=_BUSY, leader=None)
        first = {one.label: one.trial_ids[0] for one in job.candidates if one.trial_ids}
        places = [self._places[trial_id] for trial_id in self._running]
        running = Counter(label for place, label in places if place == index)
        return next_trial(
            job,
            self._criteria,
            self._errors,
            running=running,
            format_obstacle=lambda label: format_obstacle(self._placements[first[label]]),
            in_usd=in_usd,
            known=self._judgement(index),
        )

    def _judgement(self, index: int) -> Judgement:
        """Judge a job once for all that is asked of it until it changes."""
        job = self._jobs[index]
        if index not in self._judged or self._judged[index][0] is not job:
            self._judged[index] = job, judge(job, self._criteria, self._errors)
        return self._judged[index][1]

    @property
    def progress(self) -> SearchProgress:
        """State of every job after the last decision on it."""
        return SearchProgress(
            jobs=tuple(
                build_progress(job, self._judgement(index), self._decided[index])
                for index, job in enumerate(self._jobs)
                if index in self._decided
            ),
            search=self._plan.search,
            is_rehearsal=self.is_rehearsal,
        )

    def describe_outlook(self) -> tuple[str, ...]:
        """Describe what the search likely needs, and what it leaves alone."""
        rehearsals = sum(one.provenance == "rehearsed" for one in self._plan.placements)
        left = f"{rehearsals:,} rehearsals are left out, as they measure nothing"
        about = [_REHEARSED] if self.is_rehearsal else [left] if rehearsals else []
        return tuple(
            f"adaptive search: {sentence}" for sentence in (*about, *map(outlook_sentence, self.outlooks))
        )

    @property
    def outlooks(self) -> tuple[Outlook, ...]:
        """Expected trials and cost of the search of every job."""
        in_usd = self._is_priced()
        return tuple(build_outlook(job, self._criteria, self._errors, in_usd=in_usd) for job in self._jobs)

    def start(self, trial_id: str) -> None:
        """Take note that a trial runs."""
        self._running.add(trial_id)
        index, label = self._places[trial_id]
        one = self._candidate(index, label)
        left = tuple(other for other in one.trial_ids if other != trial_id)
        self._update(index, replace(one, trial_ids=left, num_missing=len(left)))

    def end(self, record: TrialRecord) -> None:
        """Take note of the record of a trial that is not tried again."""
        self._running.discard(record.trial_id)
        index, label = self._places[record.trial_id]
        if self.is_rehearsal and record.failure is None:
            job = self._jobs[index]  # a rehearsed trial ends as predicted
            self._jobs[index] = with_expected_runs(job, self._judgement(index), {label: 1})
        elif is_run(record):
            self._add_run(index, label, record)
        elif early := read_pruned_run(record):
            one = self._candidate(index, label)
            self._update(index, replace(one, pruned=(*one.pruned, early), price=record.price or one.price))
        elif record.failure is not None:
            self._add_failure(index, label, record)
        else:
            self._release_without_result(index, label)

    def name_setting(self, trial_id: str) -> str:
        """Name the job and the setting of a trial."""
        index, label = self._places[trial_id]
        return f"{self._jobs[index].where}: {label}"

    def find_pruning(self, trial_id: str, shown: TrialProgress) -> Pruning | None:
        """Decide whether a running trial is ended early; None: it goes on."""
        index, label = self._places[trial_id]
        return find_pruning(
            self._jobs[index],
            label,
            shown,
            criteria=self._criteria,
            errors=self._errors,
            known=self._judgement(index),
            stops_on_curve=self._stops_on_curve,
        )

    def drop(self, trial_id: str) -> None:
        """Take note that a trial is not run."""
        self._running.discard(trial_id)

    def _add_run(self, index: int, label: str, record: TrialRecord) -> None:
        one = self._candidate(index, label)
        run = read_run(record, self._jobs[index].aim)
        if run is None:
            self._release_without_result(index, label)
        else:
            self._num_noisy[index] += run.is_noisy
            self._update(index, replace(one, runs=(*one.runs, run), price=record.price or one.price))
            self._set_length(index)

    def _release_without_result(self, index: int, label: str) -> None:
        """Leave out the repeats of a setting after a trial without a timed step: they would have none."""
        self._update(index, replace(self._candidate(index, label), trial_ids=(), num_missing=0))

    def _add_failure(self, index: int, label: str, record: TrialRecord) -> None:
        failed = self._failed.setdefault((index, label), [])
        failed.append(record)
        one = self._candidate(index, label)
        kinds = {failure.failure.kind for failure in failed if failure.failure}
        self._update(
            index,
            replace(
                one,
                num_failed=sum(not is_fatal(failure) for failure in failed),
                failure_kinds=one.failure_kinds | kinds,
                fatal=fatal_failures(failed, len(failed) + len(one.runs)),
            ),
        )

    def _set_length(self, index: int) -> None:
        """Set the length of a job that no workload declares to that of its longest recorded training."""
        job = self._jobs[index]
        of_job = next(trial_id for trial_id, place in self._places.items() if place[0] == index)
        recorded = [run.samples for one in job.candidates for run in one.runs]
        training = self._plan.find_training(self._placements[of_job].trial)
        length = job_length(training, self._objective, recorded_samples=recorded)
        self._jobs[index] = replace(job, samples=length.samples)

    def _candidate(self, index: int, label: str) -> CandidateSetting:
        return next(one for one in self._jobs[index].candidates if one.label == label)

    def _update(self, index: int, candidate: CandidateSetting) -> None:
        job = self._jobs[index]
        candidates = tuple(candidate if one.label == candidate.label else one for one in job.candidates)
        self._jobs[index] = replace(job, candidates=candidates)
