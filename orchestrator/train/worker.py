"""One worker process of a trial, from its job to its report."""

import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.core import codec
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.core.target import Target
from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_progress import TrialProgress, TrialStage
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.accelerator_versions import accelerator_versions
from orchestrator.train.checkpoints.format import Checkpoint
from orchestrator.train.checkpoints.worker_store import WorkerCheckpointer
from orchestrator.train.environment import framework_versions, telling
from orchestrator.train.failures import classify_kind, format_cause
from orchestrator.train.measurement import calibration, loop
from orchestrator.train.measurement.core_waits import read_core_waits
from orchestrator.train.measurement.counters import Meter, build_meter, no_meter
from orchestrator.train.measurement.target import TargetEvaluator
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.process.channel import Channel
from orchestrator.train.process.signals import die_with_parent
from orchestrator.train.rank_result import RankResult
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, TrainingData, WorkerJob
from orchestrator.train.trainers.script.run_times import build_times
from orchestrator.train.trainers.script.trainer import OwnData, ScriptTrainer
from orchestrator.train.validation.weight_changes import Digests, find_unmoved, hash_arrays, unmoved_in_job
from workloads.data import batches
from workloads.flops import train_step_flops
from workloads.lines import find_place
from workloads.native.batches import job_batches
from workloads.registry import workload
from workloads.spec import NativeSpec, ScriptSpec, Workload
from workloads.traffic import train_step_bytes

_REHEARSED_SAMPLES = 64  # held-out samples that a rehearsal evaluates: enough for the code path

logger = logging.getLogger(__name__)


def main(connection: socket.socket) -> int:
    """Receive a job, train and report; return the exit code. An error is sent, and its traceback logged."""
    channel = Channel(connection)
    job = codec.from_plain(WorkerJob, channel.receive())
    os.environ.update(job.variables)
    try:
        report = _build_report(job, channel)
    except BaseException as error:
        logger.exception("rank %d of trial failed", job.rank)
        place = find_place(error, folder=job.origin.folder) if job.origin and job.origin.folder else ""
        message = f"{place}{format_cause(error)}"
        channel.send({"event": "failed", "kind": classify_kind(error), "message": message})
        return 1
    channel.send({"event": "report", "report": codec.to_plain(report)})
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadyWorker:
    """Worker that is ready to train: its trainer has the data and the initial weights.

    Attributes:
        resumed: checkpoint that training continues from.
        initial: digests of the initial weights.
        setup_seconds: time from the start of the set-up to the end of the trainer's.
    """

    job: WorkerJob
    channel: Channel
    info: TrainerInfo
    trainer: Trainer
    spec: Workload
    data: TrainingData
    checkpoints: WorkerCheckpointer
    resumed: Checkpoint | None
    timing: TimingSpec
    steps: int
    initial: Digests
    setup_seconds: float

    def meet(self, vote: bool) -> bool:
        """Wait for every rank, as `_meet`."""
        return _meet(self.channel, vote)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrainedWorker:
    """Measurements after the last step; `RankResult` documents the fields."""

    quality: Mapping[str, float]
    evaluation_seconds: float
    state: Mapping[str, Any]
    device: DeviceFacts
    samples: int
    exchange_seconds: tuple[tuple[float, float], ...]
    product_seconds: tuple[float, ...]
    pipeline_rate: float | None
    peak_host_bytes: int
    unchecked: tuple[str, ...]
    read_files: Mapping[str, str]
    written_files: tuple[str, ...]


def _build_report(job: WorkerJob, channel: Channel) -> RankResult:
    worker = _set_up(job, channel)
    channel.send({"event": "training"})
    times = _train(worker)
    return _report(worker, times, _measure_trained(worker, times))


def _set_up(job: WorkerJob, channel: Channel) -> _ReadyWorker:
    started = time.perf_counter()
    info = trainer_info(job.trial.trainer)
    trainer = load_trainer(info, native=isinstance(job.native, NativeSpec), shards=job.shards)
    spec = job.native or workload(job.trial.workload, job.trial.workload_options, origin=job.origin)
    data = _find_data(job, spec)
    checkpoints = WorkerCheckpointer(
        job, channel, packages=framework_versions(info.packages), meet=lambda vote: _meet(channel, vote)
    )
    resumed = checkpoints.newest()
    timing = _build_timing(job)
    steps = len(spec.phases) - 1 + timing.least_steps if job.rehearsal else job.trial.steps
    first = resumed.progress.step if resumed else 0
    data.start(rank=job.rank, world_size=job.world_size, first=first, last=steps - 1)
    trainer.setup(spec, job, data)
    initial = hash_arrays(trainer.state())
    setup_seconds = time.perf_counter() - started
    if resumed:
        trainer.samples = resumed.progress.samples
    return _ReadyWorker(
        job=job,
        channel=channel,
        info=info,
        trainer=trainer,
        spec=spec,
        data=data,
        checkpoints=checkpoints,
        resumed=resumed,
        timing=timing,
        steps=steps,
        initial=initial,
        setup_seconds=setup_seconds,
    )


