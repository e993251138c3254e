"""Set-up of a worker: from its job to a trainer that has data and initial weights, and its process."""

import time
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.checkpoints.format import Checkpoint
from orchestrator.train.checkpoints.worker_store import WorkerCheckpointer
from orchestrator.train.environment import framework_versions
from orchestrator.train.measurement import loop
from orchestrator.train.process.channel import Channel
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, TrainingData, WorkerJob
from orchestrator.train.training_process import TrainingProcess
from orchestrator.train.validation.weight_changes import Digests, hash_arrays
from workloads.data import batches
from workloads.native.batches import job_batches
from workloads.registry import workload
from workloads.spec import NativeSpec, Workload, WorkloadSpec


def _find_data(job: WorkerJob, spec: Workload) -> TrainingData:
    """Return the training data of a worker; they are read at their start."""
    if isinstance(spec, WorkloadSpec):
        return batches.load(
            Path(job.data_path),
            data=spec.data,
            global_batch_size=job.trial.global_batch_size,
            seed=job.trial.seed,
            noise=spec.noise,
        )
    assert isinstance(spec, NativeSpec), "scripts read their data by themselves"
    return _build_native_data(job, spec)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyWorker:
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
    process: TrainingProcess
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


def set_up(job: WorkerJob, channel: Channel) -> ReadyWorker:
    """Load the trainer, the data and the newest checkpoint; give the trainer its initial weights."""
    started = time.perf_counter()
    info = trainer_info(job.trial.trainer)
    trainer = load_trainer(info, native=bool(job.native and job.native.costs), shards=job.shards > 1)
    spec = job.native or workload(job.trial.workload, job.trial.workload_options, origin=job.origin)
    process = trainer if isinstance(trainer, TrainingProcess) else TrainingProcess()
    data = process.own_data or _find_data(job, spec)
    checkpoints = WorkerCheckpointer(
        job, channel, packages=framework_versions(info.packages), meet=lambda vote: _meet(channel, vote)
    )
    resumed = checkpoints.newest()
    timing = build_timing(job)
    steps = len(spec.phases) - 1 + timing.least_steps if job.rehearsal else job.trial.steps
    first = resumed.progress.step if resumed else 0
    data.start(rank=job.rank, world_size=job.world_size, first=first, last=steps - 1)
    trainer.setup(spec, job, data)
    initial = hash_arrays(trainer.state())
    setup_seconds = time.perf_counter() - started
    if resumed:
        trainer.samples = resumed.progress.samples
    return ReadyWorker(
        job=job,
        channel=channel,
        info=info,
        trainer=trainer,
        process=process,
        spec=spec,
        data=data,
        checkpoints=checkpoints,
        resumed=resumed,
        timing=timing,
        steps=steps,
        initial=initial,
        setup_seconds=setup_seconds,
    )


def build_timing(job: WorkerJob) -> TimingSpec:
    """Return the protocol of this process, which is that of all ranks.

    Least seconds are for accelerators: their clocks ramp up and their steps are short. A training to a target
    is evaluated after fixed numbers of steps, so that its warm-up and blocks are in steps too.
    """
    if job.rehearsal:
        return loop.REHEARSAL
    has_accelerator = job.kind != "cpu" or job.mixes_kinds
    timing = job.trial.timing
    return timing if has_accelerator and timing.target is None else timing.without_seconds()


def _meet(channel: Channel, vote: bool) -> bool:
    """Wait until the supervisor has a vote of every rank; return whether all voted yes."""
    channel.send({"event": "meet", "vote": vote})
    return bool(channel.receive()["all"])
