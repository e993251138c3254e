"""Verdicts compare repeats of measurements that differ in one factor, and nothing else."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import measured, repeats

from orchestrator.analysis.compare import comparisons_of, ratio_of
from orchestrator.analysis.frame import frame_of
from orchestrator.analysis.measured import measured_of

FAST, SLOW = (1300, 1310, 1290), (1000, 1010, 990)
rates = st.lists(st.floats(1, 1e6), min_size=2, max_size=12)


def compared(*groups):
    return comparisons_of(measured_of(frame_of([each for group in groups for each in group])))


def the_one_of(*groups):
    ((only,),) = compared(*groups)
    return only


def test_three_repeats_a_side_show_a_third_more():
    only = the_one_of(repeats("torch_ddp", rates=FAST), repeats("tensorflow", rates=SLOW))
    assert (only.factor, only.where) == ("trainer", "mnist_cnn")
    assert (only.first, only.second, only.verdict) == ("torch_ddp", "tensorflow", "faster")
    assert only.ratio.median == pytest.approx(1.3, rel=1e-3)
    assert 1.2 < only.ratio.low < 1.3 < only.ratio.high < 1.4


def test_repeats_that_differ_more_than_the_sides_show_no_difference():
    only = the_one_of(repeats("torch_ddp", rates=(1000, 1200)), repeats("tensorflow", rates=(990, 1190)))
    assert only.verdict == "no difference shown"
    assert only.ratio.low < 1 < only.ratio.high


def test_one_repeat_each_is_a_ratio_without_a_verdict():
    only = the_one_of([measured("torch_ddp")], [measured("torch_xla")])
    assert only.ratio.median == only.ratio.low == only.ratio.high == pytest.approx(0.024 / 0.011)
    assert only.verdict == "one repeat each: no verdict"


def test_one_repeat_against_several_is_no_verdict_either():
    only = the_one_of(repeats("torch_ddp", rates=FAST), [measured("torch_xla")])
    assert only.verdict == "one repeat against 3 repeats: no verdict"


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bf16", "seed": 1},
        {"precision": "bf16", "global_batch_size": 128},
        {"workload": "vgg16"},
        {"workload_options": {"width": 2}},
        {"seed": 1},
        {"steps": 400},
        {"precision": "bf16", "versions": {"torch_ddp": "2.12"}},
    ],
)
def test_what_differs_in_more_than_one_factor_or_in_none_that_is_compared_is_not_compared(changes):
    assert compared([measured()], [measured(**changes)]) == ()


@pytest.mark.parametrize(
    ("factor", "sides", "changes"),
    [
        ("trainer", ("torch_ddp, trainer.a=1", "torch_ddp"), {"trainer_options": {"a": 1}}),
        ("trainer", ("torch_ddp, torch 3", "torch_ddp, torch 2"), {"versions": {"torch": "3"}, "repeat": 1}),
        ("precision", ("bf16", "fp32"), {"precision": "bf16"}),
        ("device", ("t4", "cpu, Some CPU x2"), {"device": "t4", "host_cpu": None}),
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
    on_real = [measured(precision=each, data=f"real:{'ab' * 32}") for each in ("fp32", "bf16")]
    groups = compared([measured(), measured(precision="bf16")], on_real)
    assert {pair.where for group in groups for pair in group} == {
        "mnist_cnn, stand-in 1f2e3d4c",
        "mnist_cnn, real abababab",
    }


def test_a_trainer_that_trains_nothing_wins_nothing():
    idle = measured("torch_xla", step_seconds=1e-6, placed={"trains": False})
    assert compared([measured("torch_ddp"), idle]) == ()


def test_the_fastest_is_compared_with_each_of_the_others_the_next_one_first():
    (group,) = compared([measured(each) for each in ("torch_xla", "tensorflow", "torch_ddp")])
    assert [(each.first, each.second) for each in group] == [
        ("torch_ddp", "tensorflow"),
        ("torch_ddp", "torch_xla"),
    ]


def test_a_disturbed_side_makes_a_comparison_noisy():
    busy = repeats("tensorflow", rates=SLOW, recorded={"load_average": (9, 9)})
    assert the_one_of(repeats("torch_ddp", rates=FAST), busy).is_noisy
    assert not the_one_of(repeats("torch_ddp", rates=FAST), repeats("tensorflow", rates=SLOW)).is_noisy


def test_two_repeats_a_side_worked_out_by_hand():
    ratio = ratio_of([math.e**2, math.e**4], [math.e, math.e])
    # mean logarithms 3 and 1; variance 2 and 0; half width 12.706 * sqrt(2 / 2 + 0)
    assert math.log(ratio.median) == pytest.approx(2)
    assert math.log(ratio.low) == pytest.approx(2 - 12.706)
    assert math.log(ratio.high) == pytest.approx(2 + 12.706)


@given(rates, rates)
def test_the_ratio_of_the_sides_turned_round_is_its_inverse(first, second):
    one, other = ratio_of(first, second), ratio_of(second, first)
    assert one.low <= one.median <= one.high
    assert math.isclose(one.median * other.median, 1)
    assert one.low == other.high == 0 or math.isclose(one.low * other.high, 1) or math.isinf(other.high)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_equal_sides_are_called_different_at_most_once_in_twenty(size):
    rng = random.Random(1)
    intervals = [
        ratio_of(*([rng.lognormvariate(7, 0.05) for _ in range(size)] for _ in range(2))) for _ in range(2000)
    ]
    assert sum(not each.low <= 1 <= each.high for each in intervals) / len(intervals) <= 0.05
