"""A fault in a shipped trainer that makes its numbers wrong leaves no result; its healthy twin has one."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from builders import placement, trial_spec
from fault_injection import FAULTS
from noop_trials import context, python_with, run
from repository import SUPPORT
from trainer_runs import WORKLOADS, python_of

from orchestrator.core.device import DeviceKind
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

TRAINERS: Mapping[str, DeviceKind] = {"torch_ddp": "gpu", "tensorflow": "gpu", "torch_xla": "tpu"}
"""With an accelerator that each could be asked for and that is not here."""

EXPECTED: Mapping[str, tuple[str, str]] = {
    "never_synchronizes": (
        "invalid_measurement",
        r"the device was not idle when the clock of \d+ of 80 blocks stopped: "
        r"it worked on for \S+ s after \S+ s were timed",
    ),
    "counts_samples_twice": (
        "invalid_measurement",
        r"45 steps of 64 samples are 2880; the trainers counted 5760",
    ),
    "trains_on_half_of_each_batch": (
        "invalid_measurement",
        r"45 steps of 64 samples are 2880; the trainers counted 1440",
    ),
    "computes_in_float32": ("device_mismatch", r"trial asks for bf16; its arithmetic was fp32"),
    "compiles_every_tenth_step": (
        "invalid_measurement",
        r"the compile counter grew while blocks were timed: \d+ before, \d+ after",
    ),
    "learns_at_a_rate_of_zero": (
        "invalid_measurement",
        r"not a single weight changed in training\.model",
    ),
    "tells_its_first_loss_for_ever": (
        "invalid_measurement",
        r"the loss did not move: 22 readings, [\d.]+",
    ),
    "falls_back_to_the_cpu": ("device_mismatch", r"trial asks for a (gpu|tpu); it ran on a cpu"),
    "runs_on_another_processor": (
        "device_mismatch",
        rf"trial asks for cpu, which its driver calls 'Another CPU'; it ran on '{re.escape(cpu_model())}'",
    ),
}
"""Fault -> failure kind, and all that the failure says. The last one is planted in the trial's question."""

HARMLESS = {("torch_ddp", "never_synchronizes"), ("tensorflow", "never_synchronizes")}
"""On a CPU their steps have finished when they return: nothing to wait for, and nothing wrong."""

CASES = [(trainer, fault) for trainer in TRAINERS for fault in EXPECTED if (trainer, fault) not in HARMLESS]

_FORK_SERVER = """
import sys

if "orchestrator.train.process.fork_server" in sys.orig_argv:
    sys.path.extend({tests!r})
    import os, fault_injection

    os.sched_setaffinity(0, range(os.cpu_count()))  # on one core a step has mostly ended when it returns
    fault_injection.plant({trainer!r})
"""


def placement_of(trainer: str, fault: str) -> Placement:
    """The trial that shows a fault."""
    planted = [None if fault is None else fault.__name__ for fault in FAULTS]
    healthy = twin_of(trainer, fault)
    trial = replace(healthy.trial, repeat=planted.index(fault) if fault in planted else 0)
    if fault == "runs_on_another_processor":
        return placement(replace(trial, host_cpu="Another CPU x2"), threads=1)
    if fault == "falls_back_to_the_cpu":
        return placement(replace(trial, device="fast", host_cpu=None), threads=1, kind=TRAINERS[trainer])
    return placement(trial, threads=1)


def twin_of(trainer: str, fault: str) -> Placement:
    """The same trial with nothing planted, on the processor that is here: 20 blocks of two steps, mostly."""
    trial = trial_spec(
        trainer=trainer,
        workload_options=WORKLOADS["mnist_cnn"],
        host_cpu=f"{cpu_model()} x2",
        steps=45,
        timing=TimingSpec(steps_per_block=2, min_blocks=20, max_blocks=20),
    )
    if fault == "computes_in_float32":
        trial = replace(trial, precision="bf16")
    if fault == "compiles_every_tenth_step" and trainer == "torch_ddp":
        trial = replace(trial, trainer_options={"compile": "on"})
    if fault == "never_synchronizes":
        timing = TimingSpec(steps_per_block=2, min_blocks=80, max_blocks=80)
        slow = {"workload_options": {}, "global_batch_size": 128}  # a step to be caught in, now and then
        trial = replace(trial, steps=165, timing=timing, **slow)
    return placement(trial, threads=1)


@pytest.fixture
def records(request: pytest.FixtureRequest, trainer: str) -> Mapping[str, TrialRecord]:
    """Records of the trainer's trials that the selected tests look at."""
    calls = [item.callspec.params for item in request.session.items if item.path == request.path]
    return load_records(
        trainer, tuple(dict.fromkeys(call["fault"] for call in calls if call["trainer"] == trainer))
    )


@cache
def load_records(trainer: str, faults: tuple[str, ...]) -> Mapping[str, TrialRecord]:
    """Run the faulty trials and their twins, and return the records by trial_id; one fork server forks all
    workers.
    """
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    places = [make(trainer, fault) for fault in faults for make in (placement_of, twin_of)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False)
        code = _FORK_SERVER.format(tests=[str(folder) for folder in SUPPORT], trainer=trainer)
        told = context(
            folder,
            deadlines=Deadlines(resources_seconds=120.0, start_seconds=120.0, run_seconds=120.0),
            data_paths={"synthetic:1": str(data.path)},
            pythons={trainer: python_with(folder / "faulty", code, python=python_of(trainer))},
        )
        records = run(told, *{place.trial_id: place for place in places}.values())
        return {record.trial_id: record for record in records}


@pytest.mark.slow_cases(
    "torch_xla",
    "tensorflow-tells_its_first_loss_for_ever",
    "tensorflow-trains_on_half_of_each_batch",
    "tensorflow-runs_on_another_processor",
    "tensorflow-learns_at_a_rate_of_zero",
    "tensorflow-computes_in_float32",
    "tensorflow",
    "torch_ddp-compiles_every_tenth_step",
    "torch_ddp-runs_on_another_processor",
    "torch_ddp-tells_its_first_loss_for_ever",
)
@pytest.mark.parametrize(("trainer", "fault"), CASES)
@pytest.mark.more
def test_a_faulty_trainer_leaves_no_result_but_all_that_was_measured(
    trainer: str, fault: str, records: Mapping[str, TrialRecord]
) -> None:
    placed = placement_of(trainer, fault)
    failure = records[placed.trial_id].failure
    kind, message = EXPECTED[fault]
    assert failure is not None
    assert failure.kind == kind
    assert re.fullmatch(message, failure.message), failure.message
    assert failure.refused is not None
    assert [len(blocks) for blocks in failure.refused.block_seconds] == [placed.trial.timing.max_blocks]


@pytest.mark.slow_cases(
    "torch_xla",
    "tensorflow-tells_its_first_loss_for_ever",
    "tensorflow-trains_on_half_of_each_batch",
    "tensorflow-runs_on_another_processor",
    "tensorflow-learns_at_a_rate_of_zero",
    "tensorflow-computes_in_float32",
    "tensorflow",
    "torch_ddp-compiles_every_tenth_step",
    "torch_ddp-runs_on_another_processor",
    "torch_ddp-tells_its_first_loss_for_ever",
)
@pytest.mark.parametrize(("trainer", "fault"), CASES)
@pytest.mark.more
def test_the_healthy_twin_of_each_fault_has_a_result(
    trainer: str, fault: str, records: Mapping[str, TrialRecord]
) -> None:
    record = records[twin_of(trainer, fault).trial_id]
    assert record.failure is None
    assert record.result is not None
