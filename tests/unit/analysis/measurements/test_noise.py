"""Trials beside which something else ran, found by what they recorded."""

import pytest
from builders import placement, record, train_result, trial_spec
from report_builders import measured, repeats

from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.analysis.measurements.noise import (
    describe_noise,
    has_impossible_times,
    is_timed_too_shortly,
    waits_for_data,
)
from orchestrator.core.deciding import find_deciding
from orchestrator.core.result import DeviceFacts
from orchestrator.core.trial_spec import TimingSpec

GPU = placement(trial_spec(device="t4", host_cpu=None), kind="gpu", cpus=8)


def noise(*, placed=None, **changes):
    """Return the noise of a trial on two cores with six blocks of 0.1 s; `changes` are fields of its
    result.
    """
    return describe_noise(record(placement=placed, result=train_result(**changes)))


def test_a_trial_alone_on_its_host_is_not_noisy():
    assert noise(load_average=(2.4, 2.5), cpu_seconds=(1.2,)) == ""


def test_a_load_of_a_quarter_more_than_its_own_cores_is_noise():
    assert noise(load_average=(1.0, 2.51)) == "load 2.510 on 2 cores"
    assert noise(load_average=(3.0, 1.0)) == "load 3.000 on 2 cores"


def test_a_trial_on_cpus_that_got_half_a_core_was_disturbed():
    assert noise(cpu_seconds=(0.3,)) == "0.5333 of a core used"  # 0.3 s and a tick of 0.02 s, of 0.6 s


def in_blocks(cpu_seconds, wait_seconds, *, busy_seconds=0.2, **changes):
    """Return the noise of one rank with blocks of 0.1 s that used and waited for cores so long.

    Its two cores were busy for `busy_seconds` in each block.
    """
    return noise(
        block_seconds=((0.1,) * len(cpu_seconds),),
        cpu_seconds=(sum(cpu_seconds),),
        block_cpu_seconds=(tuple(cpu_seconds),),
        core_wait_seconds=(tuple(wait_seconds),),
        busy_core_seconds=((busy_seconds,) * len(cpu_seconds),),
        **changes,
    )


def test_two_threads_that_lost_half_of_two_cores_were_disturbed_at_any_load_average():
    assert in_blocks([0.095] * 6, [0.105] * 6, load_average=(0.0, 0.08)) == "52% waiting for a core"


def test_a_process_that_starts_in_block_3_of_6_disturbs_the_trial_and_in_block_5_does_not():
    assert in_blocks([0.2] * 2 + [0.1] * 4, [0.0] * 2 + [0.1] * 4) == "50% waiting for a core"
    assert in_blocks([0.2] * 4 + [0.1] * 2, [0.0] * 4 + [0.1] * 2) == ""


def test_threads_that_wait_for_each_other_on_all_cores_of_the_trial_are_not_disturbed():
    assert in_blocks([0.2] * 6, [0.1] * 6) == ""


def test_threads_of_a_framework_that_wait_for_each_other_beside_an_idle_core_are_not_disturbed():
    assert in_blocks([0.15] * 6, [0.05] * 6, busy_seconds=0.155) == ""


def test_short_waits_of_a_trial_that_leaves_its_cores_idle_are_no_noise():
    assert (
        noise(
            placed=GPU,
            block_cpu_seconds=((0.01,) * 6,),
            core_wait_seconds=((0.009,) * 6,),
            busy_core_seconds=((0.7,) * 6,),
        )
        == ""
    )


def test_the_load_of_the_minute_before_is_no_noise_where_no_thread_waited():
    assert in_blocks([0.19] * 6, [0.001] * 6, load_average=(9.0, 8.0)) == ""


def test_a_trial_of_two_hosts_is_disturbed_where_one_of_them_is():
    spec = trial_spec(num_workers=2)
    placed = placement(spec, num_hosts=2, num_processes=2, cpus=1)
    waits = ((0.0,) * 6, (0.05,) * 6)
    times = {"block_seconds": ((0.1,) * 6,) * 2, "cpu_seconds": (0.3, 0.3)}
    times |= {"block_cpu_seconds": ((0.05,) * 6,) * 2, "core_wait_seconds": waits}
    times |= {"busy_core_seconds": ((0.1,) * 6,) * 2}
    assert noise(placed=placed, **times) == "50% waiting for a core"
    assert noise(placed=placed, **times | {"core_wait_seconds": ((0.0,) * 6,) * 2}) == ""


