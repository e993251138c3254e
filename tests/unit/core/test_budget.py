"""Budget computed by hand: 3.60 USD per hour are a tenth of a cent per second."""

import math
from dataclasses import replace

import pytest
from builders import placement, record, train_result, trial_spec
from plan_builders import held, here
from price_builders import price

from orchestrator.core.budget import Budget, CostEstimate, CostRate, Spend
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate
from orchestrator.core.interval import Spread
from orchestrator.core.price import Unpriced
from orchestrator.core.result import Failure
from orchestrator.core.settings import Deadlines
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.plan.spending import Quotes, compute_spend

START = 1_790_000_000.0
DEADLINES = Deadlines(resources_seconds=600.0, start_seconds=100.0, run_seconds=900.0)
HALF_HOUR = Spend(usd=1.5, node_hours=0.5)


class Market:
    """Every device costs a tenth of a cent a second; the CPU of this host nothing."""

    def find_price(self, placed):
        free = placed.trial.device == "cpu"
        return Unpriced(reason="a laptop") if free else price(nodes=placed.num_hosts)


def ran(placed, seconds, *, at=START, **changes):
    """The record of an attempt that took so long."""
    told = {"result": None} if "failure" in changes else {"result": train_result()}
    made = record(placement=placed, started_at=at, ended_at=at + seconds, price=Market().find_price(placed))
    return replace(made, **{**told, **changes})


def gpu(seed=0, *, repeat=0, **changes):
    trial = trial_spec(device="t4", seed=seed, repeat=repeat)
    return placement(trial, kind="gpu", devices=1, cpus=1, **changes)


def tracker(*records, now=lambda: 0.0, idle_seconds=0.0, **caps):
    price_book = Market()
    return BudgetTracker(
        Budget(**caps),
        records=records,
        quotes=Quotes(records, price_book=price_book, deadlines=DEADLINES),
        price_book=price_book,
        idle_seconds=idle_seconds,
        clock=now,
    )


