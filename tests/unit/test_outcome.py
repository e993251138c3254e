"""How many attempts there were at a trial, from what they left."""

from builders import record

from orchestrator.execute.base import Attempt
from orchestrator.execute.outcome import attempts_made, log_of


def log(folder, number):
    """Leave the logs of an attempt at the trial of `record()`."""
    (folder / log_of(Attempt(placement=record().placement, number=number))).mkdir(parents=True)


def test_a_trial_that_was_never_tried_has_no_attempt(tmp_path):
    assert attempts_made([], tmp_path) == {}


def test_the_latest_of_a_trials_records_tells_its_attempts(tmp_path):
    records = [record(attempt=each) for each in (2, 5, 3)]
    assert attempts_made(records, tmp_path) == {record().trial_id: 5}


def test_an_attempt_that_left_only_its_logs_counts(tmp_path):
    log(tmp_path, 10)
    log(tmp_path, 9)
    assert attempts_made([record(attempt=1)], tmp_path) == {record().trial_id: 10}


def test_what_else_lies_beside_the_logs_is_no_attempt(tmp_path):
    for name in ("notes", "some-notes", "a-1b", "a-²"):
        (tmp_path / "logs" / name).mkdir(parents=True)
    assert attempts_made([], tmp_path) == {}
