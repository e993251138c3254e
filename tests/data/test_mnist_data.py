"""MNIST and Fashion-MNIST from each of their sources."""

import gzip
import hashlib
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workloads.data.batches import load
from workloads.data.dataset import DataSet
from workloads.data.fashion_mnist import FASHION_MNIST
from workloads.data.mnist import MNIST
from workloads.data.need import DataNeed
from workloads.data.published import Means
from workloads.data.sources import DataRef, prepare

HOMES = {"KERAS_HOME": "keras", "TFDS_DATA_DIR": "tfds"}


@pytest.fixture
def means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Means:
    """A machine on which no framework has downloaded anything yet."""
    for variable, folder in HOMES.items():
        monkeypatch.setenv(variable, str(tmp_path / folder))
    monkeypatch.chdir(tmp_path)
    return Means(cache=tmp_path / "cache", download=False)


def read_content(ref: DataRef) -> dict[str, np.ndarray]:
    with np.load(ref.path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays}


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def small_idx(form: int, data_set: DataSet) -> tuple[DataSet, dict[str, bytes]]:
    """The data set with small files of its own in place of the published ones, and those files unpacked."""
    images = np.arange(30 * 28 * 28, dtype=np.uint8).reshape(30, 28, 28)
    labels = np.arange(30, dtype=np.uint8) % 10
    contents = [idx(images[:20]), idx(labels[:20]), idx(images[20:]), idx(labels[20:])]
    assert isinstance(data_set.real, tuple)
    published = data_set.real[form]
    files = tuple(
        replace(file, url=None, digest=f"sha256:{hashlib.sha256(content).hexdigest()}")
        for file, content in zip(published.files, contents, strict=True)
    )
    names = ["-".join(file.name.split("-")[-4:]).removesuffix(".gz") for file in files]
    small = replace(data_set, real=(replace(published, files=files),))
    return small, dict(zip(names, contents, strict=True))


def accuracy_of_a_linear_rule(ref: DataRef) -> float:
    data = load(ref.path, data=DataNeed(data_set="tests:SET"), global_batch_size=64, seed=0)
    train, test = data.train.take(np.arange(len(data.train)), epoch=0), data.held_out(0, data.num_held_out)
    small_train, small_test = (part["x"][:, 1::4, 1::4, 0].reshape(-1, 49) for part in (train, test))
    rule = np.linalg.lstsq(small_train, np.eye(10)[train["y"]], rcond=None)[0]
    return float(((small_test @ rule).argmax(axis=1) == test["y"]).mean())


def test_the_stand_in_of_mnist_has_400_digits_of_each_class_to_train_on_and_100_to_test(means: Means) -> None:
    ref = prepare(MNIST, "standin", means)
    arrays = read_content(ref)
    assert ref.description.startswith("stand-in for MNIST, 5,000 of its digits")
    assert (arrays["x_train"].shape, arrays["x_train"].dtype) == ((4000, 28, 28, 1), np.uint8)
    assert np.bincount(arrays["y_train"]).tolist() == [400] * 10
    assert np.bincount(arrays["y_test"]).tolist() == [100] * 10
    images = {image.tobytes() for name in ("x_train", "x_test") for image in arrays[name]}
    assert len(images) == 5000


@pytest.mark.parametrize(
    ("data_set", "begins", "learned"), [(MNIST, "88562e83f67e05b5", 0.3), (FASHION_MNIST, "", 0.6)]
)
def test_drawn_images_are_the_same_each_time_and_a_linear_rule_learns_them(
    means: Means, data_set: DataSet, begins: str, learned: float
) -> None:
    ref = prepare(data_set, "synthetic", means)
    assert ref.description.startswith("synthetic: 5,000 ")
    assert hashlib.sha256(read_content(ref)["x_train"].tobytes()).hexdigest().startswith(begins)
    assert accuracy_of_a_linear_rule(ref) > learned