def _find_data(job: WorkerJob, spec: Workload) -> TrainingData:
    if isinstance(spec, ScriptSpec):
        return OwnData()
    if isinstance(spec, NativeSpec):
        return _build_native_data(job, spec)
    return batches.load(
        Path(job.data_path),
        data=spec.data,
        global_batch_size=job.trial.global_batch_size,
        seed=job.trial.seed,
        noise=spec.noise,
    )


def _build_native_data(job: WorkerJob, spec: NativeSpec) -> TrainingData:
    assert job.origin is not None, "native jobs lie in a user's folder"
    [framework] = spec.costs
    data: TrainingData = job_batches(
        framework,
        job.origin,
        job.trial.workload_options,
        global_batch_size=job.trial.global_batch_size,
        seed=job.trial.seed,
        pins=job.kind == "gpu",
        passes=job.passes,
    )
    return data


def _build_timing(job: WorkerJob) -> TimingSpec:
    """Return the protocol of this process, which is that of all ranks.

    Least seconds are for accelerators: their clocks ramp up and their steps are short. A training to a target
    is evaluated after fixed numbers of steps, so that its warm-up and blocks are in steps too.
    """
    if job.rehearsal:
        return loop.REHEARSAL
    has_accelerator = job.kind != "cpu" or job.mixes_kinds
    timing = job.trial.timing
    return timing if has_accelerator and timing.target is None else timing.without_seconds()


def _train(worker: _ReadyWorker) -> loop.LoopTimes:
    """Measure the steps of the training, or the whole run of a script that reports none."""
    load = os.getloadavg()[0]
    script = worker.trainer if isinstance(worker.trainer, ScriptTrainer) else None
    if script and (whole_run := script.whole_run()) is not None:
        return build_times(whole_run, load_average=(load, os.getloadavg()[0]))
    last_step = worker.steps - worker.timing.enough_steps
    with worker.checkpoints.keeper(worker.trainer, last_step=last_step) as keeper:
        return loop.run(
            worker.trainer,
            worker.spec.phases,
            worker.timing,
            steps=worker.steps,
            meet=worker.meet,
            clock=script.clock if script else time.perf_counter,
            cpu_clock=script.cpu_clock if script else time.process_time,
            core_waits=script.core_waits if script else read_core_waits,
            meter=_meter(worker.job),
            target_evaluator=_target_evaluator(worker),
            keeper=keeper,
            resumed=worker.resumed,
            on_progress=partial(_send_progress, worker) if worker.job.reports_progress else None,
            on_stage=partial(_send_stage, worker),
        )


def _measure_trained(worker: _ReadyWorker, times: loop.LoopTimes) -> _TrainedWorker:
    trainer, job, data = worker.trainer, worker.job, worker.data
    _send_stage(worker, TrialStage(name="evaluating"))
    quality, evaluation_seconds = _evaluate(trainer, limit=_REHEARSED_SAMPLES if job.rehearsal else None)
    state = trainer.state()
    _require_finite(state)
    device, samples = trainer.device_facts(), trainer.samples
    exchange_seconds = _compare_exchange(worker, times) if data.staged else ()
    pipeline_rate = None if job.rehearsal else data.measure_rate()
    data.close()
    peak_host_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    unchecked: tuple[str, ...] = ()
    if isinstance(trainer, ScriptTrainer):
        peak_host_bytes, unchecked = trainer.peak_host_bytes, trainer.unchecked
    elif isinstance(worker.spec, NativeSpec):
        unchecked = worker.spec.unchecked
    product_seconds: tuple[float, ...] = ()
    if calibration.is_wanted(job):
        product_seconds = calibration.measure_matmul_peak(trainer, meet=worker.meet, clock=time.perf_counter)
    trainer.close()
    seen_files = trainer.seen_files if isinstance(trainer, ScriptTrainer) else None
    return _TrainedWorker(
        quality=quality,
        evaluation_seconds=evaluation_seconds,
        state=state,
        device=device,
        samples=samples,
        exchange_seconds=exchange_seconds,
        product_seconds=product_seconds,
        pipeline_rate=pipeline_rate,
        peak_host_bytes=peak_host_bytes,
        unchecked=unchecked,
        read_files=seen_files.hash() if seen_files else {},
        written_files=tuple(seen_files.written) if seen_files else (),
    )


