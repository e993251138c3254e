"""Which whole trainings no other one beats, and which one a wish asks for."""

from dataclasses import replace

import pytest
from builders import record, train_result
from hypothesis import given
from hypothesis import strategies as st
from price_values import price
from report_cases import AIMS, measured, plan_of

from orchestrator.analysis.advice import advice_on, wish_in_words
from orchestrator.analysis.findings import findings_of
from orchestrator.analysis.frame import frame_of
from orchestrator.analysis.measured import measured_of
from orchestrator.analysis.pareto import Candidate, Job, jobs_of, with_front
from orchestrator.core.errors import ConfigError
from orchestrator.core.placement import Aim
from orchestrator.core.result import Failure
from orchestrator.core.wish import Wish

ACCURACY = Aim(metric="accuracy", higher_is_better=True)
DISTANCE = Aim(metric="frechet_distance", higher_is_better=False)
SLOW = Candidate(label="slow", seconds=14400, quality=0.99, cost_usd=1.0, cost_marks="re-priced")
FAST = Candidate(label="fast", seconds=600, quality=0.95, cost_usd=9.0)
MIDDLE = Candidate(label="middle", seconds=3600, quality=0.98, cost_usd=4.0)
BEATEN = Candidate(label="beaten", seconds=3700, quality=0.97, cost_usd=5.0)
ALL = (SLOW, FAST, MIDDLE, BEATEN)


def job(*candidates, aim=ACCURACY):
    return Job(where="mnist_cnn", aim=aim, candidates=with_front(candidates, aim))


def chosen(*candidates, aim=ACCURACY, **wish):
    found = advice_on(job(*candidates, aim=aim), Wish(**wish))
    return found.chosen.label if found.chosen else found.reason


def lasting(seconds, **changes):
    """A measured trial whose attempt took that long, at a tenth of a cent a second."""
    return replace(measured(**{"price": price(), **changes}), started_at=0.0, ended_at=float(seconds))


def front(*candidates, aim=ACCURACY):
    return [each.label for each in with_front(candidates, aim) if each.on_front]


def test_the_front_is_what_no_other_one_beats_in_everything():
    assert front(*ALL) == ["fast", "middle", "slow"]


def test_of_a_distance_less_is_better():
    near = Candidate(label="near", seconds=2, quality=5.0)
    far = Candidate(label="far", seconds=2, quality=9.0)
    assert front(near, far, aim=DISTANCE) == ["near"]
    assert front(near, far, aim=ACCURACY) == ["far"]


def test_equals_are_both_on_the_front():
    assert front(*(Candidate(label=each, seconds=1, quality=0.9) for each in "ab")) == ["a", "b"]


def test_what_lacks_a_cost_that_another_one_has_is_not_judged():
    assert front(FAST, Candidate(label="unpriced", seconds=1, quality=1.0)) == ["fast"]


def test_without_quality_and_cost_the_front_is_the_fastest():
    assert front(*(Candidate(label=str(each), seconds=each) for each in (3, 1, 2)), aim=None) == ["1"]


numbers = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))


@given(st.lists(numbers, min_size=1, max_size=12))
def test_nobody_on_the_front_is_beaten_and_everybody_else_is(several):
    found = with_front(
        [
            Candidate(label=str(index), seconds=seconds, quality=float(quality), cost_usd=float(cost))
            for index, (seconds, quality, cost) in enumerate(several)
        ],
        ACCURACY,
    )

    def beats(one, other):
        values = [(each.seconds, each.cost_usd, -each.quality) for each in (one, other)]
        return all(a <= b for a, b in zip(*values, strict=True)) and values[0] != values[1]

    for each in found:
        assert each.on_front == (not any(beats(other, each) for other in found))


@pytest.mark.parametrize(
    ("wish", "label"),
    [
        ({}, "fast"),
        ({"goal": "cheapest"}, "slow"),
        ({"goal": "cheapest", "deadline_hours": 2}, "middle"),
        ({"goal": "cheapest", "deadline_hours": 1}, "middle"),
        ({"goal": "fastest", "budget_usd": 5}, "middle"),
        ({"goal": "fastest", "quality": 0.98}, "middle"),
        ({"goal": "best"}, "slow"),
        ({"goal": "best", "deadline_hours": 2, "budget_usd": 4.5}, "middle"),
        ({"goal": "balanced", "weight_time": 1, "weight_cost": 0, "weight_quality": 0}, "fast"),
        ({"goal": "balanced", "weight_time": 0, "weight_cost": 1, "weight_quality": 0}, "slow"),
        ({"goal": "balanced"}, "middle"),
        ({"deadline_hours": 0.1}, "none keeps to that; the fastest takes 600.0 s"),
        (
            {"budget_usd": 0.5},
            "none keeps to that; the fastest takes 600.0 s, the cheapest costs $1.000 re-priced",
        ),
    ],
)
def test_a_wish_is_answered(wish, label):
    assert chosen(*ALL, **wish) == label


def test_a_balance_worked_out_by_hand():
    # time 0, 1, 0.5; quality 1, 0, 0.25 short: sums 2 x 0 + 1, 2 x 1 + 0, 2 x 0.5 + 0.25
    several = [
        Candidate(label=each, seconds=seconds, quality=quality)
        for each, seconds, quality in (("a", 10, 0.5), ("b", 30, 0.9), ("c", 20, 0.8))
    ]
    assert chosen(*several, goal="balanced", weight_time=2) == "a"
    assert chosen(*several, goal="balanced", weight_quality=2) == "c"


