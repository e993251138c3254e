"""Records of trials -> the measured settings of jobs. Seeds and repeats are runs of one setting. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.measurements.setting import build_setting, setting_of_job
from orchestrator.analysis.metrics.metric import find_training_step, mean_step_seconds
from orchestrator.analysis.recommendation.model.candidate import PrunedRun, Run
from orchestrator.core.errors import FailureKind
from orchestrator.core.placement import Aim
from orchestrator.core.result import TrainResult, TrialRecord, environment_key
from orchestrator.core.trial_progress import Evaluation
from orchestrator.core.trial_spec import TrialSpec

FATAL: tuple[FailureKind, ...] = ("diverged", "oom")
"""Failures that show that a setting cannot train its job."""

JobKey = tuple[str, str, int, str, float | None]
"""Workload, its options and version, data, target: what is trained, however."""


def build_job_key(spec: TrialSpec) -> JobKey:
    """Name the job that a trial is a setting of."""
    setting = build_setting(spec)
    target = spec.timing.target
    return (
        setting.workload,
        setting.workload_options,
        setting.workload_version,
        setting.data,
        None if target is None or isinstance(target, str) else float(target),
    )


def is_run(record: TrialRecord) -> bool:
    """Return whether a record trained on the requested device, in steps that were measured."""
    has_steps = record.result is not None and not record.result.run_seconds
    return record.provenance == "measured" and has_steps and record.placement.trains


def is_failed_run(record: TrialRecord) -> bool:
    """Return whether a training failed on the device that was asked for; a pruned one did not fail."""
    has_failed = record.failure is not None and not record.is_pruned
    return record.provenance == "measured" and has_failed and record.placement.trains


def is_fatal(record: TrialRecord) -> bool:
    """Return whether the failure shows that the setting cannot train its job."""
    return record.failure is not None and record.failure.kind in FATAL


def read_pruned_run(record: TrialRecord) -> PrunedRun | None:
    """Read the observed steps of a pruned trial from its record; None: it was not pruned."""
    pruning = record.pruning
    if pruning is None or not record.is_pruned:
        return None
    return PrunedRun(
        question=pruning.question,
        why=pruning.why,
        step_seconds=min(pruning.shown.step_seconds, default=None),
        trial_seconds=record.seconds,
        curve=_points(pruning.shown.curve),
    )


def _points(curve: Iterable[Evaluation]) -> tuple[tuple[float, float], ...]:
    return tuple((one.training_seconds, one.quality) for one in curve)


def read_run(record: TrialRecord, aim: Aim | None) -> Run | None:
    """Read from a record the times from which a longer training is estimated; None: nothing was timed."""
    result = record.result
    if result is None:
        return None
    steady = find_training_step(result)
    step = steady.median if steady else mean_step_seconds(result)  # the mean has all steps but the first
    if not step:
        return None
    quality = result.quality.get(aim.metric) if aim else None
    pursuit = result.pursuit
    reached = pursuit.reached if pursuit else None
    to_target, one_checkpoint = None, _checkpoint_seconds(result)
    # without a quality nothing was evaluated: an empty call takes microseconds
    evaluation_seconds = result.evaluation_seconds if result.quality else 0.0
    if reached and pursuit and not result.resumed_from_step:
        to_target = result.launch_seconds + reached.training_seconds + pursuit.evaluation_seconds
    return Run(
        fixed_seconds=result.launch_seconds + max(0.0, result.first_step_seconds - step) + evaluation_seconds,
        last_evaluation_seconds=evaluation_seconds,
        step_seconds=step,
        samples=result.samples,
        missed_target=pursuit is not None and reached is None,
        curve=_points(pursuit.curve) if pursuit else (),
        seconds_to_target=to_target,
        samples_to_target=reached.steps * record.spec.global_batch_size if reached else None,
        quality=quality if quality is not None and math.isfinite(quality) else None,
        held_out_samples=result.held_out_samples,
        seed=record.spec.seed,
        trial_seconds=record.seconds,
        is_noisy=describe_noise(record) != "",
        launch_seconds=result.launch_seconds,
        evaluation_seconds=pursuit.evaluation_seconds if pursuit else 0.0,
        is_resumed=result.resumed_from_step > 0,
        checkpoint_seconds=one_checkpoint,
        checkpoint_share=result.checkpoint_seconds / result.training_seconds if one_checkpoint else 0.0,
    )


def _checkpoint_seconds(result: TrainResult) -> float | None:
    """Return the mean time of the checkpoints that were written; None: none was, or one was read as well."""
    if not result.num_checkpoints or result.resumed_from_step:
        return None
    return result.checkpoint_seconds / result.num_checkpoints


def fatal_failures(failed: Sequence[TrialRecord], num_trials: int) -> str:
    """Name failures that exclude a setting: `diverged in 1 of 3 trials`; empty: there are none."""
    kinds = Counter(record.failure.kind for record in failed if record.failure)
    counts = [f"{kind} in {kinds[kind]:,} of {num_trials:,} trials" for kind in FATAL if kinds[kind]]
    return ", ".join(counts)


def grouped(records: Iterable[TrialRecord]) -> dict[Hashable, list[TrialRecord]]:
    """Group runs by their setting: with other versions or variables it is another one."""
    groups: dict[Hashable, list[TrialRecord]] = defaultdict(list)
    for record in records:
        groups[setting_of_job(record.spec), environment_key(record)].append(record)
    return groups
