"""The steady state of a trial, worked out by hand."""

import math

import pytest
from builders import placement, record, train_result
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.timing import metrics_of, samples_per_second_of, step_seconds_of
from orchestrator.core.result import Failure


def test_ten_steps_in_a_tenth_of_a_second_are_ten_milliseconds_a_step():
    assert step_seconds_of(train_result()).median == pytest.approx(0.01)


def test_the_slowest_rank_of_each_block_counts():
    result = train_result(block_seconds=((0.1, 0.4, 0.1), (0.2, 0.1, 0.3)))
    step_seconds = step_seconds_of(result)  # blocks of 0.2, 0.4 and 0.3 s
    assert (step_seconds.low, step_seconds.median, step_seconds.high) == pytest.approx((0.02, 0.03, 0.04))


def test_no_block_is_no_steady_state():
    assert step_seconds_of(train_result(block_seconds=())) is None
    assert step_seconds_of(train_result(block_seconds=((), ()))) is None


def test_batch_64_at_10_milliseconds_is_6400_samples_a_second():
    metrics = metrics_of(record())
    assert metrics["steady_samples_per_second"] == pytest.approx(6400)
    assert metrics["step_seconds_median"] == pytest.approx(0.01)


def test_a_measurement_has_its_times_its_last_loss_and_its_quality():
    assert {name: metrics_of(record())[name] for name in ("setup_seconds", "first_step_seconds")} == {
        "setup_seconds": 0.5,
        "first_step_seconds": 0.2,
    }
    assert metrics_of(record())["final_loss"] == 0.1
    assert metrics_of(record())["accuracy"] == 0.97


def test_a_rehearsal_has_nothing_that_could_be_compared():
    assert metrics_of(record(placement=placement(provenance="rehearsed"))) == {"final_loss": 0.1}


def test_a_failure_has_no_metrics():
    assert metrics_of(record(failure=Failure(kind="oom", message="killed", refused=train_result()))) == {}


def test_a_trial_that_read_no_loss_has_none():
    assert "final_loss" not in metrics_of(record(result=train_result(losses=())))


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), st.integers(1, 10_000))
def test_throughput_is_the_batch_over_the_step_and_its_interval_holds_it(blocks, batch):
    step_seconds = step_seconds_of(train_result(block_seconds=(tuple(blocks),)))
    rate = samples_per_second_of(step_seconds, global_batch_size=batch)
    assert math.isclose(rate.median * step_seconds.median, batch)
    assert rate.low <= rate.median <= rate.high