def test_the_file_of_keras_gets_its_missing_channel(means: Means, tmp_path: Path) -> None:
    images, labels = np.zeros((30, 28, 28), dtype=np.uint8), np.arange(30, dtype=np.uint8) % 10
    path = tmp_path / "keras" / "datasets" / "mnist.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, x_train=images[:20], y_train=labels[:20], x_test=images[20:], y_test=labels[20:])
    assert isinstance(MNIST.real, tuple)
    published = MNIST.real[0]
    digest = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    file = replace(published.files[0], digest=digest)
    ref = prepare(replace(MNIST, real=(replace(published, files=(file,)),)), "real", means)
    assert read_content(ref)["x_train"].shape == (20, 28, 28, 1)
    assert ref.description == "MNIST, 60,000 digits to train on and 10,000 to test"


def in_torchvision(name: str) -> str:
    return f"data/FashionMNIST/raw/{name}"


def in_keras(name: str) -> str:
    return f"keras/datasets/fashion-mnist/{name}.gz"


def in_tensorflow_datasets(name: str) -> str:
    return f"tfds/downloads/fash-mnist.com_{name}AAx7.gz"


@pytest.mark.parametrize("place", [in_torchvision, in_keras, in_tensorflow_datasets])
def test_idx_files_are_found_in_the_usual_caches_packed_or_not(
    means: Means, tmp_path: Path, place: Callable[[str], str]
) -> None:
    data_set, contents = small_idx(0, FASHION_MNIST)
    for name, content in contents.items():
        path = tmp_path / place(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    arrays = read_content(prepare(data_set, "real", means))
    assert (arrays["x_train"].shape, arrays["x_test"].shape) == ((20, 28, 28, 1), (10, 28, 28, 1))
    assert arrays["y_test"].tolist() == list(range(10))


def test_mnist_is_read_from_idx_files_too(means: Means, tmp_path: Path) -> None:
    data_set, contents = small_idx(1, MNIST)
    (tmp_path / "data" / "MNIST" / "raw").mkdir(parents=True)
    for name, content in contents.items():
        (tmp_path / "data" / "MNIST" / "raw" / f"{name}.gz").write_bytes(gzip.compress(content))
    assert read_content(prepare(data_set, "real", means))["x_train"].shape == (20, 28, 28, 1)


def test_a_truncated_packed_file_is_shown(means: Means, tmp_path: Path) -> None:
    data_set, contents = small_idx(0, FASHION_MNIST)
    path = tmp_path / in_keras("train-images-idx3-ubyte")
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(contents["train-images-idx3-ubyte"])[:-20])
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz is not a whole gzip file, no "):
        prepare(data_set, "real", means)


def test_a_missing_file_is_shown_with_its_place_and_the_way_out(means: Means) -> None:
    expected = (
        r"^Fashion-MNIST, .*: no .*keras/datasets/fashion-mnist/train-images-idx3-ubyte\.gz \(nor in \d "
        r"other places\); apt install dataset-fashion-mnist, or put it there, or set data\.source=synthetic$"
    )
    with pytest.raises(ValueError, match=expected):
        prepare(small_idx(0, FASHION_MNIST)[0], "real", means)


def test_a_file_that_is_not_idx_is_shown(means: Means, tmp_path: Path) -> None:
    data_set, contents = small_idx(0, FASHION_MNIST)
    assert isinstance(data_set.real, tuple)
    broken = idx(np.zeros(3, dtype=np.uint8)).replace(b"\0\0\x08", b"\0\0\x0d")
    contents["t10k-labels-idx1-ubyte"] = broken
    *files, last = data_set.real[0].files
    files.append(replace(last, digest=f"sha256:{hashlib.sha256(broken).hexdigest()}"))
    odd = replace(data_set, real=(replace(data_set.real[0], files=tuple(files)),))
    (tmp_path / "data" / "FashionMNIST" / "raw").mkdir(parents=True)
    for name, content in contents.items():
        (tmp_path / in_torchvision(name)).write_bytes(content)
    with pytest.raises(ValueError, match=r"t10k-labels-idx1-ubyte is not an IDX file of bytes$"):
        prepare(odd, "real", means)
