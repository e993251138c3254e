"""Files that a script told of: which of them count when it has ended."""

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.extensions.scripts.seen_files import MOST_FILES, SeenFiles
from workloads.script.file_hash import CHANGED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("c.yaml", "data.bin"):
        (tmp_path / name).write_text("one")
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    return tmp_path


def seen(folder: Path, *messages: dict[str, Any]) -> SeenFiles:
    files = SeenFiles(folder)
    for message in messages:
        files.add(message)
    return files


def test_files_that_are_as_they_were_when_they_were_opened_have_hashes(folder: Path) -> None:
    hashes = seen(folder, {"files": {"c.yaml": 10**18}}, {"files": {"data.bin": 10**18}}).hash()
    assert set(hashes) == {"c.yaml", "data.bin"}
    assert CHANGED not in hashes.values()


def test_a_file_that_the_trial_wrote_does_not_count(folder: Path) -> None:
    told = {"files": {"c.yaml": 10**18, "data.bin": 10**18}, "written": ["c.yaml"]}
    assert set(seen(folder, told).hash()) == {"data.bin"}


def test_a_text_that_changed_unseen_counts_as_changed_and_data_as_the_trials_own(
    folder: Path,
) -> None:
    assert seen(folder, {"files": {"c.yaml": 5, "data.bin": 5}}).hash() == {"c.yaml": CHANGED}


def test_data_that_is_newer_than_the_start_of_the_trial_is_its_own(folder: Path) -> None:
    files = SeenFiles(folder)
    (folder / "data.bin").write_text("two")
    files.add({"files": {"data.bin": (folder / "data.bin").stat().st_mtime_ns}})
    assert files.hash() == {}


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"files": [1], "written": {}},
        {"files": {"": 1, "a\0": 1, "c.yaml": "now"}, "written": [1, ""]},
        {"files": {"x" * 5000: 1}, "has_more": "yes"},
    ],
)
def test_what_is_no_file_is_left_out(message: dict[str, Any], folder: Path) -> None:
    files = seen(folder, message)
    assert (files.hash(), list(files.written), files.has_more) == ({}, [], False)


def test_no_more_than_the_most_are_kept(folder: Path) -> None:
    names = [f"{index}.py" for index in range(2 * MOST_FILES)]
    files = seen(folder, {"files": dict.fromkeys(names, 1), "written": [f"w{name}" for name in names]})
    assert len(files.hash()) == len(files.written) == MOST_FILES
