"""Set-up of a worker: from its job to a trainer that has data and initial weights."""

import time
from dataclasses import dataclass

from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.checkpoints.format import Checkpoint
from orchestrator.train.checkpoints.worker_store import WorkerCheckpointer
from orchestrator.train.environment import framework_versions
from orchestrator.train.measurement import loop
from orchestrator.train.process.channel import Channel
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, TrainingData, WorkerJob
from orchestrator.train.validation.weight_changes import Digests, hash_arrays
from orchestrator.train.workload_kinds import TrainingProcess, find_data, find_process
from workloads.registry import workload
from workloads.spec import Workload


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
    data = find_data(job, spec)
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
        process=find_process(trainer),
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
