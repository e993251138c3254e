"""Each identity gate refuses a planted fault and lets its healthy twin pass."""

import math
from typing import Any

import pytest
from builders import placement, pursuit, train_result, trial_spec

from orchestrator.core.peaks import Peaks
from orchestrator.core.placement import Placement
from orchestrator.core.result import DeviceFacts, Failure, TrainResult
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.validation import gates

QUEUED = trial_spec(trainer="torch_xla")
"""A trial whose steps return before the processor has finished them."""


def judge(place: Placement, result: TrainResult, **known: Any) -> Failure | None:
    return gates.find_failure(place, result, **{"driver_names": {}, **known})


def facts(**changes: Any) -> DeviceFacts:
    return DeviceFacts(**{"kind": "cpu", "name": "Some CPU", "count": 1, "precision": "fp32", **changes})


def peaks(flops_per_second: float | None) -> Peaks:
    return Peaks(
        flops_per_second=flops_per_second, memory_bytes_per_second=None, tdp_watts=None, source="a test"
    )


def test_a_healthy_result_passes_all_gates() -> None:
    assert judge(placement(), train_result(peaks=peaks(1e12))) is None


def test_two_healthy_ranks_pass_all_gates() -> None:
    two = train_result(block_seconds=((0.1,) * 6, (0.11,) * 6), devices=(facts(), facts()))
    assert judge(placement(replicas=2, num_processes=2), two) is None


def test_a_refused_result_stays_in_its_failure() -> None:
    result = train_result(samples=1)
    failure = judge(placement(), result)
    assert failure is not None
    assert failure.refused is result


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ((facts(kind="gpu"),), "trial asks for a cpu; it ran on a gpu"),
        ((facts(precision="bf16"),), "trial asks for fp32; its arithmetic was bf16"),
        (
            (facts(name="Other CPU"),),
            "trial asks for cpu, which its driver calls 'Some CPU'; it ran on 'Other CPU'",
        ),
    ],
)
def test_another_device_or_precision_than_asked_for_is_a_device_mismatch(devices, message) -> None:
    failure = judge(placement(), train_result(devices=devices))
    assert failure is not None
    assert (failure.kind, failure.message) == ("device_mismatch", message)


def test_a_failure_of_a_script_in_pytorchs_default_rounding_names_the_setting() -> None:
    asked = trial_spec(trainer="script")
    failure = judge(placement(asked), train_result(devices=(facts(precision="tf32"),)))
    assert failure is not None
    assert failure.message == (
        "trial asks for fp32; its arithmetic was tf32, PyTorch's default for convolutions on a GPU; ask for "
        'precision=tf32, or write `torch.backends.fp32_precision = "ieee"` into the script'
    )
    other = judge(placement(asked), train_result(devices=(facts(precision="bf16"),)))
    assert other is not None
    assert other.message == "trial asks for fp32; its arithmetic was bf16"


@pytest.mark.parametrize("name", ["Some", "Some CPU x2", "Some CPU of another year", ""])
def test_a_processor_is_the_very_one_that_the_trial_names(name) -> None:
    failure = judge(placement(), train_result(devices=(facts(name=name),)))
    assert failure is not None
    assert failure.kind == "device_mismatch"


def test_a_machine_of_a_pool_is_accepted_by_its_kind_and_not_by_its_processors_name() -> None:
    place = placement(trial_spec(host_cpu="n2-standard-8 x8"), pool="cpu")
    assert judge(place, train_result(devices=(facts(name="Some CPU"),))) is None
    failure = judge(place, train_result(devices=(facts(kind="gpu", name="Tesla T4"),)))
    assert failure is not None
    assert failure.kind == "device_mismatch"


def test_a_gpu_may_have_any_of_its_drivers_names_and_no_other() -> None:
    place = placement(trial_spec(device="a100_40", host_cpu=None), kind="gpu")
    result = train_result(devices=(facts(kind="gpu", name="A100-SXM4-40GB"),))
    known = ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB")
    assert judge(place, result, driver_names={"a100_40": known}) is None
    failure = judge(place, result, driver_names={"a100_40": ("Tesla T4", "T4")})
    assert failure is not None
    assert failure.message == (
        "trial asks for a100_40, which its driver calls 'Tesla T4' or 'T4'; it ran on 'A100-SXM4-40GB'"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_quality_that_is_no_finite_number_has_diverged(value) -> None:
    failure = judge(placement(), train_result(quality={"accuracy": 0.9, "held_out_loss": value}))
    assert failure is not None
    assert (failure.kind, failure.message) == ("diverged", f"the held_out_loss is {value}")


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_no_number_is_divergence(loss: float) -> None:
    failure = judge(placement(), train_result(losses=((1, 2.3), (64, loss), (120, loss))))
    assert failure is not None
    assert (failure.kind, failure.message) == ("diverged", f"the loss is {loss} after step 64")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"samples": 7616}, "120 steps of 64 samples are 7680; the trainers counted 7616"),
        ({"steps": 119, "samples": 7616}, "trial asks for 120 steps; 119 were taken"),
        ({"devices": (facts(count=2),)}, "trial asks for 1 replicas; its workers drove 2 devices"),
        ({"block_seconds": ((),)}, "1 ranks; blocks timed by each: [0]"),
        ({"block_seconds": ()}, "1 ranks; blocks timed by each: none"),
        ({"block_seconds": ((0.1, 0.0),)}, "a block took 0.0 s; it must take more than 0"),
        ({"block_seconds": ((0.1, math.nan),)}, "a block took nan s; it must take more than 0"),
        ({"warmup_steps": 60}, "121 steps were timed; 120 were taken"),
        ({"steps_per_block": 20}, "124 steps were timed; 120 were taken"),
        ({"training_seconds": 0.5}, "blocks took 0.6 s of a training of 0.5 s"),
        (
            {"compile_counts": (2, 3)},
            "the compile counter grew while blocks were timed: 2 before, 3 after",
        ),
        ({"losses": ((1, 2.3), (120, 2.3))}, "the loss did not move: 2 readings, 2.3"),
        ({"losses": ()}, "the loss did not move: 0 readings, none"),
        (
            {"unmoved": ("training.generator", "training.discriminator")},
            "not a single weight changed in training.generator, training.discriminator",
        ),
    ],
)
def test_numbers_that_contradict_each_other_are_an_invalid_measurement(fault, message) -> None:
    failure = judge(placement(), train_result(**fault))
    assert failure is not None
    assert (failure.kind, failure.message) == ("invalid_measurement", message)


