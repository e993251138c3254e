"""Outcome of one trial: raw times and facts, or one classified failure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.core.errors import FAILURE_KINDS, FailureKind, RecordError
from orchestrator.core.estimate import CompiledStep
from orchestrator.core.inventory import HostUsage
from orchestrator.core.memory_fit import NoFit, Verdict
from orchestrator.core.peaks import Peaks, ProductBenchmark
from orchestrator.core.placement import Placement, Provenance
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.trial_progress import Pruning, TargetRun
from orchestrator.core.trial_spec import SCHEMA_VERSION, TrialSpec
from orchestrator.core.work_share import BatchShare, KernelLink, KernelMove, KernelShare

DRIVER_FACTS = (
    "orchestrator",
    "code_sha256",
    "hostname",
    "platform",
    "cpu_model",
    "git_commit",
    "git_dirty",
)
"""Keys of a record's environment that describe the driver. All other keys describe the workers."""

Outcome = Literal["measured", "rehearsed", "failed", "pruned"]

ACCELERATOR_SOFTWARE = ("cuda", "cudnn", "nccl", "nvidia_driver", "libtpu")
"""Keys of the software between a framework and its accelerator; records of CPU trials lack them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """Device facts of a worker, read from the framework after the run.

    Attributes:
        kind: `cpu`, `gpu` or `tpu`.
        name: name as the driver reports it.
        count: devices that this worker process drove.
        precision: the precision its arithmetic really had.
        peak_memory_bytes: None if the framework does not count it.
        fused_recurrent: True if fused kernels computed the recurrent layers; None without such layers.
        kernel_shares: its final share of every convolution, where convolutions are split by kernels.
        kernel_moves: changes of these shares during the training; blocks before and after a move differ.
        kernel_link: between it and the master, where it is another rank that serves one.
        kernel_rest_seconds: master's step time without the convolutions and their messages.
        batch_share: its share of every batch, where batches are divided by the speed of the ranks.
    """

    kind: str
    name: str
    count: int
    precision: str
    peak_memory_bytes: int | None = None
    fused_recurrent: bool | None = None
    kernel_shares: tuple[KernelShare, ...] = ()
    kernel_moves: tuple[KernelMove, ...] = ()
    kernel_link: KernelLink | None = None
    kernel_rest_seconds: float | None = None
    batch_share: BatchShare | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult:
    """Raw measurements of one trial; statistics are made of them in `analysis/`.

    Times are seconds of `time.perf_counter`, each from idle device to idle device.

    Attributes:
        launch_seconds: time from the request for workers until the last one is set up; contains set-up.
        setup_seconds: time from a worker's first line to its first step: framework, rendezvous, data, model.
        first_step_seconds: the first step, which traces and compiles; slowest rank.
        warmup_seconds: all warm-up steps together; slowest rank.
        block_seconds: [rank][block], each block of `steps_per_block` steps.
        stopped_because: `interval` when the interval was tight enough, `target` when that was reached before,
            `run` for a script that reported no step, otherwise `max_blocks`, or `steps` where there were
            too few.
        compile_counts: compilations before and after the timed blocks; None if the framework has no count.
        steps: optimizer steps taken, the timed ones included.
        samples: samples that the trainers counted in those steps, all replicas together.
        training_seconds: time from the first to the last step of this attempt with loss readings; evaluations
            on the way and checkpoints left out; slowest rank.
        phase_seconds: time of this attempt's steps of each phase of the training by its name; slowest rank; 0
            for a phase that an earlier attempt ended.
        losses: (step, loss) pairs, read outside the timed part; of several networks their sum.
        network_losses: the same for each network.
        quality: metric -> value on held-out data, after the last step.
        held_out_samples: number of samples evaluated; None in records older than the field, in rehearsals,
            and if nothing is evaluated.
        evaluation_seconds: time of the last evaluation.
        flops_per_step: analytic, of the phase that is timed, all replicas together (`workloads/flops.py`).
        bytes_per_step: analytic memory traffic of that phase without fusion (`workloads/traffic.py`).
        data_wait_seconds: time that steps waited for the input pipeline, and under torch for copies to the
            device; slowest rank; None where it was not measured, as in a script without a loader.
        pipeline_samples_per_second: input rate of all ranks together; None with data in memory.
        cpu_seconds: [rank] process CPU seconds during the timed blocks, or of a script's whole run.
        load_average: one-minute load average of the host before and after the timed blocks.
        peak_host_bytes: [rank] largest resident set of the worker process.
        devices: [rank] what each worker ran on.
        reading_seconds: [rank][block] of two readings of the losses straight after the block's clock stopped;
            the first one waits for what the device had not finished. Empty where it was not looked at.
        exchange_seconds: [rank][pair] of blocks of `steps_per_block` steps after the evaluation, with the sum
            of the gradients over the processes and without it. Empty where it cannot be left out.
        unmoved: `<phase>.<network>` of weights, trained by this phase alone, that have not changed at all.
        peaks: peak rates of its devices in its precision on the day of the run; None: unknown or a rehearsal.
        energy_joules: from the first timed block to the last, loss readings included, by counter:
            `accelerator` is all of the trial's accelerators, `host` the processors and memory of its hosts.
        train_samples: samples of the training set, one epoch; None in records from before this was stored.
        calibration: measured peak rate of the host's CPU in the trial's precision; None: not requested.
        pursuit: evaluations on the way to a target; None without a target.
        resumed_from_step: step of the checkpoint from which this attempt resumed; 0 if it did not. Steps,
            samples, losses and pursuit cover the whole training; other times cover this attempt only.
        resumed_seconds: training time of earlier attempts up to that checkpoint; rank 0's.
        checkpoint_seconds: time to save and restore checkpoints; no other time includes it; slowest rank.
        num_checkpoints: checkpoints that this attempt wrote; 0 in results of earlier versions.
        tokens_per_sample: mean tokens of a training sample, padding left out; None: not texts, or not known.
        checkpoint_notes: checkpoints that were refused or could not be stored, with reasons.
        unchecked: identities that hold for declared workloads and are not known to hold for this native job.
        run_seconds: [rank] from the start of a script that reported no step to its end with exit code 0; it
            has no blocks then, and neither steps nor samples. Empty where steps were measured.
        block_cpu_seconds: [rank][block] process CPU seconds of each timed block; empty in older records.
        core_wait_seconds: [rank][block] time that the threads of the process, all together, were ready to run
            and had no core; empty where the kernel does not count it, and in older records.
        busy_core_seconds: [rank][block] CPU seconds that all processes used on the cores which the rank may
            use; empty likewise.
        read_files: files below its folder that a script read and did not write, sources of its modules
            included: name -> hash of the content when the trial had ended, `parts …` of parts of a large
            file, `changed` of one that changed meanwhile. Empty in older records.
    """

    launch_seconds: float
    setup_seconds: float
    first_step_seconds: float
    warmup_steps: int
    warmup_seconds: float
    steps_per_block: int
    block_seconds: tuple[tuple[float, ...], ...]
    stopped_because: str
    compile_counts: tuple[int, int] | None
    steps: int
    samples: int
    training_seconds: float
    phase_seconds: Mapping[str, float]
    losses: tuple[tuple[int, float], ...]
    network_losses: Mapping[str, tuple[tuple[int, float], ...]]
    quality: Mapping[str, float]
    evaluation_seconds: float
    flops_per_step: float
    bytes_per_step: float
    data_wait_seconds: float | None
    pipeline_samples_per_second: float | None
    cpu_seconds: tuple[float, ...]
    load_average: tuple[float, float]
    peak_host_bytes: tuple[int, ...]
    devices: tuple[DeviceFacts, ...]
    reading_seconds: tuple[tuple[tuple[float, float], ...], ...] = ()
    exchange_seconds: tuple[tuple[tuple[float, float], ...], ...] = ()
    unmoved: tuple[str, ...] = ()
    peaks: Peaks | None = None
    energy_joules: Mapping[str, float] = field(default_factory=dict)
    pursuit: TargetRun | None = None
    calibration: ProductBenchmark | None = None
    train_samples: int | None = None
    held_out_samples: int | None = None
    resumed_from_step: int = 0
    resumed_seconds: float = 0.0
    checkpoint_seconds: float = 0.0
    checkpoint_notes: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    run_seconds: tuple[float, ...] = ()
    block_cpu_seconds: tuple[tuple[float, ...], ...] = ()
    core_wait_seconds: tuple[tuple[float, ...], ...] = ()
    busy_core_seconds: tuple[tuple[float, ...], ...] = ()
    read_files: Mapping[str, str] = field(default_factory=dict)
    num_checkpoints: int = 0
    tokens_per_sample: float | None = None

    @property
    def seconds(self) -> float:
        """Launch, training and all evaluations: the least that the attempt took, by monotonic clocks."""
        on_the_way = self.pursuit.evaluation_seconds if self.pursuit else 0.0
        training = max(self.training_seconds, self.first_step_seconds + self.warmup_seconds)
        return self.launch_seconds + training + self.evaluation_seconds + on_the_way


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Reason why an attempt has no result: a class, the cause in one line, and the data measured before."""

    kind: FailureKind
    message: str
    refused: TrainResult | None = None

    def __post_init__(self) -> None:
        if self.kind not in FAILURE_KINDS:
            raise RecordError(f"unknown failure kind {self.kind!r}; known: {', '.join(FAILURE_KINDS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One attempt of one trial, with exactly one of result and failure.

    Attributes:
        attempt: 1, 2, …: how often the trial had been started when this record was made.
        started_at, ended_at: seconds since the epoch, wall clock of the driver's host.
        environment: versions, our code's hash, the commit of the user's folder, host, and the variables of
            the workers that change their speed.
        log_path: the workers' output, relative to the sweep's folder; None if none was written.
        reused_from: the sweep with the original of this record in its ledger; None for an original.
        price: price of the measured hardware, or the reason why it has none; None if it was not looked up.
        host_use: usage samples of the workers' host, every few seconds from their start to their end.
        memory: what was known about the step's memory before the trial started; None: not asked.
        compiled: time of the step by the compiler of an absent device; no measurement.
        pruning: why a search ended the trial early; None: it did not.
        epoch_samples: samples of the job's full training set, also where a stand-in took its place; None: not
            declared, or an older record.
    """

    trial_id: str
    sweep: str
    provenance: Provenance
    attempt: int
    spec: TrialSpec
    placement: Placement
    started_at: float
    ended_at: float
    environment: Mapping[str, str] = field(default_factory=dict)
    log_path: str | None = None
    result: TrainResult | None = None
    failure: Failure | None = None
    reused_from: str | None = None
    price: Price | Unpriced | None = None
    host_use: tuple[HostUsage, ...] = ()
    memory: Verdict | NoFit | None = None
    compiled: CompiledStep | None = None
    pruning: Pruning | None = None
    epoch_samples: int | None = None
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if (self.result is None) == (self.failure is None):
            raise RecordError(f"record of trial {self.trial_id} needs exactly one of result and failure")

    @property
    def is_pruned(self) -> bool:
        """True where a search ended the trial early: it has no result, and did not fail."""
        return self.failure is not None and self.failure.kind == "pruned"

    @property
    def outcome(self) -> Outcome:
        """Outcome of the attempt: a result of the requested device, a rehearsal, or none."""
        if self.is_pruned:
            return "pruned"
        return "failed" if self.failure else self.provenance

    @property
    def seconds(self) -> float:
        """Seconds from start to end. The larger of two clocks counts, because wall clocks can be set back."""
        return max(self.ended_at - self.started_at, self.result.seconds if self.result else 0.0)


def find_versions(record: TrialRecord) -> dict[str, str]:
    """Versions of Python and of the packages that the attempt's workers ran with, by name."""
    return {name: value for name, value in _ran_with(record) if not name.isupper()}


def find_variables(record: TrialRecord) -> dict[str, str]:
    """Environment variables of the attempt's workers that may change their speed, by name."""
    return {name: value for name, value in _ran_with(record) if name.isupper()}


def environment_key(record: TrialRecord) -> tuple[tuple[str, str], ...]:
    """Return what is equal in attempts that ran with the same versions and variables, and in no others."""
    return tuple(_ran_with(record))


def _ran_with(record: TrialRecord) -> Iterator[tuple[str, str]]:
    """Packages have lower-case names, and environment variables upper-case ones."""
    return (item for item in sorted(record.environment.items()) if item[0] not in DRIVER_FACTS)


def latest(records: Iterable[TrialRecord]) -> dict[str, TrialRecord]:
    """Return the record of each trial that stands, by trial_id, in the order in which trials first appear.

    1. A result that was measured: nothing undoes it.
    2. A measurement that failed, or a rehearsal that passed: whichever ended later. The one shows that
       passing was not enough, the other that the code has been mended since.
    3. A rehearsal that failed.

    Of equals, the one that ended last.
    """
    standing: dict[str, TrialRecord] = {}
    for record in records:
        held = standing.setdefault(record.trial_id, record)
        if _rank_one(record) >= _rank_one(held):
            standing[record.trial_id] = record
    return standing


def _rank_one(record: TrialRecord) -> tuple[int, float]:
    is_measured, has_result = record.provenance == "measured", record.result is not None
    return is_measured + has_result, record.ended_at