def test_ranks_that_take_turns_on_a_core_are_busy_together():
    blocks = ((0.1,) * 6, (0.1,) * 6)
    assert noise(block_seconds=blocks, cpu_seconds=(0.3, 0.3)) == ""


def test_a_trial_on_an_accelerator_may_leave_its_cores_idle():
    assert noise(placed=GPU, cpu_seconds=(0.05,)) == ""
    assert noise(placed=GPU, load_average=(11, 9)) == "load 11.00 on 8 cores"


def test_a_trial_without_training_or_timing_is_not_judged():
    assert noise(placed=placement(trains=False), cpu_seconds=(0.0,)) == ""
    assert noise(block_seconds=(), load_average=(9, 9)) == ""


@pytest.mark.parametrize(("loads", "count"), [((1, 1, 1), 0), ((1, 9, 9), 2)])
def test_a_measurement_counts_its_noisy_repeats(loads, count):
    records = [
        measured(repeat=index, recorded={"load_average": (load, load)}) for index, load in enumerate(loads)
    ]
    (only,) = find_measured(build_frame(records))
    assert only.num_noisy == count


@pytest.mark.parametrize(
    ("quiet_rates", "noisy_rates", "deciding"),
    [
        ((4483,), (), (4483,)),
        ((4483, 216), (4822,), (4483,)),  # a disturbed repeat was 22 times as fast as a quiet one
        ((216,), (4822,), ()),
        ((4483,), (216,), (4483,)),
        ((4483, 216), (), ()),  # nothing tells which one is right
        ((4483, 216, 4600), (), (4483, 4600)),
        ((100, 102, 101, 500), (), (100, 102, 101)),
        ((100, 101, 200, 202), (), ()),
        ((100, 149), (), (100, 149)),
    ],
)
def test_repeats_that_disagree_with_the_others_do_not_decide(quiet_rates, noisy_rates, deciding):
    rates = (*quiet_rates, *noisy_rates)
    quiet = [True] * len(quiet_rates) + [False] * len(noisy_rates)
    decides = find_deciding(rates, quiet)
    assert tuple(rate for rate, counts in zip(rates, decides, strict=True) if counts) == deciding


def test_numbers_of_a_setting_are_those_of_the_repeats_that_decide():
    records = [
        *repeats(rates=(4483, 216)),
        *repeats(rates=(4822,), recorded={"load_average": (9, 9)}, seed=1),
    ]
    (only,) = find_measured(build_frame(records))
    assert (only.num_repeats, only.num_deciding, only.num_noisy, only.num_outliers) == (3, 1, 1, 1)
    assert only.samples_per_second.median == pytest.approx(4483)
    assert only.deciding_rates == pytest.approx((4483,))


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
def test_a_measurement_with_steps_that_waited_over_a_tenth_of_1_3_seconds_shows_it(
    seconds, provenance, waits
):
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
def test_a_measurement_on_an_accelerator_with_too_few_steps_for_the_seconds_shows_it(
    kind, timing, times, is_short
):
    placed = placement(trial_spec(device="t4", host_cpu=None, timing=TimingSpec(**timing)), kind="gpu")
    device = DeviceFacts(kind=kind, name="Tesla T4", count=1, precision="fp32")
    result = train_result(devices=(device,), **times)
    assert is_timed_too_shortly(record(placement=placed, result=result)) is is_short


class CountedRate(float):
    """A rate that counts how often it is compared."""

    comparisons = 0

    def __lt__(self, other):
        CountedRate.comparisons += 1
        return float(self) < other

    def __gt__(self, other):
        CountedRate.comparisons += 1
        return float(self) > other


def test_four_times_the_repeats_take_at_most_five_times_the_comparisons_to_choose():
    def count_comparisons(number):
        CountedRate.comparisons = 0
        found = find_deciding(
            [CountedRate(100 + 20 * (index % 7)) for index in range(number)], [True] * number
        )
        assert set(found) == {True, False}  # rates that are apart, so that each is compared with the others
        return CountedRate.comparisons

    few = count_comparisons(1000)
    assert few > 1000
    assert count_comparisons(4000) <= 5 * few
