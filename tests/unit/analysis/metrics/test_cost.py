"""Costs computed by hand: 3.60 USD per hour are a tenth of a cent per second."""

from dataclasses import fields, replace

import pytest
from builders import placement, pursuit, record, train_result, trial_spec
from hypothesis import given
from hypothesis import strategies as st
from price_builders import price

from orchestrator.analysis.metrics.cost import (
    Bill,
    bill_of_all,
    compute_bill,
    compute_costs,
    find_attempts,
    price_label,
)
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.price import Unpriced
from orchestrator.core.result import Failure

FAILED = Failure(kind="oom", message="killed")
START = 1_790_000_000.0


def attempt(seconds, *, number=1, failure=None, spec=None, **changes):
    """An attempt of so many seconds, that began `number` hours after the first; its price is `changes`."""
    began = START + 3600 * number
    told = {"failure": failure} if failure else {}
    return record(
        attempt=number, spec=spec, started_at=began, ended_at=began + seconds, price=price(**changes), **told
    )


def test_half_an_hour_on_a_three_dollar_node_costs_one_dollar_fifty():
    assert compute_bill(attempt(1800, node_usd_per_hour=3.0)).usd == 1.5


def test_two_nodes_cost_twice_as_much_and_have_twice_the_node_seconds():
    one, two = compute_bill(attempt(60)), compute_bill(attempt(60, nodes=2))
    assert (two.usd, two.billed_node_seconds) == (2 * one.usd, 2 * one.billed_node_seconds) == (0.12, 120)


def test_every_second_of_an_attempt_is_in_one_part():
    """Check 3 s: launch 0.6, first step 0.2, warm-up 0.03, evaluation 0.1; training 1.4 - 0.23; rest 0.9."""
    bill = compute_bill(attempt(3))
    parts = [getattr(bill, field_.name) for field_ in fields(Bill)]
    assert parts == pytest.approx([0.6, 0.2, 0.03, 1.17, 0.1, 0.9, 0.0, 0.003])
    assert bill.billed_node_seconds == 3


@pytest.mark.parametrize(("granularity", "billed"), [(1, 43), (0.1, 42.5), (60, 60), (3600, 3600)])
def test_an_attempt_is_rounded_up_to_what_is_billed(granularity, billed):
    bill = compute_bill(attempt(42.42, billing_seconds=granularity))
    assert bill.billed_node_seconds == pytest.approx(billed)
    assert bill.usd == pytest.approx(billed / 1000)


def test_a_target_costs_what_came_before_it_evaluations_on_the_way_included():
    """Launch 0.6 s, two seconds of training to the second evaluation, both evaluations 0.5 s."""
    aimed = replace(attempt(9), result=train_result(pursuit=pursuit(0.8, 0.93)))
    assert compute_costs(aimed)["usd_to_target"] == pytest.approx(0.0031)
    assert compute_bill(aimed).evaluation_seconds == pytest.approx(0.1 + 0.5)
    missed = replace(attempt(9), result=train_result(pursuit=pursuit(0.8, 0.85)))
    assert "usd_to_target" not in compute_costs(missed)


def test_a_failed_attempt_is_billed_whole():
    assert compute_bill(attempt(8, failure=FAILED)) == Bill(failed_seconds=8, usd=0.008)


def test_a_refused_result_is_a_failed_attempt():
    refused = Failure(kind="invalid_measurement", message="no", refused=train_result())
    assert compute_bill(attempt(8, failure=refused)).failed_seconds == 8


def test_a_wait_for_hardware_that_never_came_costs_no_money():
    assert compute_bill(attempt(600, failure=Failure(kind="infeasible", message="not free"))) == Bill()


def test_a_wall_clock_that_was_set_back_does_not_make_a_trial_cheaper_than_its_parts():
    bill = compute_bill(attempt(-50))  # its parts take 2.1 s
    assert (bill.billed_node_seconds, bill.usd) == (3, 0.003)
    assert bill.other_seconds == pytest.approx(0.9)


