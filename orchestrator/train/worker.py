"""One worker process of a trial, from its job to its report."""

import logging
import os
import socket
import sys
import time
from functools import partial

from orchestrator.core import codec
from orchestrator.core.trial_progress import Target, TrialProgress, TrialStage
from orchestrator.train.failures import classify_kind, format_cause
from orchestrator.train.measurement import loop
from orchestrator.train.measurement.counters import build_meter, no_meter
from orchestrator.train.measurement.target import TargetEvaluator
from orchestrator.train.process.channel import Channel
from orchestrator.train.process.signals import die_with_parent
from orchestrator.train.rank_measurement import measure_rank
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.worker_setup import ReadyWorker, set_up
from workloads.lines import find_place

logger = logging.getLogger(__name__)


def main(connection: socket.socket) -> int:
    """Receive a job, train and report; return the exit code. An error is sent, and its traceback logged."""
    channel = Channel(connection)
    job = codec.from_plain(WorkerJob, channel.receive())
    os.environ.update(job.variables)
    try:
        worker = set_up(job, channel)
        channel.send({"event": "training"})
        times = _train(worker)
        _send_stage(worker, TrialStage(name="evaluating"))
        report = measure_rank(worker, times)
    except BaseException as error:
        logger.exception("rank %d of trial failed", job.rank)
        place = find_place(error, folder=job.origin.folder) if job.origin and job.origin.folder else ""
        message = f"{place}{format_cause(error)}"
        channel.send({"event": "failed", "kind": classify_kind(error), "message": message})
        return 1
    channel.send({"event": "report", "report": codec.to_plain(report)})
    return 0


def _train(worker: ReadyWorker) -> loop.LoopTimes:
    """Measure the steps of the training, or the whole run of a script that reports none."""
    process = worker.process
    if (whole_run := process.measure_whole_run()) is not None:
        return whole_run
    last_step = worker.steps - worker.timing.enough_steps
    with worker.checkpoints.keeper(worker.trainer, last_step=last_step) as keeper:
        job = worker.job
        # a script, and a trial with a target, may evaluate between blocks
        only_trains = job.trial.timing.target is None and not worker.info.runs_scripts
        reads = only_trains and job.counters and not job.rehearsal
        return loop.time_steps(
            worker.trainer,
            worker.spec.phases,
            worker.timing,
            steps=worker.steps,
            meet=worker.meet,
            clock=process.clock,
            cpu_clock=process.cpu_clock,
            core_waits=process.core_waits,
            meter=build_meter(job.kind, counters=job.counters) if reads else no_meter,
            target_evaluator=_target_evaluator(worker),
            keeper=keeper,
            resumed=worker.resumed,
            on_progress=partial(_send_progress, worker) if worker.job.reports_progress else None,
            on_stage=partial(_send_stage, worker),
        )


def _target_evaluator(worker: ReadyWorker) -> TargetEvaluator | None:
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


def _send_progress(worker: ReadyWorker, progress: TrialProgress) -> None:
    """Send the progress of the first rank; every rank waits until the supervisor has received it."""
    if worker.job.rank == 0:
        worker.channel.send({"event": "progress", "progress": codec.to_plain(progress)})
    worker.meet(True)


def _send_stage(worker: ReadyWorker, stage: TrialStage) -> None:
    """Send the stage of the first rank. Nothing waits for it, so it costs one write to a socket."""
    if worker.job.rank == 0:
        worker.channel.send({"event": "stage", "stage": codec.to_plain(stage)})


if __name__ == "__main__":  # python -m orchestrator.train.worker DESCRIPTOR SERVER_PID
    die_with_parent(int(sys.argv[2]))
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
