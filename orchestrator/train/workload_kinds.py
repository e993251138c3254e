"""Parts of a worker that differ by the kind of workload: source of batches, and the process that trains."""

import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from orchestrator.train.measurement.core_waits import CoreWaits, read_core_waits
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.trainer import Trainer, TrainingData, WorkerJob
from orchestrator.train.trainers.script.trainer import OwnData, ScriptTrainer
from workloads.data import batches
from workloads.native.batches import job_batches
from workloads.spec import NativeSpec, Workload, WorkloadSpec


class TrainingProcess(Protocol):
    """Process that computes the steps: this one, or that of a script."""

    @property
    def peak_host_bytes(self) -> int:
        """Largest resident set so far."""

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Identities that were not seen in it."""

    def clock(self) -> float:
        """Return the seconds by which steps are timed."""

    def cpu_clock(self) -> float:
        """Return the CPU seconds that it has used."""

    def core_waits(self) -> CoreWaits:
        """Read how long its threads have waited for a core."""

    def measure_whole_run(self) -> LoopTimes | None:
        """Return the times of a run that has ended and reported no step; None: it takes steps."""

    def list_files(self) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Return the files that it read, with their hashes, and those that it wrote. Call it at its end."""


class _OwnProcess:
    """This process, in which a framework's trainer computes."""

    unchecked = ()
    clock = staticmethod(time.perf_counter)
    cpu_clock = staticmethod(time.process_time)
    core_waits = staticmethod(read_core_waits)

    @property
    def peak_host_bytes(self) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def measure_whole_run(self) -> None:
        return None

    def list_files(self) -> tuple[Mapping[str, str], tuple[str, ...]]:
        return {}, ()


def find_process(trainer: Trainer) -> TrainingProcess:
    """Return the process that a trainer computes in."""
    return trainer if isinstance(trainer, ScriptTrainer) else _OwnProcess()


def find_data(job: WorkerJob, spec: Workload) -> TrainingData:
    """Return the training data of a worker; they are read at their start."""
    if isinstance(spec, WorkloadSpec):
        return batches.load(
            Path(job.data_path),
            data=spec.data,
            global_batch_size=job.trial.global_batch_size,
            seed=job.trial.seed,
            noise=spec.noise,
        )
    return _build_native_data(job, spec) if isinstance(spec, NativeSpec) else OwnData()


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