@pytest.mark.parametrize("without", [None, Unpriced(reason="no row")])
def test_what_has_no_price_has_no_cost(without):
    assert compute_bill(record(price=without)) is None
    assert bill_of_all([attempt(1), record(price=without)]) is None
    assert compute_costs(record(price=without), samples_per_second=1.0) == {}
    assert price_label(record(price=without)) == ""


def test_a_trial_costs_its_result_and_every_attempt_that_failed_before():
    attempts = [attempt(8, failure=FAILED), attempt(5, number=2, failure=FAILED), attempt(3, number=3)]
    (billed,) = find_attempts(attempts).values()
    bill = bill_of_all(billed)
    assert (bill.failed_seconds, bill.billed_node_seconds) == (13, 16)
    assert bill.usd == pytest.approx(0.016)


def test_each_attempt_has_its_own_price():
    attempts = [attempt(10, failure=FAILED, node_usd_per_hour=1.8), attempt(3, number=2)]
    assert bill_of_all(attempts).usd == pytest.approx(0.005 + 0.003)


def test_an_attempt_that_two_sweeps_share_is_billed_once():
    failed, done = attempt(8, failure=FAILED), attempt(3, number=2)
    (billed,) = find_attempts([failed, done, failed]).values()
    assert billed == (failed, done)


def test_a_result_that_another_one_replaced_is_not_billed_for_the_trial():
    (billed,) = find_attempts([attempt(8), attempt(3, number=2)]).values()
    assert [item.attempt for item in billed] == [2]


def test_a_trial_that_only_failed_is_billed_for_that():
    (billed,) = find_attempts([attempt(8, failure=FAILED), attempt(5, number=2, failure=FAILED)]).values()
    assert bill_of_all(billed).failed_seconds == 13


def test_a_rehearsal_is_not_billed():
    rehearsed = record(placement=placement(trial_spec(device="t4"), provenance="rehearsed"), price=None)
    assert find_attempts([rehearsed]) == {}


def test_a_million_samples_at_6400_a_second_for_a_tenth_of_a_cent_each_second():
    metrics = collect_metrics(attempt(3))
    assert metrics["usd_per_million_samples"] == pytest.approx(156.25 * 0.001)
    assert (metrics["billed_node_seconds"], metrics["attempt_usd"]) == (3, 0.003)


def test_a_failure_has_its_cost_and_no_rate():
    assert collect_metrics(attempt(8, failure=FAILED)) == {"billed_node_seconds": 8, "attempt_usd": 0.008}


def test_a_quality_may_be_called_like_a_cost_and_is_kept_apart():
    metrics = collect_metrics(record(price=price(), result=train_result(quality={"attempt_usd": 0.5})))
    assert (metrics["attempt_usd"], metrics["quality.attempt_usd"]) == (0.003, 0.5)


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, "cpu-box on demand in here, $3.6/h of 2026-09-01"),
        ({"nodes": 2, "provisioning": "spot"}, "2 x cpu-box spot in here, $7.2/h of 2026-09-01"),
        ({"is_hypothetical": True}, "cpu-box on demand in here, $3.6/h of 2026-09-01, list price"),
        (
            {"max_age_days": 20, "is_repriced": True},
            "cpu-box on demand in here, $3.6/h of 2026-09-01, old, re-priced",
        ),
    ],
)
def test_a_price_is_shown_in_one_line_with_what_keeps_it_apart(changes, label):
    assert price_label(attempt(3, **changes)) == label


@given(
    st.floats(0.01, 1e5), st.floats(0.01, 100), st.integers(1, 16), st.sampled_from([0.1, 1.0, 60.0, 3600.0])
)
def test_cost_is_linear_in_price_and_nodes_and_never_below_the_seconds(seconds, usd, nodes, granularity):
    one = compute_bill(attempt(seconds, billing_seconds=granularity))
    found = compute_bill(attempt(seconds, node_usd_per_hour=usd, nodes=nodes, billing_seconds=granularity))
    assert found.usd == pytest.approx(one.usd * usd / 3.6 * nodes)
    assert found.billed_node_seconds == pytest.approx(one.billed_node_seconds * nodes)
    assert one.billed_node_seconds >= seconds - 1e-3
    assert one.billed_node_seconds < max(seconds, 2.1) + granularity + 1e-3
