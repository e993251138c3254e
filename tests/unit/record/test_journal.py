"""The steps of a sweep's trials, kept before they are taken."""

import shutil

import pytest

from orchestrator.core.errors import RecordError
from orchestrator.record.journal import Journal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def told(journal):
    return [(step.trial_id, step.attempt, step.stage) for step in journal.steps()]


def test_steps_are_read_back_in_their_order(path):
    journal = Journal(path)
    assert told(journal) == []
    journal.note("queued", [("a1", 0), ("b2", 0)])
    journal.note("starting", [("a1", 1)])
    assert told(Journal(path)) == [("a1", 0, "queued"), ("b2", 0, "queued"), ("a1", 1, "starting")]


def test_a_line_that_a_killed_driver_left_torn_is_left_out_and_the_next_one_is_whole(path):
    Journal(path).note("queued", [("a1", 0)])
    with path.open("ab") as file:
        file.write(b'{"trial_id": "a1", "att')
    journal = Journal(path)
    journal.note("starting", [("a1", 1)])
    assert told(journal) == [("a1", 0, "queued"), ("a1", 1, "starting")]


def test_it_holds_a_driver_to_what_an_earlier_one_left(path):
    Journal(path).note("queued", [("a1", 0)])
    with pytest.raises(RecordError, match="trial a1 cannot be running after it was queued"):
        Journal(path).note("running", [("a1", 1)])
    assert told(Journal(path)) == [("a1", 0, "queued")]


def test_a_journal_that_is_removed_while_its_sweep_runs_is_made_again_with_the_last_steps(tmp_path):
    path = tmp_path / "sweep" / "journal.jsonl"
    journal = Journal(path)
    journal.note("queued", [("a1", 0), ("b2", 0)])
    journal.note("starting", [("a1", 1)])
    shutil.rmtree(path.parent)
    journal.note("running", [("a1", 1)])
    assert told(Journal(path)) == [("a1", 1, "starting"), ("b2", 0, "queued"), ("a1", 1, "running")]


def test_a_journal_that_cannot_be_had_is_one_line(tmp_path):
    journal = Journal(tmp_path)
    with pytest.raises(RecordError, match=r"cannot be read: Is a directory$"):
        journal.steps()
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match=r"cannot be written: File exists$"):
        Journal(tmp_path / "file" / "journal.jsonl").note("queued", [("a1", 0)])
