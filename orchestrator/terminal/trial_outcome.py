"""Outcome of an attempt in one line: its rate, its cause of failure, or its substitutes. Pure."""

from orchestrator.analysis.formatting import count, number
from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_progress import TrialStage

_COUNTED = {"timing": "block", "training": "step"}


def long_outcome(record: TrialRecord) -> str:
    """Describe an attempt's outcome for a log: `6,400 samples/s, accuracy 0.970, resumed from step 1,000`."""
    if record.failure is not None:
        return f"{record.failure.kind}: {record.failure.message}"
    if record.provenance == "rehearsed":
        return ", ".join(record.placement.substitutions)
    metrics = collect_metrics(record)
    if "run_seconds" in metrics:
        return f"a run of {metrics['run_seconds']:,.3g} s, no step reported"
    accuracy = f", accuracy {metrics['accuracy']:.3f}" if "accuracy" in metrics else ""
    noisy = ", noisy" if describe_noise(record) else ""
    rate = f"{metrics['steady_samples_per_second']:,.0f} samples/s"
    return f"{rate}{accuracy}{noisy}{_describe_checkpoints(record)}"


def short_outcome(record: TrialRecord, plan: Plan) -> str:
    """Describe it for a row of the live view: `6,400/s ±2.5%, accuracy 0.970, noisy`."""
    if record.failure is not None:
        log = f" · {record.log_path}" if record.log_path else ""
        return f"{record.failure.kind}: {record.failure.message}{log}"
    if record.provenance == "rehearsed":
        return f"rehearsed: {', '.join(record.placement.substitutions)}"
    metrics = collect_metrics(record)
    if "steady_samples_per_second" not in metrics:
        return long_outcome(record)
    low, high = metrics["step_seconds_low"], metrics["step_seconds_high"]
    width = (high - low) / 2 / metrics["step_seconds_median"]
    aim, result = plan.find_aim(record.spec), record.result
    known = aim and result and aim.metric in result.quality
    quality = [f"{aim.metric} {number(result.quality[aim.metric])}"] if aim and result and known else []
    noisy = ["noisy"] if describe_noise(record) else []
    rate = f"{count(round(metrics['steady_samples_per_second']))}/s ±{width:.1%}"
    return ", ".join([rate, *quality, *noisy]) + _describe_checkpoints(record)


def stage_words(stage: TrialStage | None) -> str:
    """Format `timing block 7 of 15`, and `running` where the stage is not known."""
    if stage is None:
        return "running"
    unit = _COUNTED.get(stage.name)
    return f"{stage.name} {unit} {stage.done:,} of {stage.most:,}" if unit and stage.most else stage.name


def _describe_checkpoints(record: TrialRecord) -> str:
    """Describe the checkpoint that an attempt resumed from, and unusable ones."""
    result = record.result
    assert result is not None, "it was measured"
    resumed = [f"resumed from step {result.resumed_from_step:,}"] if result.resumed_from_step else []
    return "".join(f", {note}" for note in (*resumed, *result.checkpoint_notes))