@pytest.mark.parametrize("wish", [{"goal": "cheapest"}, {"budget_usd": 5}])
def test_without_any_price_nothing_is_called_cheap(wish):
    assert chosen(Candidate(label="a", seconds=1, quality=0.9), **wish) == "no cost of any of them is known"


@pytest.mark.parametrize("wish", [{"goal": "best"}, {"quality": 0.9}])
def test_without_any_quality_nothing_is_called_good(wish):
    assert chosen(Candidate(label="a", seconds=1), **wish) == "no quality of any of them is known"


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({}, "fastest"),
        ({"goal": "cheapest", "deadline_hours": 2}, "cheapest within 2 h"),
        ({"goal": "best", "deadline_hours": 2, "budget_usd": 5}, "best within 2 h and $5"),
        ({"quality": 0.96}, "fastest with accuracy 0.96"),
    ],
)
def test_a_wish_is_said_in_words(wish, words):
    assert wish_in_words(Wish(**wish), ACCURACY) == words


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"deadline_hours": 0}, "report.deadline_hours=0 must be above 0 and finite"),
        ({"budget_usd": -1.0}, "report.budget_usd=-1.0 must be above 0 and finite"),
        ({"quality": float("nan")}, "report.quality=nan must be finite"),
        ({"weight_cost": -1}, "report.weight_cost=-1 must not be negative, and finite"),
        (
            {"weight_time": 0, "weight_cost": 0, "weight_quality": 0},
            "report.weight_time, report.weight_cost, report.weight_quality are all 0; one must not be",
        ),
    ],
)
def test_a_wish_that_nothing_can_meet_is_refused(wish, message):
    with pytest.raises(ConfigError) as raised:
        Wish(**wish)
    assert str(raised.value) == message


def test_the_time_of_a_training_is_launch_and_training_and_evaluation():
    records = [
        measured(
            repeat=index,
            recorded={"launch_seconds": 1.0, "training_seconds": each, "evaluation_seconds": 0.5},
        )
        for index, each in enumerate((7.0, 9.0, 8.0))
    ]
    ((only,),) = (each.candidates for each in jobs_of(measured_of(frame_of(records)), AIMS))
    assert only.seconds == 9.5
    assert (only.quality, only.cost_usd) == (train_result().quality["accuracy"], None)


def candidates_of(records):
    (found,) = jobs_of(measured_of(frame_of(records)), AIMS)
    return found.candidates


def test_the_cost_of_a_training_is_that_of_the_attempt_that_gave_the_result():
    # 10, 12 and 14 seconds at a tenth of a cent each; the failed attempt takes 1000
    done = [lasting(seconds, repeat=index) for index, seconds in enumerate((10, 14, 12))]
    failed = record(
        spec=done[0].spec,
        price=price(),
        failure=Failure(kind="error", message="lost"),
        started_at=0.0,
        ended_at=1000.0,
    )
    (only,) = candidates_of([failed, *done])
    assert (only.cost_usd, only.cost_marks) == (pytest.approx(0.012), "")


@pytest.mark.parametrize(
    ("changes", "marks"),
    [
        ({"is_hypothetical": True}, "hypothetical"),
        ({"is_hypothetical": True, "is_repriced": True}, "hypothetical, re-priced"),
        ({"as_of": "2025-09-01"}, "old"),
    ],
)
def test_a_cost_has_the_marks_of_its_price(changes, marks):
    (only,) = candidates_of([lasting(10, price=price(**changes))])
    assert only.cost_marks == marks


def test_repeats_at_different_prices_have_no_cost_together():
    prices = (price(), price(is_hypothetical=True))
    (only,) = candidates_of([lasting(10, repeat=index, price=each) for index, each in enumerate(prices)])
    assert (only.cost_usd, only.cost_marks) == (None, "")


def test_a_repeat_without_a_price_leaves_its_setting_without_a_cost():
    (only,) = candidates_of([lasting(10), lasting(10, repeat=1, price=None)])
    assert only.cost_usd is None


@pytest.mark.parametrize(
    ("wish", "precision"),
    [
        ({"goal": "fastest"}, "fp32"),
        ({"goal": "cheapest"}, "bf16"),
        ({"goal": "fastest", "budget_usd": 0.05}, "bf16"),
        ({"goal": "fastest", "budget_usd": 0.2}, "fp32"),
    ],
)
def test_records_with_prices_answer_a_wish_about_cost(wish, precision):
    dear = price(node_usd_per_hour=36.0)
    records = [
        lasting(10, price=dear, recorded={"training_seconds": 5.0}),
        lasting(20, precision="bf16", recorded={"training_seconds": 15.0}),
    ]
    (found,) = findings_of(records, plan_of(records), Wish(**wish)).advice
    assert found.chosen.label == f"cpu, torch_ddp, {precision}"
    assert [each.on_front for each in found.job.candidates] == [True, True]


def test_trainings_on_other_data_or_of_another_workload_are_other_jobs():
    changes = ({}, {"precision": "bf16"}, {"data": f"real:{'ab' * 32}"}, {"workload_options": {"width": 2}})
    found = jobs_of(measured_of(frame_of([measured(**each) for each in changes])), AIMS)
    assert sorted(len(each.candidates) for each in found) == [1, 1, 2]


def test_a_workload_whose_aim_is_not_known_has_no_quality_in_the_choice():
    (found,) = jobs_of(measured_of(frame_of([measured()])), {})
    assert [each.quality for each in found.candidates] == [None]


def test_what_trains_nothing_is_no_job():
    assert jobs_of(measured_of(frame_of([measured(placed={"trains": False})])), AIMS) == ()
