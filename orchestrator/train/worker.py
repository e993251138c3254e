"""One worker process of a trial, from its job to its report."""

import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.core import codec
from orchestrator.core.errors import TrialError
from orchestrator.core.target import Target
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.checkpoints.format import Checkpoint
from orchestrator.train.checkpoints.worker_store import WorkerCheckpointer
from orchestrator.train.environment import framework_versions, telling
from orchestrator.train.failures import kind_of, line_of
from orchestrator.train.measurement import calibration, loop
from orchestrator.train.measurement.counters import Meter, meter_of, no_meter
from orchestrator.train.measurement.target import TargetEvaluator
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.process.channel import Channel
from orchestrator.train.process.signals import die_with_parent
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from orchestrator.train.validation.weight_changes import digests_of, unmoved_of
from orchestrator.train.worker_report import WorkerReport
from workloads.data import batches
from workloads.flops import train_step_flops
from workloads.lines import place_of
from workloads.registry import workload
from workloads.spec import Quality
from workloads.traffic import train_step_bytes

_REHEARSED_SAMPLES = 64  # held-out samples that a rehearsal evaluates: enough for the code path

logger = logging.getLogger(__name__)


def main(connection: socket.socket) -> int:
    """Receive a job, train, report: the exit code. An error is said, and its traceback logged."""
    channel = Channel(connection)
    job = codec.from_plain(WorkerJob, channel.receive())
    os.environ.update(job.variables)
    try:
        report = _report_of(job, channel)
    except BaseException as error:
        logger.exception("rank %d of trial failed", job.rank)
        place = place_of(error, folder=job.origin.folder) if job.origin and job.origin.folder else ""
        told = f"{place}{line_of(error)}"
        channel.send({"event": "failed", "kind": kind_of(error), "message": told})
        return 1
    channel.send({"event": "report", "report": codec.to_plain(report)})
    return 0


def _report_of(job: WorkerJob, channel: Channel) -> WorkerReport:
    started = time.perf_counter()
    info = trainer_info(job.trial.trainer)
    trainer = load_trainer(info)
    spec = workload(job.trial.workload, job.trial.workload_options, origin=job.origin)
    batch_size = job.trial.global_batch_size
    data = batches.load(
        Path(job.data_path),
        data=spec.data,
        global_batch_size=batch_size,
        seed=job.trial.seed,
        noise=spec.noise,
    )
    checkpoints = WorkerCheckpointer(
        job, channel, packages=framework_versions(info.packages), meet=lambda vote: _meet(channel, vote)
    )
    resumed = checkpoints.newest()
    first_step = resumed.progress.step if resumed else 0
    timing = loop.REHEARSAL if job.rehearsal else job.trial.timing
    steps = len(spec.phases) - 1 + timing.least_steps if job.rehearsal else job.trial.steps
    data.start(rank=job.rank, world_size=job.world_size, first=first_step, last=steps - 1)
    trainer.setup(spec, job, data)
    initial = digests_of(trainer.state())
    setup_seconds = time.perf_counter() - started
    if resumed:
        trainer.samples = resumed.progress.samples
    channel.send({"event": "training"})
    with checkpoints.keeper(trainer, last_step=steps - timing.enough_steps) as keeper:
        times = loop.run(
            trainer,
            spec.phases,
            timing,
            steps=steps,
            meet=lambda vote: _meet(channel, vote),
            clock=time.perf_counter,
            meter=_meter(job),
            target_evaluator=_pursuer(
                job, timing, spec.quality, trainer=trainer, channel=channel, resumed=resumed
            ),
            keeper=keeper,
            resumed=resumed,
        )
    quality, evaluation_seconds = _evaluate(trainer, limit=_REHEARSED_SAMPLES if job.rehearsal else None)
    state = trainer.state()
    _require_finite(state)
    device, samples = trainer.device_facts(), trainer.samples
    exchange_seconds = _compare_exchange(trainer, job, channel, taken=times.steps) if data.staged else ()
    data.close()
    peak_host_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    product_seconds: tuple[float, ...] = ()
    if calibration.is_wanted(job):
        product_seconds = calibration.measure_matmul_peak(
            trainer, meet=lambda vote: _meet(channel, vote), clock=time.perf_counter
        )
    trainer.close()
    return WorkerReport(
        setup_seconds=setup_seconds,
        times=times,
        steps_per_block=timing.steps_per_block,
        samples=samples,
        train_samples=len(data.train),
        quality=quality,
        held_out_samples=data.num_held_out if quality and not job.rehearsal else None,
        evaluation_seconds=evaluation_seconds,
        flops_per_step=train_step_flops(spec, batch_size),
        bytes_per_step=train_step_bytes(spec, batch_size, value_bytes=PRECISIONS[job.precision].value_bytes),
        data_wait_seconds=data.wait_seconds,
        pipeline_samples_per_second=data.samples_per_second,
        peak_host_bytes=peak_host_bytes,
        exchange_seconds=exchange_seconds,
        product_seconds=product_seconds,
        unmoved=unmoved_of(spec.phases, initial, digests_of(state)),
        device=device,
        versions={**framework_versions(info.packages), **telling(os.environ)},
        counters=job.counters,
        checkpoint_notes=tuple(checkpoints.notes),
    )


def _pursuer(
    job: WorkerJob,
    timing: TimingSpec,
    quality: Quality,
    *,
    trainer: Trainer,
    channel: Channel,
    resumed: Checkpoint | None,
) -> TargetEvaluator | None:
    """Build the evaluator of the trial's target, if it has one; rank 0 decides."""
    if timing.target is None:
        return None
    assert timing.target != "workload", "a trial's target is a number"
    return TargetEvaluator(
        Target(metric=quality.metric, value=timing.target, higher_is_better=quality.higher_is_better),
        every_steps=timing.evaluate_every_steps,
        evaluate=lambda: trainer.evaluate(None),
        decides=job.rank == 0,
        meet=lambda vote: _meet(channel, vote),
        clock=time.perf_counter,
        curve=resumed.progress.evaluations if resumed else (),
    )


def _meet(channel: Channel, vote: bool) -> bool:
    """Wait until the supervisor has heard every rank; it answers whether all voted yes."""
    channel.send({"event": "meet", "vote": vote})
    return bool(channel.receive()["all"])


def _meter(job: WorkerJob) -> Meter:
    """Build the energy meter of a rank; with a target, evaluations lie between the timed blocks."""
    reads = job.trial.timing.target is None and job.counters and not job.rehearsal
    return meter_of(job.kind, counters=job.counters) if reads else no_meter


def _compare_exchange(
    trainer: Trainer, job: WorkerJob, channel: Channel, *, taken: int
) -> tuple[tuple[float, float], ...]:
    """Measure the cost of the sum over the processes, unless this is a rehearsal."""
    if job.rehearsal:
        return ()
    return loop.compare_exchange(
        trainer,
        job.trial.timing,
        taken=taken,
        meet=lambda vote: _meet(channel, vote),
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


if __name__ == "__main__":  # started by a nursery: python -m orchestrator.train.worker DESCRIPTOR NURSERY_PID
    die_with_parent(int(sys.argv[2]))
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
