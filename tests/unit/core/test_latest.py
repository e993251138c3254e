"""Choice among several records of one trial."""

from builders import placement, record, trial_spec

from orchestrator.core.result import Failure, latest

FAILURE = Failure(kind="oom", message="killed")
REHEARSED = placement(provenance="rehearsed")


def the_one_of(*records):
    (chosen,) = latest(records).values()
    return chosen


def test_the_last_result_stands():
    assert the_one_of(record(attempt=1), record(attempt=2)).attempt == 2


def test_a_later_failure_does_not_undo_a_measurement():
    assert the_one_of(record(attempt=1), record(attempt=2, failure=FAILURE)).attempt == 1


def test_the_last_failure_stands_where_there_is_no_result():
    assert the_one_of(record(attempt=1, failure=FAILURE), record(attempt=2, failure=FAILURE)).attempt == 2


def test_a_rehearsal_never_stands_for_a_measurement():
    assert the_one_of(record(), record(placement=REHEARSED)).provenance == "measured"


def test_a_rehearsal_that_passes_later_stands_for_a_measurement_that_failed():
    assert the_one_of(record(failure=FAILURE), record(placement=REHEARSED)).provenance == "rehearsed"


def test_a_measurement_that_failed_is_not_hidden_by_an_earlier_rehearsal():
    assert the_one_of(record(placement=REHEARSED), record(failure=FAILURE)).failure == FAILURE


def test_a_failed_rehearsal_does_not_hide_another_record():
    failed = record(placement=REHEARSED, failure=Failure(kind="error", message="rehearsed"))
    assert the_one_of(record(failure=FAILURE), failed).failure == FAILURE
    assert the_one_of(record(placement=REHEARSED), failed).failure is None


def test_the_end_of_an_attempt_decides_and_not_its_place_in_the_ledger():
    reused = record(placement=REHEARSED, reused_from="an earlier sweep")
    failed = record(failure=FAILURE, ended_at=reused.ended_at + 1)
    assert the_one_of(failed, reused) == failed


def test_trials_stay_in_the_order_in_which_they_first_appear():
    first, second = record(), record(spec=trial_spec(seed=1))
    assert list(latest([first, second, first])) == [first.trial_id, second.trial_id]