def _report(worker: _ReadyWorker, times: loop.LoopTimes, trained: _TrainedWorker) -> RankResult:
    job, spec, data = worker.job, worker.spec, worker.data
    batch_size, value_bytes = job.trial.global_batch_size, PRECISIONS[job.precision].value_bytes
    return RankResult(
        setup_seconds=worker.setup_seconds,
        times=times,
        samples=trained.samples,
        train_samples=data.num_train_samples,
        tokens_per_sample=spec.tokens_per_sample,
        unchecked=trained.unchecked,
        read_files=trained.read_files,
        written_files=trained.written_files,
        quality=trained.quality,
        held_out_samples=data.num_held_out if trained.quality and not job.rehearsal else None,
        evaluation_seconds=trained.evaluation_seconds,
        flops_per_step=train_step_flops(spec, batch_size),
        bytes_per_step=train_step_bytes(spec, batch_size, value_bytes=value_bytes),
        data_wait_seconds=data.wait_seconds,
        pipeline_samples_per_second=trained.pipeline_rate,
        peak_host_bytes=trained.peak_host_bytes,
        exchange_seconds=trained.exchange_seconds,
        product_seconds=trained.product_seconds,
        unmoved=_unmoved(worker, hash_arrays(trained.state)),
        device=trained.device,
        versions={
            **framework_versions(worker.info.packages),
            **accelerator_versions(job.kind, worker.info.packages),
            **telling(os.environ),
        },
        counters=job.counters,
        checkpoint_notes=tuple(worker.checkpoints.notes),
    )


def _unmoved(worker: _ReadyWorker, trained: Digests) -> tuple[str, ...]:
    """Return the trained networks with weights that have not changed at all."""
    if isinstance(worker.spec, ScriptSpec):
        return ()
    if isinstance(worker.spec, NativeSpec):
        return unmoved_in_job(worker.initial, trained)
    return find_unmoved(worker.spec.phases, worker.initial, trained)


def _target_evaluator(worker: _ReadyWorker) -> TargetEvaluator | None:
    """Build the evaluator of the trial's target, if it has one; rank 0 decides."""
    timing, quality, resumed = worker.timing, worker.spec.quality, worker.resumed
    if timing.target is None:
        return None
    assert timing.target != "workload", "a trial's target is a number"
    assert quality is not None, "planning refuses a target without a metric"
    return TargetEvaluator(
        Target(metric=quality.metric, value=timing.target, higher_is_better=quality.higher_is_better),
        every_steps=timing.evaluate_every_steps,
        evaluate=lambda: worker.trainer.evaluate(None),
        decides=worker.job.rank == 0,
        meet=worker.meet,
        clock=time.perf_counter,
        curve=resumed.progress.evaluations if resumed else (),
    )


def _send_progress(worker: _ReadyWorker, progress: TrialProgress) -> None:
    """Send the progress of the first rank; every rank waits until the supervisor has received it."""
    if worker.job.rank == 0:
        worker.channel.send({"event": "progress", "progress": codec.to_plain(progress)})
    worker.meet(True)


def _send_stage(worker: _ReadyWorker, stage: TrialStage) -> None:
    """Send the stage of the first rank. Nothing waits for it, so it costs one write to a socket."""
    if worker.job.rank == 0:
        worker.channel.send({"event": "stage", "stage": codec.to_plain(stage)})


def _meet(channel: Channel, vote: bool) -> bool:
    """Wait until the supervisor has a vote of every rank; return whether all voted yes."""
    channel.send({"event": "meet", "vote": vote})
    return bool(channel.receive()["all"])


def _meter(job: WorkerJob) -> Meter:
    """Build the energy meter of a rank; a script, and a trial with a target, may evaluate between blocks."""
    only_trains = job.trial.timing.target is None and not isinstance(job.native, ScriptSpec)
    reads = only_trains and job.counters and not job.rehearsal
    return build_meter(job.kind, counters=job.counters) if reads else no_meter


def _compare_exchange(worker: _ReadyWorker, times: loop.LoopTimes) -> tuple[tuple[float, float], ...]:
    """Measure the cost of the sum over the processes, unless this is a rehearsal."""
    if worker.job.rehearsal:
        return ()
    return loop.compare_exchange(
        worker.trainer,
        steps_per_block=times.steps_per_block,
        taken=times.steps,
        meet=worker.meet,
        clock=time.perf_counter,
    )


def _require_finite(state: Mapping[str, Any]) -> None:
    """Raise TrialError, `diverged`, for weights that are not numbers: held-out data need not show them."""
    for name, array in state.items():
        if not np.isfinite(array).all():
            raise TrialError("diverged", f"the weights {name} are not all finite after the last step")


def _evaluate(trainer: Trainer, *, limit: int | None) -> tuple[dict[str, float], float]:
    start = time.perf_counter()
    quality = dict(trainer.evaluate(limit))
    return quality, time.perf_counter() - start


if __name__ == "__main__":  # python -m orchestrator.train.worker DESCRIPTOR SERVER_PID
    die_with_parent(int(sys.argv[2]))
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
