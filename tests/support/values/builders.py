"""Real small values with defaults, so that a test shows only what matters to it."""

from typing import Any

from orchestrator.analysis.measurements.setting import Setting
from orchestrator.core.inventory import HostUsage
from orchestrator.core.placement import Placement
from orchestrator.core.result import DeviceFacts, TrainResult, TrialRecord
from orchestrator.core.trial_progress import Evaluation, Target, TargetRun
from orchestrator.core.trial_spec import TimingSpec, TrialSpec, trial_id


def trial_spec(**changes: Any) -> TrialSpec:
    """mnist_cnn under torch_ddp on a CPU, fp32, batch 64, 120 steps."""
    usual = {
        "workload": "mnist_cnn",
        "workload_version": 1,
        "trainer": "torch_ddp",
        "trainer_version": 1,
        "device": "cpu",
        "precision": "fp32",
        "data": "synthetic:1",
        "global_batch_size": 64,
        "steps": 120,
        "host_cpu": "Some CPU x2",
        "timing": TimingSpec(min_blocks=6, max_blocks=6),
    }
    return TrialSpec(**usual | changes)


def setting(**changes: Any) -> Setting:
    """A setting of one worker on the CPU."""
    usual = {
        "workload": "mnist_cnn",
        "device": "cpu",
        "trainer": "torch_ddp",
        "precision": "fp32",
        "num_workers": 1,
        "num_hosts": "",
        "replicas": "",
        "global_batch_size": 64,
    }
    return Setting(**{**usual, **changes})


def placement(trial: TrialSpec | None = None, **changes: Any) -> Placement:
    """Place the trial: measured by one process that holds both cores of the host."""
    trial = trial or trial_spec()
    usual = {
        "trial": trial,
        "trial_id": trial_id(trial),
        "provenance": "measured",
        "kind": "cpu",
        "precision": trial.precision,
        "replicas": 1,
        "num_processes": 1,
        "threads": 2,
        "node": "localhost",
        "cpus": 2,
        "devices": 0,
    }
    return Placement(**usual | changes)


def train_result(**changes: Any) -> TrainResult:
    """A healthy result: six blocks of ten steps at 10 ms a step, loss falling from 2.3 to 0.1."""
    usual = {
        "launch_seconds": 0.6,
        "setup_seconds": 0.5,
        "first_step_seconds": 0.2,
        "warmup_steps": 3,
        "warmup_seconds": 0.03,
        "steps_per_block": 10,
        "block_seconds": ((0.1, 0.1, 0.1, 0.1, 0.1, 0.1),),
        "stopped_because": "interval",
        "compile_counts": None,
        "steps": 120,
        "samples": 7680,
        "training_seconds": 1.4,
        "phase_seconds": {"training": 1.3},
        "losses": ((1, 2.3), (64, 0.5), (120, 0.1)),
        "network_losses": {"model": ((1, 2.3), (64, 0.5), (120, 0.1))},
        "quality": {"accuracy": 0.97},
        "held_out_samples": 1000,
        "evaluation_seconds": 0.1,
        "flops_per_step": 1e9,
        "bytes_per_step": 1e8,
        "data_wait_seconds": 0.0,
        "pipeline_samples_per_second": None,
        "cpu_seconds": (0.6,),
        "load_average": (0.5, 0.6),
        "peak_host_bytes": (400_000_000,),
        "devices": (DeviceFacts(kind="cpu", name="Some CPU", count=1, precision="fp32"),),
        "reading_seconds": (((0.001, 0.001),) * 6,),
        "train_samples": 4000,
    }
    return TrainResult(**usual | changes)


def pursuit(*qualities: float, higher_is_better: bool = True) -> TargetRun:
    """Evaluations ten steps and a second apart, on the way to an accuracy of 0.9."""
    return TargetRun(
        target=Target(metric="accuracy", value=0.9, higher_is_better=higher_is_better),
        curve=tuple(
            Evaluation(steps=10 * index, training_seconds=float(index), quality=quality)
            for index, quality in enumerate(qualities, start=1)
        ),
        evaluation_seconds=0.5,
    )


def record(**changes: Any) -> TrialRecord:
    """The finished record of `placement()` with `train_result()`, unless told otherwise."""
    place = changes.pop("placement", None) or placement(changes.pop("spec", None))
    if not changes.keys() & {"result", "failure"}:
        changes["result"] = train_result()
    usual = {
        "trial_id": place.trial_id,
        "sweep": "example",
        "provenance": place.provenance,
        "attempt": 1,
        "spec": place.trial,
        "placement": place,
        "started_at": 1_790_000_000.0,
        "ended_at": 1_790_000_003.0,
        "result": None,
        "failure": None,
    }
    return TrialRecord(**usual | changes)


def host_use(*, at: float = 0.0, busy: float = 0.0, of: float = 0.0, **changes: Any) -> HostUsage:
    """A host whose cores have worked for `busy` of `of` seconds, and have half of 4 GB in use."""
    return HostUsage(
        at=at,
        cpu_busy_seconds=busy,
        cpu_seconds=of,
        memory_bytes=2_000_000_000,
        memory_total_bytes=4_000_000_000,
        **changes,
    )
