"""Trials beside which something else ran, found by what they recorded."""

import pytest
from builders import placement, record, train_result, trial_spec
from report_builders import measured

from orchestrator.analysis.measurements.frame import frame_of
from orchestrator.analysis.measurements.measured import measured_of
from orchestrator.analysis.measurements.noise import (
    has_impossible_times,
    is_timed_too_shortly,
    noise_of,
    waits_for_data,
)
from orchestrator.core.result import DeviceFacts
from orchestrator.core.trial_spec import TimingSpec

GPU = placement(trial_spec(device="t4", host_cpu=None), kind="gpu", cpus=8)


def noise(*, placed=None, **changes):
    """Return the noise of a trial on two cores with six blocks of 0.1 s; `changes` are fields of its
    result.
    """
    return noise_of(record(placement=placed, result=train_result(**changes)))


def test_a_trial_alone_on_its_host_is_not_noisy():
    assert noise(load_average=(2.4, 2.5), cpu_seconds=(1.2,)) == ""


def test_a_load_of_a_quarter_more_than_its_own_cores_is_noise():
    assert noise(load_average=(1.0, 2.51)) == "load 2.510 on 2 cores"
    assert noise(load_average=(3.0, 1.0)) == "load 3.000 on 2 cores"


def test_a_trial_on_cpus_that_got_half_a_core_was_disturbed():
    assert noise(cpu_seconds=(0.3,)) == "0.5333 of a core used"  # 0.3 s and a tick of 0.02 s, of 0.6 s


def test_ranks_that_take_turns_on_a_core_are_busy_together():
    blocks = ((0.1,) * 6, (0.1,) * 6)
    assert noise(block_seconds=blocks, cpu_seconds=(0.3, 0.3)) == ""


def test_a_trial_on_an_accelerator_may_leave_its_cores_idle():
    assert noise(placed=GPU, cpu_seconds=(0.05,)) == ""
    assert noise(placed=GPU, load_average=(11, 9)) == "load 11.00 on 8 cores"


def test_what_trains_nothing_or_was_not_timed_is_not_judged():
    assert noise(placed=placement(trains=False), cpu_seconds=(0.0,)) == ""
    assert noise(block_seconds=(), load_average=(9, 9)) == ""


@pytest.mark.parametrize(("loads", "count"), [((1, 1, 1), 0), ((1, 9, 9), 2)])
def test_a_measurement_counts_its_noisy_repeats(loads, count):
    records = [
        measured(repeat=index, recorded={"load_average": (load, load)}) for index, load in enumerate(loads)
    ]
    (only,) = measured_of(frame_of(records))
    assert only.num_noisy == count


@pytest.mark.parametrize(
    ("seconds", "provenance", "waits"),
    [
        (0.0, "measured", False),
        (0.12, "measured", False),
        (0.14, "measured", True),
        (1.0, "rehearsed", False),
        (None, "measured", False),
    ],
)
def test_a_measurement_whose_steps_waited_over_a_tenth_of_1_3_seconds_says_so(seconds, provenance, waits):
    waited = train_result(data_wait_seconds=seconds)
    assert waits_for_data(record(placement=placement(provenance=provenance), result=waited)) is waits


@pytest.mark.parametrize(("seconds", "is_impossible"), [(5e-324, True), (1e300, False), (0.1, False)])
def test_blocks_that_no_clock_can_have_shown_are_a_warning(seconds, is_impossible):
    poisoned = measured(recorded={"block_seconds": ((seconds,) * 15,)})
    assert has_impossible_times(poisoned) is is_impossible


def test_a_whole_run_has_no_blocks_to_warn_of():
    assert not has_impossible_times(measured(recorded={"block_seconds": ((),), "run_seconds": (1.5,)}))


LONG = {"block_seconds": ((0.5,) * 6,), "warmup_seconds": 2.0}


@pytest.mark.parametrize(
    ("kind", "timing", "times", "is_short"),
    [
        ("gpu", {}, LONG, False),
        ("gpu", {}, {**LONG, "block_seconds": ((0.49,) * 6,)}, True),
        ("gpu", {}, {**LONG, "warmup_seconds": 1.9}, True),
        ("gpu", {"min_warmup_seconds": 0.0, "min_block_seconds": 0.0}, {}, False),
        ("gpu", {"target": 0.9}, {}, False),
        ("cpu", {}, {}, False),
    ],
)
def test_a_measurement_on_an_accelerator_with_too_few_steps_for_the_seconds_says_so(
    kind, timing, times, is_short
):
    placed = placement(trial_spec(device="t4", host_cpu=None, timing=TimingSpec(**timing)), kind="gpu")
    device = DeviceFacts(kind=kind, name="Tesla T4", count=1, precision="fp32")
    result = train_result(devices=(device,), **times)
    assert is_timed_too_shortly(record(placement=placed, result=result)) is is_short
