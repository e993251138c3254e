"""Which of several records of one trial counts."""

from builders import placement, record, trial_spec

from orchestrator.core.result import Failure, latest

FAILURE = Failure(kind="oom", message="killed")
REHEARSED = placement(provenance="rehearsed")


def the_one_of(*records):
    (chosen,) = latest(records).values()
    return chosen


def test_the_last_result_counts():
    assert the_one_of(record(attempt=1), record(attempt=2)).attempt == 2


def test_a_later_failure_does_not_undo_a_result():
    assert the_one_of(record(attempt=1), record(attempt=2, failure=FAILURE)).attempt == 1


def test_the_last_failure_counts_where_there_is_no_result():
    assert the_one_of(record(attempt=1, failure=FAILURE), record(attempt=2, failure=FAILURE)).attempt == 2


def test_a_rehearsal_never_stands_for_a_measurement():
    assert the_one_of(record(), record(placement=REHEARSED)).provenance == "measured"


def test_a_measurement_that_failed_is_not_hidden_by_a_rehearsal():
    assert the_one_of(record(failure=FAILURE), record(placement=REHEARSED)).failure == FAILURE


def test_trials_stay_in_the_order_in_which_they_first_appear():
    first, second = record(), record(spec=trial_spec(seed=1))
    assert list(latest([first, second, first])) == [first.trial_id, second.trial_id]
