"""The numbers of an attempt in tables, MLflow and `docs/explanation/metrics.md`: one table of them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from orchestrator.analysis.metrics.cost import COSTS, compute_costs, find_reached
from orchestrator.analysis.metrics.metric import Metric, find_step_seconds, find_training_step, has_phases
from orchestrator.analysis.metrics.utilisation import (
    calibrated_flops_per_second,
    communication_share,
    energy_bound,
    joules,
    joules_per_sample,
    mfu,
    mfu_calibrated,
    roofline_fraction,
)
from orchestrator.core.result import TrainResult, TrialRecord
from orchestrator.core.trial_spec import AXES

_IN_A_REHEARSAL = ("final_loss",)
_OF_A_RUN = ("run_seconds", "launch_seconds", "cpu_seconds", "peak_host_bytes")
_IN_PLACE_OF_ALL = ("standin:", "synthetic:")  # data that take the place of a job's full training set
_CURVES = ("loss",)  # what MLflow has beside the metrics of an attempt


def collect_metrics(record: TrialRecord) -> dict[str, float]:
    """Return the named numbers of one attempt, its quality last; numbers that could mislead a comparison are
    left out.

    A rehearsal has only the loss that it ended with, and a failure what it cost. A script that reported no
    step has no number of steps.
    """
    result = record.result
    if result is None:
        return compute_costs(record)
    samples = _epoch_samples(record, result)
    if samples != result.train_samples:  # a copy of a result takes as long as its metrics
        result = replace(result, train_samples=samples)
    keys = _list_keys(record, result)
    values = {key: METRICS[key].of(record.spec.global_batch_size, result) for key in keys}
    return {
        **{key: value for key, value in values.items() if value is not None},
        **compute_costs(record, samples_per_second=values.get("steady_samples_per_second")),
        **({**_find_phases(result), **_find_quality(result)} if record.provenance == "measured" else {}),
    }


def _epoch_samples(record: TrialRecord, result: TrainResult) -> int | None:
    """Count the samples of one epoch of the job: those of a smaller set that took its place are none."""
    if record.spec.workload == "script":
        return None  # earlier records have the samples of its whole training
    if record.epoch_samples is not None:
        return record.epoch_samples
    return None if record.spec.data.startswith(_IN_PLACE_OF_ALL) else result.train_samples


def _list_keys(record: TrialRecord, result: TrainResult) -> tuple[str, ...]:
    if record.provenance == "rehearsed":
        return _IN_A_REHEARSAL
    return _OF_A_RUN if result.run_seconds else tuple(METRICS)


def _find_phases(result: TrainResult) -> dict[str, float]:
    """Return the seconds of the steps of each phase, where there are several."""
    if not has_phases(result):
        return {}
    return {f"phase_seconds.{name}": seconds for name, seconds in result.phase_seconds.items()}


def _find_quality(result: TrainResult) -> dict[str, float]:
    """Return the qualities of a workload; a name that a number or a parameter has gets a prefix."""
    taken = _taken_names()
    return {f"quality.{name}" if name in taken else name: value for name, value in result.quality.items()}


@cache
def _taken_names() -> frozenset[str]:
    return frozenset({*METRICS, *COSTS, *_CURVES, *AXES})


def _samples_per_second(batch: int, result: TrainResult) -> float | None:
    step = find_training_step(result)
    return batch / step.median if step else None


def _tokens_per_second(batch: int, result: TrainResult) -> float | None:
    rate = _samples_per_second(batch, result)
    return rate * result.tokens_per_sample if rate and result.tokens_per_sample else None


def _last_phase_step_seconds(_batch: int, result: TrainResult) -> float | None:
    timed = find_step_seconds(result) if has_phases(result) else None
    return timed.median if timed else None


def _epoch_seconds(batch: int, result: TrainResult) -> float | None:
    rate = _samples_per_second(batch, result)
    return result.train_samples / rate if result.train_samples and rate else None


def _peak_device_bytes(_batch: int, result: TrainResult) -> float | None:
    peaks = [device.peak_memory_bytes for device in result.devices if device.peak_memory_bytes is not None]
    return max(peaks, default=None)


_METRICS: tuple[Metric[[int, TrainResult]], ...] = (
    Metric(
        key="steady_samples_per_second",
        unit="1/s",
        meaning="samples of all replicas together: global batch over the median of a step",
        of=_samples_per_second,
        header="samples/s",
    ),
    Metric(
        key="steady_tokens_per_second",
        unit="1/s",
        meaning="the same in tokens of text, padding left out: `steady_samples_per_second` times the mean "
        "tokens of a sample; absent where the workload does not say them",
        of=_tokens_per_second,
    ),
    Metric(
        key="step_seconds_median",
        unit="s",
        meaning="one optimizer step in the steady state, first step and warm-up left out: median over timed "
        "blocks of (slowest rank's block / steps per block); of a training in phases, whose last one alone "
        "is in blocks, the mean of all steps after the first",
        of=lambda _batch, result: step.median if (step := find_training_step(result)) else None,
        header="step ms",
    ),
    Metric(
        key="step_seconds_low",
        unit="s",
        meaning="lower end of the interval of that median over the blocks of this one trial",
        of=lambda _batch, result: step.low if (step := find_training_step(result)) else None,
    ),
    Metric(
        key="step_seconds_high",
        unit="s",
        meaning="upper end of that interval",
        of=lambda _batch, result: step.high if (step := find_training_step(result)) else None,
    ),
    Metric(
        key="last_phase_step_seconds",
        unit="s",
        meaning="of a training in phases one step of the last one: the median over timed blocks, which "
        "`mfu` and `roofline_fraction` are made of; absent where there is one phase",
        of=_last_phase_step_seconds,
    ),
    Metric(
        key="epoch_seconds",
        unit="s",
        meaning="what one epoch of the job would take in the steady state, evaluation left out: samples of "
        "its full training set, also where a stand-in takes its place, over `steady_samples_per_second`; "
        "absent where the data set declares none",
        of=_epoch_seconds,
        header="epoch s",
    ),
    Metric(
        key="run_seconds",
        unit="s",
        meaning="a script that reported no step, from the start of its command to its end with exit code 0; "
        "slowest rank; absent where steps were measured",
        of=lambda _batch, result: max(result.run_seconds, default=None),
        header="run s",
    ),
    Metric(
        key="launch_seconds",
        unit="s",
        meaning="what a trial waits for before it can train, on the supervisor's monotonic clock: from the "
        "request for workers until the last of them is set up; contains their set-up",
        of=lambda _batch, result: result.launch_seconds,
    ),
    Metric(
        key="setup_seconds",
        unit="s",
        meaning="from a worker's first line to its first step, slowest rank: framework, rendezvous, data, "
        "model",
        of=lambda _batch, result: result.setup_seconds,
        header="set-up s",
    ),
    Metric(
        key="first_step_seconds",
        unit="s",
        meaning="the first optimizer step alone, which traces and compiles; slowest rank",
        of=lambda _batch, result: result.first_step_seconds,
        header="first step s",
    ),
    Metric(
        key="warmup_seconds",
        unit="s",
        meaning="all steps between the first and the first timed block; slowest rank",
        of=lambda _batch, result: result.warmup_seconds,
    ),
    Metric(
        key="training_seconds",
        unit="s",
        meaning="from the first step to the last, loss readings included and evaluations on the way left "
        "out; slowest rank; of a resumed timing this attempt's alone",
        of=lambda _batch, result: result.training_seconds,
    ),
    Metric(
        key="resumed_from_step",
        unit="1",
        meaning="optimizer steps that earlier, lost attempts had taken up to the checkpoint that this one "
        "went on from; 0: the timing is whole",
        of=lambda _batch, result: result.resumed_from_step,
    ),
    Metric(
        key="resumed_seconds",
        unit="s",
        meaning="training that those attempts did up to that checkpoint, as they measured it; 0: the timing "
        "is whole",
        of=lambda _batch, result: result.resumed_seconds,
    ),
    Metric(
        key="checkpoint_seconds",
        unit="s",
        meaning="making checkpoints in this attempt, and putting back the one that it went on from; in no "
        "other time; slowest rank",
        of=lambda _batch, result: result.checkpoint_seconds,
    ),
    Metric(
        key="evaluation_seconds",
        unit="s",
        meaning="the evaluation on held-out data, after the last step; slowest rank",
        of=lambda _batch, result: result.evaluation_seconds,
    ),
    Metric(
        key="seconds_to_target",
        unit="s",
        meaning="training until an evaluation on held-out data first found the target reached: from the "
        "start of the first step, which compiles, with all evaluations left out; slowest rank; of a resumed "
        "timing the sum over its attempts up to their checkpoints; absent where there was no target or it "
        "was not reached",
        of=lambda _batch, result: reached.training_seconds if (reached := find_reached(result)) else None,
    ),
    Metric(
        key="steps_to_target",
        unit="1",
        meaning="optimizer steps until that evaluation",
        of=lambda _batch, result: reached.steps if (reached := find_reached(result)) else None,
    ),
    Metric(
        key="best_quality",
        unit="1",
        meaning="best value of the target's metric that an evaluation on the way to it found; absent where "
        "there was no target",
        of=lambda _batch, result: result.pursuit.best_quality if result.pursuit else None,
    ),
    Metric(
        key="pursuit_evaluation_seconds",
        unit="s",
        meaning="all evaluations on the way to a target together, which no training time contains; slowest "
        "rank; absent where there was no target",
        of=lambda _batch, result: result.pursuit.evaluation_seconds if result.pursuit else None,
    ),
    Metric(
        key="final_loss",
        unit="1",
        meaning="training loss of the last step over its global batch, read outside the timed part",
        of=lambda _batch, result: result.losses[-1][1] if result.losses else None,
        header="final loss",
    ),
    Metric(
        key="flops_per_step",
        unit="1",
        meaning="floating-point operations of one optimizer step, all replicas together; analytic: "
        "`workloads/flops.py`",
        of=lambda _batch, result: result.flops_per_step,
    ),
    Metric(
        key="bytes_per_step",
        unit="B",
        meaning="memory traffic of one optimizer step, all replicas together, if nothing is fused or "
        "cached; analytic: `workloads/traffic.py`",
        of=lambda _batch, result: result.bytes_per_step,
    ),
    Metric(
        key="mfu",
        unit="1",
        meaning="model FLOPs utilisation: `flops_per_step` over the median of a step, over what all devices "
        "of the trial could do in its precision by their maker's word; absent where that is unknown, and so "
        "for CPUs",
        of=mfu,
    ),
    Metric(
        key="mfu_calibrated",
        unit="1",
        meaning="the same of a CPU, over `calibrated_flops_per_second` and no published peak; absent unless "
        "`measure.calibrate=true`, and where training was faster than that: the calibration was disturbed",
        of=mfu_calibrated,
    ),
    Metric(
        key="calibrated_flops_per_second",
        unit="1/s",
        meaning="most that the host's CPU was seen to do in the trial's precision: the fastest of eight "
        "products of two 2048 x 2048 matrices in the trial's own processes, all of them at once, after all "
        "else; absent unless `measure.calibrate=true`",
        of=calibrated_flops_per_second,
    ),
    Metric(
        key="roofline_fraction",
        unit="1",
        meaning="the longer of `flops_per_step` at the devices' peak and `bytes_per_step` at their memory's "
        "peak, over the median of a step; above 1 where fusion or caches saved traffic",
        of=roofline_fraction,
    ),
    Metric(
        key="communication_share",
        unit="1",
        meaning="part of a step that is gone when the sum of the gradients over the processes is left out: "
        "median over pairs of blocks after the evaluation, of the slowest rank, waiting for slower ranks "
        "included; below 0 by chance where there is next to nothing to leave out; absent where it cannot be "
        "left out",
        of=communication_share,
    ),
    Metric(
        key="data_wait_seconds",
        unit="s",
        meaning="what all steps together waited for the input pipeline; slowest rank; 0 with data in "
        "memory; absent in a script whose loader is not seen",
        of=lambda _batch, result: result.data_wait_seconds,
    ),
    Metric(
        key="pipeline_samples_per_second",
        unit="1/s",
        meaning="samples that the input pipelines of all ranks made in a second in which they were at work; "
        "absent with data in memory",
        of=lambda _batch, result: result.pipeline_samples_per_second,
    ),
    Metric(
        key="cpu_seconds",
        unit="s",
        meaning="CPU time of all worker processes together while blocks were timed; of a script that "
        "reported no step, of its whole run",
        of=lambda _batch, result: sum(result.cpu_seconds) or None,
    ),
    Metric(
        key="core_wait_seconds",
        unit="s",
        meaning="what the threads of all worker processes together were ready to run and had no core while "
        "blocks were timed, as the scheduler of Linux counts it; absent where it does not",
        of=lambda _batch, result: (
            sum(map(sum, result.core_wait_seconds)) if result.core_wait_seconds else None
        ),
    ),
    Metric(
        key="load_average",
        unit="1",
        meaning="the host's one-minute load average before the timed blocks or after them, whichever is "
        "higher",
        of=lambda _batch, result: max(result.load_average),
    ),
    Metric(
        key="accelerator_joules",
        unit="J",
        meaning="energy of all accelerators of the trial, on all its hosts, from the first timed block to "
        "the last, loss readings between them included, by the driver's counter (NVML); absent without one",
        of=joules("accelerator"),
    ),
    Metric(
        key="host_joules",
        unit="J",
        meaning="likewise of all processors of its hosts and their memory, whoever used them, by the "
        "processor's counters (RAPL); absent where they cannot be read",
        of=joules("host"),
    ),
    Metric(
        key="accelerator_joules_per_sample",
        unit="J",
        meaning="`accelerator_joules` over the samples of the timed blocks",
        of=joules_per_sample("accelerator"),
        header="J/sample",
    ),
    Metric(
        key="host_joules_per_sample",
        unit="J",
        meaning="`host_joules` over the samples of the timed blocks",
        of=joules_per_sample("host"),
        header="host J/sample",
    ),
    Metric(
        key="energy_bound_joules_tdp",
        unit="J",
        meaning="no measurement: what the trial's accelerators used in the timed blocks at most, if each "
        "drew its maker's thermal design power all the time; hosts left out",
        of=energy_bound,
    ),
    Metric(
        key="peak_host_bytes",
        unit="B",
        meaning="largest resident set of a worker process; of the rank that needed most",
        of=lambda _batch, result: max(result.peak_host_bytes, default=None),
    ),
    Metric(
        key="peak_device_bytes",
        unit="B",
        meaning="most memory that the framework held on an accelerator, of the rank that needed most; "
        "absent where the framework cannot say",
        of=_peak_device_bytes,
    ),
)

METRICS: Mapping[str, Metric[[int, TrainResult]]] = MappingProxyType(
    {metric.key: metric for metric in _METRICS}
)
