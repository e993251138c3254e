"""The file with the stage of a running trial."""

from orchestrator.core.trial_progress import TrialStage
from orchestrator.execute.trial.stages import StageFile, stage_of

ID = "0123456789abcdef"


def test_a_stage_is_there_while_the_trial_runs(tmp_path):
    with StageFile(tmp_path, ID) as stage_file:
        assert stage_of(tmp_path, ID) == TrialStage(name="setting up")
        stage_file.show(TrialStage(name="timing", done=1, most=15), now=10.0)
        assert stage_of(tmp_path, ID) == TrialStage(name="timing", done=1, most=15)
    assert stage_of(tmp_path, ID) is None


def test_counts_are_written_twice_a_second_at_most_and_a_new_stage_at_once(tmp_path):
    with StageFile(tmp_path, ID) as stage_file:
        for done, now in ((1, 10.0), (2, 10.1), (3, 10.4)):
            stage_file.show(TrialStage(name="timing", done=done, most=15), now=now)
        assert stage_of(tmp_path, ID).done == 1
        stage_file.show(TrialStage(name="timing", done=4, most=15), now=10.5)
        assert stage_of(tmp_path, ID).done == 4
        stage_file.show(TrialStage(name="evaluating"), now=10.6)
        assert stage_of(tmp_path, ID).name == "evaluating"


def test_where_it_cannot_be_written_the_trial_goes_on(tmp_path):
    (tmp_path / "stages").touch()
    with StageFile(tmp_path, ID) as stage_file:
        stage_file.show(TrialStage(name="timing", done=1, most=15), now=10.0)
        assert stage_of(tmp_path, ID) is None


def test_a_torn_file_is_no_stage(tmp_path):
    with StageFile(tmp_path, ID):
        (tmp_path / "stages" / f"{ID}.json").write_text('{"name": "tim')
        assert stage_of(tmp_path, ID) is None