def test_ranks_that_timed_different_numbers_of_blocks_are_an_invalid_measurement() -> None:
    two = train_result(block_seconds=((0.1,) * 6, (0.1,) * 5), devices=(facts(), facts()))
    failure = judge(placement(replicas=2, num_processes=2), two)
    assert failure is not None
    assert failure.message == "ranks timed different numbers of blocks: [5, 6]"


def after_blocks(*firsts: float) -> dict[str, Any]:
    """Return the first reading after each block, where a reading costs 1 ms."""
    return {"reading_seconds": (tuple((first, 0.001) for first in firsts),)}


@pytest.mark.parametrize(
    ("firsts", "message"),
    [
        (
            (0.031, *(0.001,) * 3, 0.031, 0.041),
            "3 of 6 blocks stopped: it worked on for 0.1 s after 0.6 s were timed",
        ),
        (
            (0.005,) * 4 + (0.001,) * 2,
            "4 of 6 blocks stopped: it worked on for 0.016 s after 0.6 s were timed",
        ),
        (
            (0.031,) * 8 + (0.001,) * 32,
            "8 of 40 blocks stopped: it worked on for 0.24 s after 4 s were timed",
        ),
    ],
)
def test_a_device_that_worked_on_after_its_clock_was_not_synchronized(firsts, message) -> None:
    blocks = {"block_seconds": ((0.1,) * len(firsts),), "steps": 1000, "samples": 64_000}
    result = train_result(**blocks, training_seconds=100.0, **after_blocks(*firsts))
    failure = judge(placement(QUEUED), result)
    assert failure is not None
    assert failure.kind == "invalid_measurement"
    assert failure.message == f"the device was not idle when the clock of {message}"


@pytest.mark.parametrize(
    ("block_seconds", "firsts"),
    [
        (0.1, (0.5, 0.5, *(0.001,) * 4)),  # two long readings are the host's doing
        (0.1, (0.5,) * 7 + (0.001,) * 33),  # and so are seven of many
        (0.1, (0.02, 0.02, *(0.001,) * 4)),  # and so are shorter ones of less than half of the blocks
        (0.1, (0.0034,) * 6),  # a quarter of a step and what reading costs
        (0.1, (0.0039, 0.0039, 0.0039, 0.0039, 0.001, 0.001)),  # a fiftieth of all that was timed
        (0.01, (0.0019,) * 6),  # a millisecond and what reading costs
    ],
)
def test_a_device_that_may_have_been_idle_passes(block_seconds, firsts) -> None:
    blocks = {"block_seconds": ((block_seconds,) * len(firsts),), "steps": 1000, "samples": 64_000}
    result = train_result(**blocks, training_seconds=100.0, **after_blocks(*firsts))
    assert judge(placement(QUEUED), result) is None


def test_a_reading_that_costs_as_much_a_second_time_shows_no_work() -> None:
    assert judge(placement(QUEUED), train_result(reading_seconds=(((0.05, 0.05),) * 6,))) is None


def two_late_ranks() -> dict[str, Any]:
    """Blocks of two gloo processes on a busy host: their first reading waits for the other process."""
    block_seconds, readings = ((0.0062,) * 6,) * 2, (((0.0025, 0.0004),) * 6,) * 2
    return {"block_seconds": block_seconds, "reading_seconds": readings, "devices": (facts(), facts())}


@pytest.mark.parametrize("trainer", ["torch_ddp", "unequal_ddp", "kernel_split", "tensorflow"])
def test_a_processor_with_synchronous_steps_is_not_judged_by_readings(trainer) -> None:
    place = placement(trial_spec(trainer=trainer), replicas=2, num_processes=2)
    assert judge(place, train_result(**two_late_ranks())) is None


