"""CIFAR-10 from its archive and from the folders into which frameworks extract it."""

import hashlib
import io
import pickle
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workloads.data.batches import load
from workloads.data.cifar10 import CIFAR10
from workloads.data.dataset import DataSet, Published
from workloads.data.need import DataNeed
from workloads.data.published import Means
from workloads.data.sources import prepare

NAMES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def batch(number: int) -> bytes:
    """Two images whose red, green and blue planes are 10, 20 and 30, plus the number of the batch."""
    planes = np.repeat(np.array([10, 20, 30], dtype=np.uint8) + np.uint8(number), 32 * 32)
    return pickle.dumps({b"data": np.stack([planes, planes]), b"labels": [number, 9]}, protocol=2)


CONTENTS = {name: batch(number) for number, name in enumerate(NAMES)}


@pytest.fixture
def means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Means:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.chdir(tmp_path)
    return Means(cache=tmp_path / "cache", download=False)


def form(number: int) -> Published:
    assert isinstance(CIFAR10.real, tuple)
    return CIFAR10.real[number]


def check_content(data_set: DataSet, means: Means) -> None:
    with np.load(prepare(data_set, "real", means).path) as arrays:
        assert arrays["x_train"].shape == (10, 32, 32, 3)
        assert arrays["x_train"][2, 5, 7].tolist() == [11, 21, 31]
        assert arrays["y_train"].tolist() == [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]
        assert (arrays["x_test"].shape, arrays["y_test"].tolist()) == ((2, 32, 32, 3), [5, 9])


def test_the_archive_is_read_without_extracting_it(means: Means, tmp_path: Path) -> None:
    path = tmp_path / "data" / "cifar-10-python.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as archive:
        for name, content in CONTENTS.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    digest = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    file = replace(form(0).files[0], digest=digest)
    check_content(replace(CIFAR10, real=(replace(form(0), files=(file,)),)), means)


@pytest.mark.parametrize(
    "place",
    [
        "keras/datasets/cifar-10-batches-py-target/cifar-10-batches-py",
        "keras/datasets/cifar-10-batches-py",
        "data/cifar-10-batches-py",
    ],
)
def test_extracted_files_are_found_where_frameworks_put_them(
    means: Means, tmp_path: Path, place: str
) -> None:
    (tmp_path / place).mkdir(parents=True)
    files = []
    for file, (name, content) in zip(form(1).files, CONTENTS.items(), strict=True):
        (tmp_path / place / name).write_bytes(content)
        files.append(replace(file, digest=f"md5:{hashlib.md5(content).hexdigest()}"))
    check_content(replace(CIFAR10, real=(replace(form(1), files=tuple(files)),)), means)


def test_an_extracted_file_that_was_changed_is_shown(means: Means, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    (folder / "data_batch_1").write_bytes(CONTENTS["data_batch_1"])
    expected = r"data_batch_1 has md5 [0-9a-f]{12}…, expected c99cafc15224…"
    with pytest.raises(ValueError, match=expected):
        prepare(replace(CIFAR10, real=(form(1),)), "real", means)


def test_cifar_has_no_stand_in_and_textures_are_the_same_each_time(means: Means) -> None:
    with pytest.raises(
        ValueError, match=r"^data set 'cifar10' has no stand-in of real data; set data\.source=syn"
    ):
        prepare(CIFAR10, "standin", means)
    ref = prepare(CIFAR10, "synthetic", means)
    data = load(ref.path, data=DataNeed(data_set="tests:SET"), global_batch_size=100, seed=0)
    assert (data.num_batches, data.num_held_out) == (20, 500)
    assert data.held_out(0, 2)["x"].shape == (2, 32, 32, 3)
    test_labels = data.held_out(0, 500)["y"]
    assert np.bincount(test_labels).min() > 30
    assert (
        ref.description == "synthetic: 2,500 textures drawn by a program, 2,000 to train on and 500 to test"
    )


def test_the_mean_colour_of_a_texture_leaves_two_classes_open(means: Means) -> None:
    ref = prepare(CIFAR10, "synthetic", means)
    data = load(ref.path, data=DataNeed(data_set="tests:SET"), global_batch_size=100, seed=0)
    train, test = data.train.take(np.arange(2000), epoch=0), data.held_out(0, 500)
    colours = [part["x"].mean(axis=(1, 2)) for part in (train, test)]
    means_of = np.stack([colours[0][train["y"] == label].mean(axis=0) for label in range(10)])
    nearest = ((colours[1][:, np.newaxis] - means_of) ** 2).sum(axis=2).argmin(axis=1)
    assert 0.4 < (nearest == test["y"]).mean() < 0.6