@pytest.mark.parametrize("name", ["usd", "hours", "usd_per_trial", "confirm_usd"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_cap_that_cannot_be_is_one_line(name, value):
    with pytest.raises(ConfigError, match=rf"^budget\.{name}={value} must be 0 or more and finite, or null"):
        Budget(**{name: value})


@pytest.mark.parametrize(
    ("caps", "passed"),
    [
        ({}, None),
        ({"usd": 4.5}, None),
        ({"usd": 4.4}, "budget.usd=4.4"),
        ({"hours": 1.5}, None),
        ({"hours": 1.4}, "budget.hours=1.4"),
        ({"usd_per_trial": 3}, None),
        ({"usd_per_trial": 2}, "budget.usd_per_trial=2"),
    ],
)
def test_a_cap_is_passed_by_what_comes_on_top_of_the_rest(caps, passed):
    spent = Spend(usd=3.0, node_hours=1.0)
    assert Budget(**caps).passed_by(HALF_HOUR, spent=spent, of_trial=HALF_HOUR) == passed


def test_a_free_trial_passes_no_cap_of_money_even_if_it_is_spent():
    free = Spend(node_hours=1.0)
    assert Budget(usd=1).passed_by(free, spent=Spend(usd=2.0), of_trial=Spend()) is None


def test_sums_of_floats_that_are_equal_to_the_cap_do_not_pass_it():
    tenths = sum([Spend(usd=0.1)] * 9, Spend())
    assert Budget(usd=1).passed_by(Spend(usd=0.1), spent=tenths, of_trial=Spend()) is None


def test_money_is_counted_in_whole_billing_periods_and_hours_by_node():
    rate = CostRate(nodes=1, price=price(nodes=2, billing_seconds=60.0))
    assert rate.of(61) == Spend(usd=120 * 2 * 0.001, node_hours=240 / 3600)
    assert CostRate(nodes=2, price=None).of(1800) == Spend(node_hours=1.0)


def test_failed_attempts_cost_and_what_never_had_hardware_or_another_sweep_has_paid_for_does_not():
    failed = Failure(kind="oom", message="killed")
    assert compute_spend(ran(gpu(), 1000, failure=failed)).usd == 1.0
    assert compute_spend(ran(gpu(), 1000, failure=Failure(kind="infeasible", message="no node"))) == Spend()
    assert compute_spend(ran(gpu(), 1000, reused_from="another")) == Spend()


def test_an_attempt_likely_takes_what_other_repeats_took_or_else_its_deadlines():
    told = [ran(gpu(repeat=each), seconds) for each, seconds in enumerate((10, 30, 20))]
    quotes = Quotes(told, price_book=Market(), deadlines=DEADLINES)
    rate = CostRate(nodes=1, price=price())
    known = CostEstimate(
        rate=rate, seconds=20, known_by="measured", expected=Spread(median=20, low=10, high=30)
    )
    assert quotes.of(gpu(repeat=7)) == known
    assert quotes.of(gpu(seed=1)) == CostEstimate(rate=rate, seconds=1000, known_by="deadline")


def test_a_trial_without_a_record_likely_takes_its_predicted_steps_and_what_its_trainer_takes_beside():
    step = Estimate(low=0.5, likely=1.0, high=2.0, source="published")
    trial = trial_spec(device="t4", precision="bf16", steps=200)
    placed = placement(trial, kind="gpu", devices=1, cpus=1)
    result = train_result()
    beside = 300.0 - (result.training_seconds - result.first_step_seconds)
    quotes = Quotes([ran(gpu(), 300)], price_book=Market(), deadlines=DEADLINES, predict_step=lambda _: step)
    expected = Spread(median=beside + 200, low=beside + 100, high=beside + 400)
    rate = CostRate(nodes=1, price=price())
    predicted = CostEstimate(rate=rate, seconds=1000, known_by="predicted", expected=expected)
    assert quotes.of(placed) == predicted
    unknown_setup = Quotes([], price_book=Market(), deadlines=DEADLINES, predict_step=lambda _: step).of(
        placed
    )
    steps_alone = Spread(median=200.0, low=100.0, high=400.0)
    assert unknown_setup == replace(predicted, expected=steps_alone, is_without_setup=True)


def test_a_resumed_attempt_and_a_failed_one_do_not_quote_the_time_of_a_trial():
    part = train_result(resumed_from_step=60)
    told = [ran(gpu(), 10, result=part), ran(gpu(), 10, failure=Failure(kind="error", message="no"))]
    assert not Quotes(told, price_book=Market(), deadlines=DEADLINES).of(gpu()).is_recorded


def test_attempts_of_earlier_commands_count_and_those_that_run_count_whole():
    before = ran(gpu(seed=1), 500)
    held_back = tracker(before, usd=2.5)
    assert held_back.can_start(gpu(seed=2))  # 0.50 and 1.00 at its deadlines
    held_back.start(gpu(seed=2))
    assert held_back.can_start(gpu(seed=3))
    held_back.start(gpu(seed=3))
    assert not held_back.can_start(gpu(seed=4))


def test_a_trial_that_ended_cheaper_than_thought_makes_room():
    held_back = tracker(usd=1.5)
    held_back.start(gpu(repeat=0))
    assert not held_back.can_start(gpu(repeat=1))
    held_back.end(ran(gpu(repeat=0), 200))
    assert held_back.can_start(gpu(repeat=1))


def test_all_attempts_at_a_trial_count_for_its_own_cap():
    lost = ran(gpu(), 600, failure=Failure(kind="worker_lost", message="gone"))
    held_back = tracker(lost, usd_per_trial=1.5)
    assert not held_back.can_start(gpu())
    assert held_back.can_start(gpu(seed=1))


def test_a_trial_without_a_price_costs_hours_alone():
    free = placement()
    assert tracker(usd=0).can_start(free)
    assert not tracker(hours=0.2).can_start(free)
    told = tracker(ran(free, 360), usd=1).balance
    assert (told.spent, told.num_unpriced) == (Spend(node_hours=0.1), 1)


def test_what_runs_must_leave_when_the_cap_is_passed_and_not_before():
    clock = [0.0]
    held_back = tracker(now=lambda: clock[0], usd=1.0)
    held_back.start(gpu())
    clock[0] = 1000.0
    assert not held_back.over_budget()
    clock[0] = 1001.0
    assert set(held_back.over_budget()) == {gpu().trial_id}


def test_a_dropped_attempt_that_never_began_costs_no_money():
    clock = [0.0]
    queue = Queue(
        [gpu(0), gpu(1)],
        inventory=here(cpus=4, devices={"t4": held(4)}),
        prior_attempts={},
        retry_limits={},
        budget_tracker=tracker(now=lambda: clock[0], usd=2.0),
    )
    queue.take()
    never_begun = queue.take()
    clock[0] = 900.0
    queue.drop(never_begun)
    clock[0] = 1900.0
    assert queue.leaving() == ()


def test_only_what_costs_money_leaves_for_money():
    clock = [0.0]
    held_back = tracker(now=lambda: clock[0], usd=1.0)
    held_back.start(placement())
    held_back.start(gpu())
    clock[0] = 2000.0
    assert set(held_back.over_budget()) == {gpu().trial_id}


def test_a_trial_stopped_for_the_budget_fails_with_that_cause_and_others_keep_theirs():
    clock = [0.0]
    held_back = tracker(now=lambda: clock[0], usd=1.0)
    held_back.start(gpu())
    told = ran(gpu(), 1001, failure=Failure(kind="preempted", message="told to leave (SIGTERM) after step 7"))
    assert held_back.with_cause(told) is told
    clock[0] = 1001.0
    held_back.over_budget()
    failure = held_back.with_cause(told).failure
    assert failure == Failure(
        kind="budget", message="told to leave (SIGTERM) after step 7: budget.usd=1 is spent"
    )
    ended = ran(gpu(), 1001)
    assert held_back.with_cause(ended) is ended
    held_back.end(held_back.with_cause(told))
    assert held_back.balance.stopped == ("budget.usd=1",)


def test_nodes_of_a_pool_are_billed_between_trials_and_until_they_go_away():
    on_node = {"pool": "t4", "node": "t4-aaaaaa"}
    first, second = ran(gpu(**on_node), 100), ran(gpu(1, **on_node), 100, at=START + 130)
    told = tracker(first, second, usd=9, idle_seconds=60.0).balance.spent
    assert told.usd == pytest.approx(0.1 + 0.03 + 0.1 + 0.06)
    later = ran(gpu(1, **on_node), 100, at=START + 9999)
    assert tracker(first, later, usd=9, idle_seconds=60.0).balance.spent.usd == pytest.approx(0.2 + 2 * 0.06)


def test_a_trial_for_which_a_node_comes_up_likely_costs_what_the_node_will_idle():
    clock = [0.0]
    waits = {"pool": "t4", "node": "t4"}
    known = ran(gpu(repeat=1), 100, reused_from="another")  # 0.10 for the trial, 0.06 for its node
    assert not tracker(known, usd=0.15, idle_seconds=60.0).can_start(gpu(**waits))
    held_back = tracker(known, now=lambda: clock[0], usd=0.3, idle_seconds=60.0)
    held_back.start(gpu(repeat=2, **waits))
    held_back.end(ran(gpu(repeat=2, pool="t4", node="t4-aaaaaa"), 100))
    assert held_back.can_start(gpu(repeat=3, **waits))  # on the node that idles
    clock[0] = 50.0
    assert not held_back.can_start(gpu(repeat=3, **waits))  # for which it has idled meanwhile
    clock[0] = 61.0
    assert not held_back.can_start(gpu(repeat=3, **waits))  # it is gone


def test_what_does_not_fit_waits_while_something_runs_and_is_then_left_out():
    held_back = tracker(usd=1.5)
    queue = Queue(
        [gpu(0), gpu(1), gpu(0, repeat=1)],
        inventory=here(cpus=4, devices={"t4": held(4)}),
        prior_attempts={},
        retry_limits={},
        budget_tracker=held_back,
    )
    assert queue.take().placement == gpu(0)
    assert queue.take() is None
    assert not held_back.balance.left_out
    queue.end(ran(gpu(0), 600))
    assert queue.take().placement == gpu(0, repeat=1)
    assert [cap for cap, _ in held_back.balance.left_out] == ["budget.usd=1.5"]
    queue.end(ran(gpu(0, repeat=1), 600))
    assert queue.take() is None
    assert queue.is_drained


def test_a_forecast_takes_trials_in_their_order_as_long_as_they_fit():
    known = ran(gpu(1), 300, reused_from="another")
    told = tracker(known, usd=1.5).forecast([gpu(0), gpu(2), gpu(1, repeat=1)])
    assert [quote.seconds for quote in told.quotes] == [1000, 300]
    assert [quote.seconds for _, quote in told.left_out] == [1000]