def test_a_processor_with_a_queue_is_judged_by_readings() -> None:
    place = placement(trial_spec(trainer="torch_xla"), replicas=2, num_processes=2)
    failure = judge(place, train_result(**two_late_ranks()))
    assert failure is not None
    assert "worked on for 0.0126 s after 0.0372 s were timed" in failure.message


def test_a_rank_that_waited_for_another_one_at_a_reading_was_idle() -> None:
    late, early = ((0.001, 0.001),) * 6, ((0.05, 0.001),) * 6
    two = {"block_seconds": ((0.1,) * 6, (0.1,) * 6), "devices": (facts(), facts())}
    place = placement(QUEUED, replicas=2, num_processes=2)
    assert judge(place, train_result(**two, reading_seconds=(early, late))) is None
    failure = judge(place, train_result(**two, reading_seconds=(early, early)))
    assert failure is not None
    assert failure.kind == "invalid_measurement"


def test_a_result_that_was_kept_before_readings_were_timed_is_not_judged_by_them() -> None:
    assert judge(placement(QUEUED), train_result(reading_seconds=())) is None


def test_compile_counts_that_stand_still_pass() -> None:
    assert judge(placement(), train_result(compile_counts=(2, 2))) is None


def test_mfu_of_a_gigaflop_in_ten_milliseconds_on_a_device_of_fifty_gigaflops_is_two() -> None:
    failure = judge(placement(), train_result(peaks=peaks(5e10)))
    assert failure is not None
    assert failure.message == "MFU is 2; it must lie above 0 and not above 1"


def test_mfu_is_not_judged_where_the_peak_is_unknown() -> None:
    assert judge(placement(), train_result(flops_per_step=1e30)) is None
    assert judge(placement(), train_result(flops_per_step=1e30, peaks=peaks(None))) is None


def test_several_violations_of_one_kind_are_joined_and_the_gravest_kind_counts() -> None:
    wrong = train_result(samples=1, devices=(facts(kind="gpu", precision="tf32"),))
    failure = judge(placement(), wrong)
    assert failure is not None
    assert failure.kind == "device_mismatch"
    assert failure.message == (
        "trial asks for a cpu; it ran on a gpu; trial asks for fp32; its arithmetic was tf32"
    )


REHEARSAL = {"steps": 2, "samples": 128, "block_seconds": ((0.1,),), "losses": ((1, 2.3), (2, 2.3))}


def test_a_rehearsal_is_two_steps_on_a_stand_in_and_passes() -> None:
    place = placement(trial_spec(device="t4"), provenance="rehearsed")
    assert judge(place, train_result(**REHEARSAL), driver_names={"t4": ("Tesla T4",)}) is None


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"devices": (facts(precision="bf16"),)}, "device_mismatch"),
        ({"losses": ((1, math.nan),)}, "diverged"),
        ({"quality": {"held_out_loss": math.nan}}, "diverged"),
        ({"samples": 64}, "invalid_measurement"),
    ],
)
def test_a_rehearsal_is_refused_for_what_it_ran_on_and_what_it_counted(fault, kind) -> None:
    failure = judge(placement(provenance="rehearsed"), train_result(**{**REHEARSAL, **fault}))
    assert failure is not None
    assert failure.kind == kind


TO_090 = placement(trial_spec(timing=TimingSpec(target=0.9)))


def test_a_training_may_end_before_its_limit_at_its_target() -> None:
    early = train_result(steps=100, samples=6400, training_seconds=3.0, pursuit=pursuit(0.5, 0.8, 0.92))
    assert judge(TO_090, early) is None


def test_a_training_that_did_not_reach_its_target_takes_all_steps() -> None:
    result = train_result(training_seconds=3.0, pursuit=pursuit(0.5, 0.8))
    assert judge(TO_090, result) is None
    failure = judge(TO_090, train_result(steps=100, samples=6400, training_seconds=3.0, pursuit=pursuit(0.5)))
    assert failure is not None
    assert failure.message == "trial asks for 120 steps; 100 were taken"


@pytest.mark.parametrize(
    ("place", "found", "message"),
    [
        (TO_090, None, "trial asks for the target 0.9; its training pursued None"),
        (placement(), pursuit(0.95), "trial asks for the target None; its training pursued 0.9"),
        (
            TO_090,
            pursuit(*[0.5] * 13),
            "quality was found after step 130 and 13 s of a training of 120 steps and 20 s",
        ),
        (
            TO_090,
            pursuit(*[0.5] * 12),
            None,
        ),
    ],
)
def test_a_pursuit_is_of_the_target_asked_for_and_within_the_training(place, found, message) -> None:
    failure = judge(place, train_result(training_seconds=20.0, pursuit=found))
    assert (failure.message if failure else None) == message


def test_quality_that_was_found_after_the_training_had_ended_is_refused() -> None:
    failure = judge(TO_090, train_result(training_seconds=1.4, pursuit=pursuit(0.5, 0.8)))
    assert failure is not None
    assert failure.message == "quality was found after step 20 and 2 s of a training of 120 steps and 1.4 s"
