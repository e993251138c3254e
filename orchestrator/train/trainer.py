"""The contract between the timed loop and a framework's trainer, and the input of a worker process."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from orchestrator.core.device import DeviceKind
from orchestrator.core.result import DeviceFacts
from orchestrator.core.trial_spec import TrialSpec
from workloads.origins import Origin
from workloads.spec import NativeSpec, Phase, ScriptSpec

LEAST_LOSSES = 2
"""Least readings of a loss that show whether it moved."""

EnergyCounter = Literal["host", "accelerator"]
"""Source of an energy figure: the host's processors and memory, or all accelerators of the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOptions:
    """Location and schedule of a trial's checkpoints, and those left by an earlier attempt.

    Attributes:
        folder: on this host, for new ones; the supervisor takes them from there.
        every_seconds: training time between two checkpoints.
        grace_seconds: time from the notice to the kill.
        found: existing folders on this host, the newest first.
    """

    folder: str
    every_seconds: float
    grace_seconds: float
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJob:
    """Job that a supervisor sends to one worker process of a trial, as JSON.

    Attributes:
        kind: the kind of device that really runs the trial; `cpu` in a rehearsal.
        precision: precision that is set; differs from the trial's only in a rehearsal.
        rehearsal: take two steps and evaluate one batch instead of the whole protocol.
        rank, world_size: this process among the trial's worker processes.
        replicas: data-parallel replicas of the whole trial; a process holds replicas / world_size of them.
        threads: intra-op threads of this process.
        data_path: the data set's file on this host.
        addresses: `host:port` of each rank, for the framework's own rendezvous.
        variables: environment variables, set before the framework is used.
        origin: import location of the workload; None: search for it.
        checkpoint_options: None neither writes nor reads checkpoints.
        mixes_kinds: True if other ranks run on another kind of device.
        counters: energy counters that this process reads, also for other ranks.
        reports_progress: send the progress after every block and evaluation.
        native: description of the native job or the script that is trained; None: a declared workload is.
    """

    trial: TrialSpec
    kind: DeviceKind
    precision: str
    rehearsal: bool
    rank: int
    world_size: int
    replicas: int
    threads: int
    data_path: str
    addresses: tuple[str, ...]
    variables: Mapping[str, str]
    origin: Origin | None = None
    checkpoint_options: CheckpointOptions | None = None
    mixes_kinds: bool = False
    counters: tuple[EnergyCounter, ...] = ()
    reports_progress: bool = False
    native: NativeSpec | ScriptSpec | None = None

    @property
    def passes(self) -> int:
        """Micro batches into which a replica divides its share of a batch."""
        return self.trial.memory_settings.count_passes(self.trial.global_batch_size // self.replicas)

    @property
    def shards(self) -> int:
        """Replicas over which the weights are sharded; 1: each has all of them."""
        return self.trial.memory_settings.count_shards(self.replicas, self.trial.num_hosts)


class TrainingData(Protocol):
    """Training data of a worker, as the loop sees them: `Batches`, or those of a native job."""

    @property
    def staged(self) -> bool:
        """True: all batches are on the device before the first step."""

    @property
    def num_train_samples(self) -> int | None:
        """Number of training samples; None if the data have no length."""

    @property
    def num_held_out(self) -> int | None:
        """Number of held-out samples; None if the data have no length."""

    @property
    def wait_seconds(self) -> float | None:
        """Seconds for which steps waited for batches; None if not known."""

    def measure_rate(self) -> float | None:
        """Return the samples that the input pipeline makes in a second; None if not known.

        To be called after the training, before `close`.
        """

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:
        """Make the batches of steps `first` to `last`."""

    def close(self) -> None:
        """End what makes batches."""


class Trainer(Protocol):
    """One framework's parallel training. It times no step: one loop holds the clock for all.

    A network's loss in a step is the mean over the global batch, and its gradient that of the mean, so that
    N workers on a global batch give the weights of one worker on it.
    """

    samples: int
    """Samples that this process trained on so far, counted from the batches really fed to it.

    Where it went on from a checkpoint, on top of those that the checkpoint knows of.
    """

    def setup(self, workload: Any, job: WorkerJob, batches: Any) -> None:
        """Rendezvous, networks, and this process's training batches on the device, if they are staged.

        Args:
            workload, batches: WorkloadSpec and Batches; of a native job, NativeSpec and the job's batches.
        """

    def begin(self, phase: Phase) -> None:
        """Train what this phase trains from here on, with optimizers that have seen nothing yet."""

    def rebalance(self) -> None:
        """Have the ranks share the work out anew, if the last steps ask for it.

        To be called on every rank before a timed part, with an idle device: a timed part has one division.
        """

    def step(self, index: int) -> None:
        """Take optimizer step `index` on its training batch; may return before the device has finished."""

    def synchronize(self) -> None:
        """Return when the device has finished everything asked of it."""

    def losses(self) -> Mapping[str, float]:
        """Loss of each trained network in the last step, over the global batch; waits for the device."""

    def without_exchange(self) -> AbstractContextManager[None] | None:
        """Within it, steps leave out the sum of the gradients over the processes, and nothing else.

        None where that cannot be left out, or is not there. Afterwards the weights are of no use.
        """

    def compile_count(self) -> int | None:
        """Compilations so far; None where nothing is compiled."""

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Quality on held-out data, on its first `limit` samples or on all; the same on every rank."""

    def device_facts(self) -> DeviceFacts:
        """Return the device and precision that this process really used, read from the framework."""

    def matmul_benchmark(self, size: int) -> Callable[[], Any] | None:
        """Make ready to multiply two matrices [size, size] as a step multiplies: same dtype, all threads.

        A call begins the product and returns it; `synchronize` waits for it while it is held. None where a
        trainer computes nothing.
        """

    def state(self) -> Mapping[str, Any]:
        """Trained parameters as numpy arrays by canonical name (`workloads/initial.py`).

        To be called on every rank. Rank 0's are whole; another one may give what it holds of them. Shards are
        gathered when their array is asked for, before the next step and by all ranks in the same order.
        """

    def checkpoint(self) -> Mapping[str, Any]:
        """Return all that a further identical step needs: numpy arrays by name; rank 0's stand for all.

        Batches and noise are functions of seed and step, so that the step and the phase are not in it. To be
        called on every rank, with an idle device.
        """

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Go on from what `checkpoint` gave in the phase that has just begun, in another process or here."""

    def close(self) -> None:
        """Leave the process group; ranks may leave in any order."""
