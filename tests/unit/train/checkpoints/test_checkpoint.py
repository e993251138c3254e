"""Checkpoints on disk: what is written is read, and what is damaged or another's is refused."""

import hashlib

import numpy as np
import pytest
from builders import trial_spec

from orchestrator.core.codec import to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.trial_progress import Evaluation
from orchestrator.core.trial_spec import trial_id
from orchestrator.train.checkpoints.format import ARRAYS, META, Meta, TrainingProgress, read, read_meta, write

PACKAGES = {"numpy": "1"}
ARRAYS_OF_7 = {"weight.a": np.arange(6.0).reshape(2, 3), "slot.step": np.array(7.0, np.float32)}
PROGRESS = TrainingProgress(
    step=7,
    phase="training",
    samples=448,
    training_seconds=1.5,
    network_losses={"model": ((1, 2.0), (7, float("inf")))},
    evaluations=(Evaluation(steps=5, training_seconds=1.0, quality=0.5),),
)


@pytest.fixture
def folder(tmp_path):
    """A checkpoint after 7 steps of the trial `one`."""
    return write(tmp_path, ARRAYS_OF_7, trial_id="one", packages=PACKAGES, progress=PROGRESS)


def find_refusal(folder, **changes):
    with pytest.raises(RecordError) as caught:
        read(folder, **{"trial_id": "one", "packages": PACKAGES, **changes})
    return str(caught.value)


def test_what_is_written_is_read(folder):
    found = read(folder, trial_id="one", packages=PACKAGES)
    assert found.progress == PROGRESS
    assert found.arrays.keys() == ARRAYS_OF_7.keys()
    for name, array in ARRAYS_OF_7.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


def test_no_unfinished_file_lies_beside_a_checkpoint(folder):
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("name", [ARRAYS, META])
def test_a_file_that_is_cut_in_half_is_refused(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    assert find_refusal(folder) == "the checkpoint of step 7 is damaged: its hash is another"


def test_a_bit_that_changed_is_refused(folder):
    content = bytearray((folder / ARRAYS).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / ARRAYS).write_bytes(content)
    assert find_refusal(folder) == "the checkpoint of step 7 is damaged: its hash is another"


def test_a_missing_file_is_refused(folder):
    (folder / ARRAYS).unlink()
    assert find_refusal(folder) == "the checkpoint of step 7 cannot be read: No such file or directory"


def test_another_trials_checkpoint_is_refused(folder):
    assert find_refusal(folder, trial_id="two") == "the checkpoint of step 7 is of trial one; this is two"


def test_a_checkpoint_of_another_number_of_workers_is_anothers(tmp_path):
    one, two = (trial_id(trial_spec(num_workers=workers)) for workers in (1, 2))
    folder = write(tmp_path, ARRAYS_OF_7, trial_id=one, packages=PACKAGES, progress=PROGRESS)
    assert find_refusal(folder, trial_id=two) == f"the checkpoint of step 7 is of trial {one}; this is {two}"


def test_a_checkpoint_of_another_framework_version_is_refused(folder):
    said = find_refusal(folder, packages={"numpy": "2"})
    assert said == "the checkpoint of step 7 is of packages {'numpy': '1'}; this is {'numpy': '2'}"


def renamed(folder, meta):
    """The folder with another meta.json, under the name that goes with it."""
    (folder / META).write_text(to_json(meta))
    digest = hashlib.sha256((folder / META).read_bytes()).hexdigest()
    return folder.rename(folder.with_name(f"000000000007-{digest}"))


def test_a_checkpoint_of_another_version_of_this_code_is_refused(folder):
    arrays = read_meta(folder).arrays_sha256
    meta = Meta(trial_id="one", packages=PACKAGES, arrays_sha256=arrays, progress=PROGRESS, version=0)
    said = find_refusal(renamed(folder, meta))
    assert said == "the checkpoint of step 7 is of checkpoints' version 0; this is 1"


def test_a_pickle_among_the_arrays_is_never_opened(folder):
    np.savez(folder / ARRAYS, **{"weight.a": np.array([{"a": 1}], dtype=object)})
    arrays = hashlib.sha256((folder / ARRAYS).read_bytes()).hexdigest()
    meta = Meta(trial_id="one", packages=PACKAGES, arrays_sha256=arrays, progress=PROGRESS)
    said = find_refusal(renamed(folder, meta))
    assert said.startswith("the checkpoint of step 7 cannot be read: Object arrays cannot be loaded")


def test_what_is_no_array_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write(tmp_path, {"a": np.array([{}])}, trial_id="one", packages=PACKAGES, progress=PROGRESS)


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x03\x04 nor this"])
def test_arrays_that_are_none_are_refused(folder, content):
    (folder / ARRAYS).write_bytes(content)
    arrays = hashlib.sha256(content).hexdigest()
    meta = Meta(trial_id="one", packages=PACKAGES, arrays_sha256=arrays, progress=PROGRESS)
    assert find_refusal(renamed(folder, meta)).startswith("the checkpoint of step 7 cannot be read: ")
