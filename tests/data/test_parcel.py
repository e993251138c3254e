"""A prepared data set travels whole to another cache, with the photographs that it names."""

import io
import os
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from workloads.data.parcel import packed, unpacked


def made(cache: Path, **changes: Any) -> Path:
    """A prepared file of three images."""
    labels = np.zeros(3, np.uint8)
    images = np.arange(12, dtype=np.uint8).reshape(3, 2, 2, 1)
    path = cache / "things-v1-synthetic-1.npz"
    cache.mkdir(exist_ok=True)
    np.savez(path, x_train=images, y_train=labels, x_test=images, y_test=labels, **changes)
    return path


def photographed(cache: Path, folder: str | Path) -> Path:
    """The same, which names a folder of photographs."""
    (cache / folder / "left").mkdir(parents=True)
    (cache / folder / "left" / "eye.png").write_bytes(b"an eye")
    return made(cache, folder=np.array(os.fsencode(folder)))


def test_the_file_is_the_same_in_another_cache(tmp_path: Path) -> None:
    path = made(tmp_path / "driver")
    there = unpacked(packed(path), cache=tmp_path / "node")
    assert there == tmp_path / "node" / path.name
    assert there.read_bytes() == path.read_bytes()


def test_photographs_that_lie_beside_it_come_with_it(tmp_path: Path) -> None:
    parcel = packed(photographed(tmp_path / "driver", "painted"))
    unpacked(parcel, cache=tmp_path / "node")
    assert (tmp_path / "node/painted/left/eye.png").read_bytes() == b"an eye"


def test_those_of_a_users_folder_do_not_and_must_be_there(tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine"
    parcel = packed(photographed(tmp_path / "driver", elsewhere))
    assert unpacked(parcel, cache=tmp_path / "node").is_file()
    (elsewhere / "left" / "eye.png").unlink()
    (elsewhere / "left").rmdir()
    elsewhere.rmdir()
    with pytest.raises(ValueError, match=rf"the photographs of things-v1.* are not here: {elsewhere}"):
        unpacked(parcel, cache=tmp_path / "node")


def test_what_was_cut_short_there_is_made_whole(tmp_path: Path) -> None:
    path = photographed(tmp_path / "driver", "painted")
    there = tmp_path / "node" / path.name
    (tmp_path / "node/painted").mkdir(parents=True)
    (tmp_path / "node/painted/half.png").touch()
    there.write_bytes(path.read_bytes()[:100])
    unpacked(packed(path), cache=tmp_path / "node")
    assert there.read_bytes() == path.read_bytes()
    assert {path.name for path in (tmp_path / "node/painted").iterdir()} == {"left"}
    assert not [path for path in (tmp_path / "node").iterdir() if path.is_dir() and path.name != "painted"]


def test_a_file_that_is_whole_there_is_left_alone(tmp_path: Path) -> None:
    path = made(tmp_path / "driver")
    there = unpacked(packed(path), cache=tmp_path / "node")
    before = there.stat().st_mtime_ns
    unpacked(packed(path), cache=tmp_path / "node")
    assert there.stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["../things.npz", "/etc/things.npz", "painted/../../things.npz"])
def test_a_parcel_writes_nowhere_but_into_the_cache(tmp_path: Path, name: str) -> None:
    (tmp_path / "kept").touch()
    with io.BytesIO() as whole:
        with ZipFile(whole, "w") as archive:
            archive.writestr(name, b"")
        with pytest.raises(
            ValueError, match=rf"^the data archive names '{name}', which is outside the cache$"
        ):
            unpacked(whole.getvalue(), cache=tmp_path / "node")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
