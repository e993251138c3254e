"""(a setting of a job, criteria) -> why it is not judged. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.formatting import counted, duration
from orchestrator.analysis.recommendation.answer.answer import ExcludedSetting
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, PrunedRun
from orchestrator.analysis.recommendation.model.criteria import Criteria, build_question
from orchestrator.analysis.recommendation.model.factors import find_factors
from orchestrator.analysis.recommendation.model.model import (
    AS_LONG,
    assumed_quality,
    compute_job_seconds,
    samples_to_target,
)
from orchestrator.core.estimate import Misfit
from orchestrator.core.interval import exactly
from orchestrator.core.memory_fit import MemoryDoubt
from orchestrator.core.price import Price, Unpriced

_BATCH = "global_batch_size"
_DEVICES = ("device", "devices", "num_workers", "num_hosts")
_MAY_NOT_FIT: Mapping[MemoryDoubt, tuple[str, str]] = {
    "not counted": ("its memory is not counted, and the least may not be all", "its memory by `plan`"),
    "tight": ("its memory is tight", "it"),
}
"""Doubt -> the reason against a setting, and what to measure."""

_NO_PRICE = "no price is known"

EQUAL_SAMPLES = "all settings with steps that make the samples equal"
"""Measurement that lets qualities be compared; more repeats of the same steps do not."""


def explain_exclusion(
    candidate: CandidateSetting, job: Job, criteria: Criteria, *, is_learned: bool = False
) -> ExcludedSetting | None:
    """Explain why a setting cannot be judged; None: it can.

    Args:
        is_learned: the times of other settings are estimated from measured ones.
    """
    if candidate.fatal:
        return _excluded(candidate, candidate.fatal, "", may_be_best=False)
    if (early := _pruned_here(candidate, job, criteria)) is not None:
        return _excluded(candidate, f"it was ended early: {early.why}", "", may_be_best=False)
    if reason := _outlast_start(candidate, job, criteria):
        return _excluded(candidate, reason, "", may_be_best=False)
    is_estimated = is_learned and bool(candidate.trial_ids) and not candidate.quiet
    if candidate.runs and not is_estimated:
        exclusion = _of_measured(candidate, job)
    else:
        exclusion = _of_unmeasured(candidate, job, is_learned=is_learned)
    return exclusion or _of_criteria(candidate, job, criteria)


def _outlast_start(candidate: CandidateSetting, job: Job, criteria: Criteria) -> str:
    """Explain that the whole job here, as measured, ends before a rented machine starts; empty: it does not.

    What counts, time or cost, must be less here. A length that is not stated is that of a trial.
    """
    price, (time, cost, quality) = candidate.price, criteria.weights
    if candidate.runs or not candidate.is_rented or not (job.known_length or job.target):
        return ""
    if not isinstance(price, Price) or quality or criteria.needs_quality:
        return ""
    start = max(price.least_billing_seconds or 0.0, *(price.start_seconds or (0.0,))[:1])
    for one in job.candidates:
        runs = () if one.is_rented or one.fatal else one.quiet or one.runs  # noise makes none faster
        times = [compute_job_seconds(run, job, batch_size=one.batch_size) for run in runs]
        here = max((seconds or math.inf for seconds in times), default=math.inf)
        is_cheaper = here * one.usd_per_second < start * candidate.usd_per_second
        if (here < start or not time) and (is_cheaper or not cost):
            least, whole = (duration(exactly(seconds), digits=2) for seconds in (start, here))
            return f"each start takes or bills at least {least}, and the whole job here takes {whole}"
    return ""


def _pruned_here(candidate: CandidateSetting, job: Job, criteria: Criteria) -> PrunedRun | None:
    """Return the training to a target that was ended early under the same question, where none ended later.

    Without a target the steps that it showed are judged anew under any question.
    """
    if job.target is None or candidate.quiet or not criteria.learns:
        return None
    asked = build_question(criteria, job.aim, candidate.price)
    return next((early for early in candidate.pruned if early.question == asked), None)


def find_lesson(
    candidate: CandidateSetting, failed: Sequence[CandidateSetting], measured: Sequence[CandidateSetting]
) -> ExcludedSetting | None:
    """Exclude a setting that was not measured by the failures of others; None: they teach nothing of it.

    A smaller batch ran out of memory in all else alike, the environment of its trainer failed, or no node
    came for a trial on the same devices.

    Args:
        measured: settings with results; their trainers' environments work.
    """
    own = find_factors(candidate)
    for other in () if candidate.runs or candidate.failure_kinds else failed:
        theirs = find_factors(other)
        alike = {**own, _BATCH: ""} == {**theirs, _BATCH: ""}
        if "oom" in other.failure_kinds and alike and other.batch_size < candidate.batch_size:
            reason = f"batch {other.batch_size:,} ran out of memory there"
            return _excluded(candidate, reason, "", may_be_best=False)
        same_trainer = theirs.get("trainer") == own.get("trainer")
        works_elsewhere = (
            factors.get("trainer") == theirs.get("trainer") and _on_same_devices(theirs, factors)
            for factors in map(find_factors, measured)
        )
        if "environment" in other.failure_kinds and same_trainer and not any(works_elsewhere):
            return _excluded(candidate, f"the environment of {own.get('trainer')} failed", "it again")
        if "infeasible" in other.failure_kinds and _on_same_devices(own, theirs):
            return _excluded(candidate, "no node came for a trial on these devices", "it again")
    return None


def exclude_doubtful(
    exclusions: Sequence[tuple[CandidateSetting, ExcludedSetting | None]],
) -> list[tuple[CandidateSetting, ExcludedSetting | None]]:
    """Exclude settings that may not fit the memory, where another one surely fits."""
    if all(exclusion or one.doubt for one, exclusion in exclusions):
        return list(exclusions)
    return [
        (one, exclusion or (_excluded(one, *_MAY_NOT_FIT[one.doubt]) if one.doubt else None))
        for one, exclusion in exclusions
    ]


def _on_same_devices(own: Mapping[str, str], theirs: Mapping[str, str]) -> bool:
    return all(own.get(factor) == theirs.get(factor) for factor in _DEVICES)


def _of_measured(candidate: CandidateSetting, job: Job) -> ExcludedSetting | None:
    if candidate.num_outliers and not candidate.quiet:
        steps = [run.step_seconds for run in candidate.runs]
        reason = f"its runs differ {max(steps) / min(steps):.3g}x, so that none is credible"
        return _excluded(candidate, reason, "it again on a quiet host")
    if not candidate.quiet:
        excluded = _excluded(candidate, "no trial ran on a quiet host", "it again on a quiet host")
        return replace(excluded, is_noisy=True)
    if job.target is None:
        return None
    missed = sum(run.missed_target for run in candidate.quiet)
    if missed:
        trainings = counted(len(candidate.quiet), "training")
        reason = f"{missed:,} of {trainings} did not reach {job.target.metric} {job.target.value:g}"
        return _excluded(candidate, reason, "more steps", may_be_best=False)
    if all(run.seconds_to_target is None for run in candidate.quiet):
        return _excluded(candidate, "trainings were resumed, so their time is not known", "it again")
    return None


def _of_unmeasured(candidate: CandidateSetting, job: Job, *, is_learned: bool) -> ExcludedSetting | None:
    if candidate.num_failed:
        return _excluded(candidate, f"{counted(candidate.num_failed, 'trial')} failed", "it again")
    is_estimated = is_learned and candidate.num_missing > 0
    if (
        not is_estimated
        and candidate.num_missing
        and (candidate.prior is None or _has_measured_twin(candidate, job))
    ):
        return _excluded(candidate, "not measured yet", "it")
    if candidate.prior is None and not is_estimated:
        if candidate.refusal is not None:
            refusal, may_be_best = candidate.refusal, not isinstance(candidate.refusal, Misfit)
            return _excluded(candidate, refusal.reason, refusal.to_measure, may_be_best=may_be_best)
        return _excluded(candidate, "the step is not predicted", "it")
    if job.target is not None and _twin_missed(candidate, job):
        reason = (
            f"no training at this precision and batch size reached {job.target.metric} {job.target.value:g}"
        )
        return _excluded(candidate, reason, "more steps of one that was measured")
    samples_by_batch = samples_to_target(job) if job.target is not None else {}
    if samples_by_batch and candidate.batch_size not in samples_by_batch:
        reason = (
            f"no training at batch {candidate.batch_size} reached {job.target.metric}" if job.target else ""
        )
        return _excluded(candidate, reason, "it")
    return None


def _twin_missed(candidate: CandidateSetting, job: Job) -> bool:
    """Return whether equivalent trainings missed the target and none reached it."""
    alike = (candidate.precision, candidate.batch_size)
    runs = [run for one in job.candidates if (one.precision, one.batch_size) == alike for run in one.quiet]
    return any(run.missed_target for run in runs) and all(run.missed_target for run in runs)


def _has_measured_twin(candidate: CandidateSetting, job: Job) -> bool:
    """Return whether another trainer was measured on the same hardware; predictions do not distinguish
    trainers.
    """
    own = candidate.prior
    return own is not None and any(
        other.quiet
        and other.prior is not None
        and (other.prior.hardware, other.prior.batch_size) == (own.hardware, own.batch_size)
        for other in job.candidates
    )


def _of_criteria(candidate: CandidateSetting, job: Job, criteria: Criteria) -> ExcludedSetting | None:
    if criteria.needs_prices and (candidate.price is None or isinstance(candidate.price, Unpriced)):
        reason = candidate.price.reason if candidate.price else _NO_PRICE
        return _excluded(candidate, reason, "")
    if criteria.needs_quality and assumed_quality(candidate, job) is None:
        return _excluded(candidate, "its quality is not known", "it")
    if criteria.objective.goal == "best" and not _trained_alike(job):
        return _excluded(
            candidate,
            "settings trained on different numbers of samples, so their qualities do not compare",
            EQUAL_SAMPLES,
        )
    return None


def _trained_alike(job: Job) -> bool:
    """Return whether all runs trained on the same number of samples, or to the same target."""
    samples = {run.samples for one in job.candidates for run in one.runs}
    return job.target is not None or not samples or min(samples) >= AS_LONG * max(samples)


def _excluded(
    candidate: CandidateSetting, reason: str, to_measure: str, *, may_be_best: bool = True
) -> ExcludedSetting:
    return ExcludedSetting(
        setting=candidate.label, reason=reason, to_measure=to_measure, may_be_best=may_be_best
    )
