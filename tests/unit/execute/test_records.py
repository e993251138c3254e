"""Number of attempts at a trial, from its records."""

from builders import record

from orchestrator.core.trial_progress import TrialEvent
from orchestrator.execute.trial.records import attempts_made


def begun(attempt):
    return TrialEvent(trial_id=record().trial_id, attempt=attempt, stage="starting", at=0.0)


def test_a_trial_that_was_never_tried_has_no_attempt():
    assert attempts_made([], []) == {}


def test_attempts_are_counted_by_the_latest_record_of_a_trial():
    records = [record(attempt=value) for value in (2, 5, 3)]
    assert attempts_made(records, []) == {record().trial_id: 5}


def test_an_attempt_that_was_begun_counts_although_its_driver_was_killed():
    assert attempts_made([record(attempt=1)], [begun(2), begun(1)]) == {record().trial_id: 2}
