"""Measurements of a worker after its last step: (trained worker, times of its steps) -> its result."""

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator.core.errors import TrialError
from orchestrator.train.accelerator_versions import accelerator_versions
from orchestrator.train.environment import framework_versions, telling
from orchestrator.train.measurement import calibration, loop
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.rank_result import RankResult
from orchestrator.train.trainer import Trainer
from orchestrator.train.validation.weight_changes import Digests, find_unmoved, hash_arrays
from orchestrator.train.worker_setup import ReadyWorker
from workloads.cost import find_cost

_REHEARSED_SAMPLES = 64  # held-out samples that a rehearsal evaluates: enough for the code path


def measure_rank(worker: ReadyWorker, times: loop.LoopTimes) -> RankResult:
    """Evaluate what was trained, check and benchmark it, and end the trainer."""
    trainer, job, data, process = worker.trainer, worker.job, worker.data, worker.process
    packages = worker.info.packages_in(job.precision)
    quality, evaluation_seconds = _evaluate(trainer, limit=_REHEARSED_SAMPLES if job.rehearsal else None)
    trained = _hash_finite(trainer.state())
    device, samples = trainer.device_facts(), trainer.samples
    exchange_seconds = _compare_exchange(worker, times) if data.staged else ()
    pipeline_rate = None if job.rehearsal else data.measure_rate()
    data.close()
    peak_host_bytes = process.find_peak_host_bytes()  # before the matrices of a calibration
    product_seconds: tuple[float, ...] = ()
    if calibration.is_wanted(job):
        product_seconds = calibration.measure_matmul_peak(trainer, meet=worker.meet, clock=time.perf_counter)
    trainer.close()
    read_files, written_files = process.list_files()
    flops_per_step, bytes_per_step = _count_step(worker)
    return RankResult(
        setup_seconds=worker.setup_seconds,
        times=times,
        samples=samples,
        train_samples=data.num_train_samples,
        tokens_per_sample=worker.spec.tokens_per_sample,
        unchecked=(*worker.spec.unchecked, *process.unchecked),
        read_files=read_files,
        written_files=written_files,
        quality=quality,
        held_out_samples=data.num_held_out if quality and not job.rehearsal else None,
        evaluation_seconds=evaluation_seconds,
        flops_per_step=flops_per_step,
        bytes_per_step=bytes_per_step,
        data_wait_seconds=data.wait_seconds,
        pipeline_samples_per_second=pipeline_rate,
        peak_host_bytes=peak_host_bytes,
        exchange_seconds=exchange_seconds,
        product_seconds=product_seconds,
        unmoved=_find_unmoved(worker, trained),
        device=device,
        versions={
            **framework_versions(packages),
            **accelerator_versions(job.kind, packages),
            **telling(os.environ),
        },
        counters=job.counters,
        checkpoint_notes=tuple(worker.checkpoints.notes),
    )


def _count_step(worker: ReadyWorker) -> tuple[float, float]:
    """Return operations and bytes of a step; 0 for a script, which is not counted."""
    cost, batch_size = find_cost(worker.spec), worker.job.trial.global_batch_size
    if cost is None:
        return 0.0, 0.0
    value_bytes = PRECISIONS[worker.job.precision].value_bytes
    return cost.step_flops(batch_size), cost.step_bytes(batch_size, value_bytes=value_bytes)


def _find_unmoved(worker: ReadyWorker, trained: Digests) -> tuple[str, ...]:
    """Return the trained networks with weights that have not changed at all, bit for bit."""
    if worker.spec.costs:  # a native job
        has_moved = any(digest != trained.get(name) for name, digest in worker.initial.items())
        return () if has_moved else ("training.model",)
    return find_unmoved(worker.spec.phases, worker.initial, trained)


def _compare_exchange(worker: ReadyWorker, times: loop.LoopTimes) -> tuple[tuple[float, float], ...]:
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


def _hash_finite(state: Mapping[str, Any]) -> Digests:
    """Return digests. Raise TrialError, `diverged`, for weights that are not numbers."""
    digests: dict[str, bytes] = {}
    for name, array in state.items():  # each made once: shards are gathered
        if not np.isfinite(array).all():
            raise TrialError("diverged", f"the weights {name} are not all finite after the last step")
        digests |= hash_arrays({name: array})
    return digests


def _evaluate(trainer: Trainer, *, limit: int | None) -> tuple[dict[str, float], float]:
    start = time.perf_counter()
    quality = dict(trainer.evaluate(limit))
    return quality, time.perf_counter() - start
