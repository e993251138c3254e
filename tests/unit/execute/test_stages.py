"""The file with the stage of a running trial."""

import os
import time

from stage_files import SETTING_UP, timing, wait_for_stage

from orchestrator.core.trial_progress import TrialStage
from orchestrator.execute.trial import stages
from orchestrator.execute.trial.stages import StageFile, read_stage

ID = "0123456789abcdef"


def test_a_stage_is_there_while_the_trial_runs(tmp_path):
    with StageFile(tmp_path, ID) as stage_file:
        wait_for_stage(tmp_path, ID, SETTING_UP)
        stage_file.show(timing(1), now=10.0)
        wait_for_stage(tmp_path, ID, timing(1))
    assert read_stage(tmp_path, ID) is None


def test_counts_are_written_twice_a_second_at_most_and_a_new_stage_at_once(tmp_path):
    with StageFile(tmp_path, ID) as stage_file:
        for done, now in ((1, 10.0), (2, 10.1), (3, 10.4)):
            stage_file.show(timing(done), now=now)
        wait_for_stage(tmp_path, ID, timing(1))
        stage_file.show(timing(4), now=10.5)
        wait_for_stage(tmp_path, ID, timing(4))
        stage_file.show(TrialStage(name="evaluating"), now=10.6)
        wait_for_stage(tmp_path, ID, TrialStage(name="evaluating"))


def test_where_it_cannot_be_written_the_trial_goes_on(tmp_path):
    (tmp_path / "stages").touch()
    with StageFile(tmp_path, ID) as stage_file:
        stage_file.show(timing(1), now=10.0)
    assert read_stage(tmp_path, ID) is None


def test_a_folder_that_does_not_answer_causes_no_delay(tmp_path, monkeypatch):
    most_seconds = 1.0
    monkeypatch.setattr(stages, "_MOST_SECONDS", most_seconds)
    (tmp_path / "stages").mkdir()
    os.mkfifo(tmp_path / "stages" / f"{ID}.json")  # to open it waits for a reader
    began = time.monotonic()
    with StageFile(tmp_path, ID) as stage_file:
        stage_file.show(timing(1), now=10.0)
        assert time.monotonic() - began < most_seconds
    assert time.monotonic() - began < 10 * most_seconds


def test_a_torn_file_is_no_stage(tmp_path):
    with StageFile(tmp_path, ID):
        wait_for_stage(tmp_path, ID, SETTING_UP)
        (tmp_path / "stages" / f"{ID}.json").write_text('{"name": "tim')
        assert read_stage(tmp_path, ID) is None
