"""Verdicts compare repeats of measurements that differ in one factor, and nothing else."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_builders import measured, repeats

from orchestrator.analysis.comparison.compare import compare_fastest, compute_ratio, verdict_on
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.core.interval import Spread

FAST, SLOW = (1300, 1310, 1290, 1305, 1295), (1000, 1010, 990, 1005, 995)
rates = st.lists(st.floats(1, 1e6), min_size=2, max_size=12)


def compared(*groups):
    return compare_fastest(find_measured(build_frame([item for group in groups for item in group])))


def the_one_of(*groups):
    ((only,),) = compared(*groups)
    return only


def test_five_repeats_a_side_show_a_third_more():
    only = the_one_of(repeats("torch_ddp", rates=FAST), repeats("tensorflow", rates=SLOW))
    assert (only.factor, only.where) == ("trainer", "mnist_cnn")
    assert (only.first, only.second, only.verdict) == ("torch_ddp", "tensorflow", "faster")
    assert only.ratio.median == pytest.approx(1.3, rel=1e-3)
    assert 1.2 < only.ratio.low < 1.3 < only.ratio.high < 1.4


def test_repeats_that_differ_more_than_the_sides_show_no_difference():
    rates = (1000, 1200, 1100, 1050, 1150)
    only = the_one_of(
        repeats("torch_ddp", rates=rates), repeats("tensorflow", rates=[rate - 10 for rate in rates])
    )
    assert only.verdict == "no difference shown"
    assert only.ratio.low < 1 < only.ratio.high


def test_one_repeat_each_is_a_ratio_without_interval_and_verdict():
    only = the_one_of([measured("torch_ddp")], [measured("torch_xla")])
    assert only.ratio.median == only.ratio.low == only.ratio.high == pytest.approx(0.024 / 0.011)
    assert only.verdict == "too few repeats"


def test_four_repeats_on_a_side_have_an_interval_and_no_verdict():
    only = the_one_of(repeats("torch_ddp", rates=FAST), repeats("tensorflow", rates=SLOW[:4]))
    assert only.verdict == "too few repeats"
    assert 1.2 < only.ratio.low < 1.3 < only.ratio.high < 1.4


@pytest.mark.parametrize(
    ("low", "high", "num_repeats", "verdict"),
    [
        (1.01, 1.2, 5, "faster"),
        (0.8, 0.99, 5, "slower"),
        (0.9, 1.1, 5, "no difference shown"),
        (1.0, 1.2, 5, "no difference shown"),
        (1.01, 1.2, 4, "too few repeats"),
    ],
)
def test_the_interval_decides_from_five_repeats_on(low, high, num_repeats, verdict):
    assert verdict_on(Spread(median=1, low=low, high=high), num_repeats=num_repeats) == verdict


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bf16", "steps": 400},
        {"precision": "bf16", "global_batch_size": 128},
        {"workload": "vgg16"},
        {"workload_options": {"width": 2}},
        {"steps": 400},
        {"precision": "bf16", "versions": {"torch_ddp": "2.12"}},
        {"precision": "bf16", "trainer_options": {"compile": "on"}},
        {"trainer_options": {"compile": "on", "strategy": "mirrored"}},
        {"host_cpu": "Another CPU x8"},
        {"device": "t4", "host_cpu": None, "versions": {"torch_ddp": "2.12"}},
    ],
)
def test_what_differs_in_more_than_one_factor_or_in_none_that_is_compared_is_not_compared(changes):
    assert compared([measured()], [measured(**changes)]) == ()


@pytest.mark.parametrize(
    ("factor", "sides", "changes"),
    [
        (
            "trainer.compile",
            ("torch_ddp, trainer.compile=on", "torch_ddp"),
            {"trainer_options": {"compile": "on"}},
        ),
        ("versions", ("torch_ddp, torch 3", "torch_ddp, torch 2"), {"versions": {"torch": "3"}, "repeat": 1}),
        (
            "variables",
            ("torch_ddp, OMP_X 1", "torch_ddp"),
            {"versions": {"torch": "2", "OMP_X": "1"}, "repeat": 1},
        ),
        ("precision", ("bf16", "fp32"), {"precision": "bf16"}),
        ("device", ("t4", "cpu"), {"device": "t4", "host_cpu": None}),
        ("workers", ("2 workers", "1 worker"), {"num_workers": 2, "replicas": 2}),
        ("batch", ("batch 128", "batch 64"), {"global_batch_size": 128}),
    ],
)  # fmt: skip
def test_each_factor_is_compared_and_its_sides_are_named_by_it(factor, sides, changes):
    changes = {"versions": {"torch": "2"}, **changes}
    only = the_one_of(
        [measured(step_seconds=0.02, versions={"torch": "2"})], [measured(step_seconds=0.01, **changes)]
    )
    assert (only.factor, only.first, only.second) == (factor, *sides)


def test_results_on_different_data_are_never_compared():
    on_real = [measured(precision=name, data=f"real:{'ab' * 32}") for name in ("fp32", "bf16")]
    groups = compared([measured(), measured(precision="bf16")], on_real)
    assert {pair.where for group in groups for pair in group} == {
        "mnist_cnn, stand-in 1f2e3d4c",
        "mnist_cnn, real abababab",
    }


def test_a_trainer_without_training_is_not_compared():
    idle = measured("torch_xla", step_seconds=1e-6, placed={"trains": False})
    assert compared([measured("torch_ddp"), idle]) == ()


def test_the_fastest_is_compared_with_each_of_the_others_the_next_one_first():
    (group,) = compared([measured(name) for name in ("torch_xla", "tensorflow", "torch_ddp")])
    assert [(item.first, item.second) for item in group] == [
        ("torch_ddp", "tensorflow"),
        ("torch_ddp", "torch_xla"),
    ]


def test_a_disturbed_side_makes_a_comparison_noisy():
    busy = repeats("tensorflow", rates=SLOW, recorded={"load_average": (9, 9)})
    assert the_one_of(repeats("torch_ddp", rates=FAST), busy).is_noisy
    assert not the_one_of(repeats("torch_ddp", rates=FAST), repeats("tensorflow", rates=SLOW)).is_noisy


def test_noisy_repeats_and_outliers_decide_no_comparison():
    others = [
        *repeats("torch_ddp", rates=FAST[:1], seed=8, recorded={"load_average": (9, 9)}),
        *repeats("torch_ddp", rates=[FAST[0] / 20], seed=9),
    ]
    slow = repeats("tensorflow", rates=SLOW)
    alone = the_one_of(repeats("torch_ddp", rates=FAST), slow)
    assert the_one_of([*repeats("torch_ddp", rates=FAST), *others], slow).ratio == alone.ratio
    assert the_one_of([*repeats("torch_ddp", rates=FAST[:4]), *others], slow).verdict == "too few repeats"


def test_two_repeats_a_side_worked_out_by_hand():
    ratio = compute_ratio([math.e**2, math.e**4], [math.e, math.e])
    # mean logarithms 3 and 1; variance 2 and 0; half width 12.706 * sqrt(2 / 2 + 0)
    assert math.log(ratio.median) == pytest.approx(2)
    assert math.log(ratio.low) == pytest.approx(2 - 12.706)
    assert math.log(ratio.high) == pytest.approx(2 + 12.706)


@given(rates, rates)
def test_the_ratio_of_the_sides_turned_round_is_its_inverse(first, second):
    one, other = compute_ratio(first, second), compute_ratio(second, first)
    assert one.low <= one.median <= one.high
    assert math.isclose(one.median * other.median, 1)
    assert one.low == other.high == 0 or math.isclose(one.low * other.high, 1) or math.isinf(other.high)


@pytest.mark.parametrize("size", [2, 3, 5, 10])
def test_equal_sides_are_called_different_about_once_in_twenty_at_most(size):
    rng = random.Random(1)
    intervals = [
        compute_ratio(*([rng.lognormvariate(7, 0.05) for _ in range(size)] for _ in range(2)))
        for _ in range(2000)
    ]
    assert sum(not interval.low <= 1 <= interval.high for interval in intervals) / len(intervals) <= 0.06


def test_welchs_interval_of_five_repeats_worked_out_by_hand():
    # mean logarithms 3 and 1; variances 2.5 and 2.5; error 1, 8 degrees of freedom: half width 2.306 * 1
    first, second = ([math.exp(mean + value) for value in (-2, -1, 0, 1, 2)] for mean in (3, 1))
    ratio = compute_ratio(first, second)
    assert math.log(ratio.median) == pytest.approx(2)
    assert math.log(ratio.high) - math.log(ratio.low) == pytest.approx(2 * 2.306)


def test_the_same_build_for_another_kind_of_device_is_the_same_version():
    on_cpu = [measured(versions={"torch": "2.9.0+cpu"})]
    on_gpu = [measured(device="t4", host_cpu=None, step_seconds=0.001, versions={"torch": "2.9.0+cu128"})]
    assert the_one_of(on_cpu, on_gpu).factor == "device"


def test_trainers_meet_with_the_same_value_of_an_option_that_both_have():
    compiled = {"trainer_options": {"compile": "on"}}
    groups = compared(
        *([measured(name)] for name in ("torch_ddp", "tensorflow")),
        *([measured(name, step_seconds=0.008, **compiled)] for name in ("torch_ddp", "tensorflow")),
        [measured("torch_xla")],
    )
    by_trainer = {(item.first, item.second) for group in groups for item in group if item.factor == "trainer"}
    assert by_trainer == {
        ("torch_ddp, trainer.compile=on", "tensorflow, trainer.compile=on"),
        ("torch_ddp, trainer.compile=on", "torch_xla"),
        ("torch_ddp", "tensorflow"),
        ("torch_ddp", "torch_xla"),
    }
    assert {item.factor for group in groups for item in group} == {"trainer", "trainer.compile"}


def test_a_gpu_is_compared_with_the_cpu_of_each_host_and_the_cpus_never_with_each_other():
    hosts = [
        measured(host_cpu=each, step_seconds=seconds) for each, seconds in (("A x2", 0.01), ("B x2", 0.02))
    ]
    (group,) = compared(hosts, [measured(device="t4", host_cpu=None, step_seconds=0.001)])
    assert [(item.first, item.second) for item in group] == [("t4", "cpu, A x2"), ("t4", "cpu, B x2")]
    assert compared(hosts) == ()
