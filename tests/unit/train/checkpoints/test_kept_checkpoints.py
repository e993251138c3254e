"""Checkpoint store: a folder and other file systems of fsspec, the last two checkpoints of every trial."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import placement, record
from fsspec.core import url_to_fs

from orchestrator.core.errors import ConfigError, RecordError, TrialError
from orchestrator.core.result import Failure
from orchestrator.core.settings import Checkpointing
from orchestrator.execute.trial.checkpoints import CheckpointStore, open_checkpoints_of_trial
from orchestrator.train.checkpoints.format import ARRAYS, META, TrainingProgress, write

TRIAL = record().trial_id


@pytest.fixture(params=["folder", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "kept") if request.param == "folder" else f"memory://{tmp_path.name}/kept"


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    folder = tmp_path / "worker"
    folder.mkdir()
    return folder


def written(folder: Path, step: int, *, trial_id: str = TRIAL) -> Path:
    progress = TrainingProgress(step=step, phase="training", samples=0, training_seconds=0.0)
    return write(folder, {"a": np.arange(step)}, trial_id=trial_id, packages={}, progress=progress)


def steps_kept(checkpoints: CheckpointStore, into: Path, *, trial_id: str = TRIAL) -> list[int]:
    into.mkdir()
    return [int(Path(item).name.partition("-")[0]) for item in checkpoints.fetch(trial_id, into)]


def test_the_last_two_of_a_trial_are_kept_and_the_newest_comes_first(url, worker, tmp_path):
    checkpoints = CheckpointStore(url)
    for step in (5, 40, 300):
        checkpoints.keep(written(worker, step))
    checkpoints.keep(written(worker, 7, trial_id="another"))
    assert steps_kept(checkpoints, tmp_path / "found") == [300, 40]
    assert steps_kept(checkpoints, tmp_path / "other", trial_id="another") == [7]


def test_later_ones_that_were_refused_make_way_for_those_of_a_training_begun_anew(url, worker, tmp_path):
    checkpoints = CheckpointStore(url)
    for step in (200, 300, 50):
        checkpoints.keep(written(worker, step))
    assert steps_kept(checkpoints, tmp_path / "found") == [50]
    checkpoints.keep(written(worker, 120))
    assert steps_kept(checkpoints, tmp_path / "later") == [120, 50]


def test_a_checkpoint_that_was_not_kept_to_its_end_is_none(url, worker, tmp_path):
    checkpoints, made = CheckpointStore(url), written(worker, 5)
    checkpoints.keep(made)
    files, root = url_to_fs(url)
    files.rm(f"{root}/{TRIAL}/{made.name}/{META}")
    assert steps_kept(checkpoints, tmp_path / "found") == []


def test_a_trial_without_any_has_none(url, tmp_path):
    assert steps_kept(CheckpointStore(url), tmp_path / "found") == []


def test_what_comes_back_is_what_was_written(url, worker, tmp_path):
    checkpoints, made = CheckpointStore(url), written(worker, 5)
    checkpoints.keep(made)
    (tmp_path / "found").mkdir()
    (found,) = checkpoints.fetch(TRIAL, tmp_path / "found")
    assert Path(found).name == made.name
    for file in made.iterdir():
        assert (Path(found) / file.name).read_bytes() == file.read_bytes()


def test_what_was_damaged_before_it_arrived_is_not_kept(url, worker, tmp_path):
    made = written(worker, 5)
    (made / ARRAYS).write_bytes(b"half")
    with pytest.raises(RecordError, match="the checkpoint of step 5 is damaged"):
        CheckpointStore(url).keep(made)
    assert steps_kept(CheckpointStore(url), tmp_path / "found") == []


@pytest.mark.parametrize(
    ("ended", "left"),
    [
        ({}, []),
        ({"failure": Failure(kind="error", message="")}, []),
        ({"failure": Failure(kind="diverged", message="")}, []),
        ({"failure": Failure(kind="worker_lost", message="")}, [5]),
        ({"failure": Failure(kind="preempted", message="")}, [5]),
        ({"failure": Failure(kind="timeout", message="")}, [5]),
        ({"placement": placement(provenance="rehearsed")}, [5]),
    ],
)
def test_the_end_of_a_trial_removes_them_unless_another_attempt_may_go_on(url, worker, tmp_path, ended, left):
    checkpoints = CheckpointStore(url)
    checkpoints.keep(written(worker, 5))
    checkpoints.discard_if_final(record(**ended))
    assert steps_kept(checkpoints, tmp_path / "found") == left


def test_the_record_that_stands_decides_what_a_killed_driver_had_left_to_remove(url, worker, tmp_path):
    checkpoints = CheckpointStore(url)
    checkpoints.keep(written(worker, 5))
    lost = record(failure=Failure(kind="worker_lost", message=""))
    checkpoints.remove_unneeded([lost])
    assert steps_kept(checkpoints, tmp_path / "before") == [5]
    checkpoints.remove_unneeded([lost, replace(record(), attempt=2)])
    assert steps_kept(checkpoints, tmp_path / "after") == []


@pytest.mark.parametrize("url", ["nothing://here", "abfs://bucket/folder"])
def test_a_checkpoint_path_that_cannot_be_written_is_refused_in_one_line(url):
    with pytest.raises(ConfigError, match=rf"^checkpoint\.path={url} cannot be used: .+$"):
        CheckpointStore(url)


def test_a_checkpoint_that_cannot_be_kept_is_shown_and_the_workers_copy_is_gone(worker, tmp_path):
    (tmp_path / "file").write_text("in the way")
    url = str(tmp_path / "file" / "kept")
    policy = Checkpointing(every_seconds=1.0, grace_seconds=1.0, url=str(tmp_path / "kept"))
    with open_checkpoints_of_trial(placement(), policy) as shelf:
        made = written(worker, 5)
        assert replace(shelf, _checkpoints=CheckpointStore(url)).take(made) == (
            f"checkpoints in {url}: NotADirectoryError: [Errno 20] Not a directory: '{url}'",
        )
    assert not made.exists()


def test_an_attempt_does_not_begin_anew_while_its_checkpoints_cannot_be_read(worker, tmp_path):
    policy = Checkpointing(every_seconds=1.0, grace_seconds=1.0, url=str(tmp_path / "kept"))
    CheckpointStore(policy.url).keep(made := written(worker, 5))
    arrays = tmp_path / "kept" / TRIAL / made.name / ARRAYS
    arrays.unlink()
    arrays.symlink_to(arrays)
    with pytest.raises(TrialError, match=rf"^checkpoints in {policy.url}: FileNotFoundError: ") as caught:
        open_checkpoints_of_trial(placement(), policy).__enter__()
    assert caught.value.kind == "environment"


def test_a_rehearsal_and_a_sweep_without_checkpoints_keep_none(tmp_path):
    policy = Checkpointing(every_seconds=1.0, grace_seconds=1.0, url=str(tmp_path))
    for asked, placed in ((None, placement()), (policy, placement(provenance="rehearsed"))):
        with open_checkpoints_of_trial(placed, asked) as shelf:
            assert shelf.checkpoint_options is None


@pytest.mark.parametrize("name", ["../elsewhere", "..", "/elsewhere", ""])
def test_a_checkpoint_with_a_trial_name_that_leads_elsewhere_is_refused(url, worker, name):
    with pytest.raises(RecordError, match=rf"^a checkpoint names the trial '{name}', which names no folder$"):
        CheckpointStore(url).keep(written(worker, 5, trial_id=name))
