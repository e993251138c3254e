"""Files of a script's folder that its callback sees: opened for reading, written, or imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.yaml").write_text("one")
    return tmp_path


def opened(watch: callback._FileWatch, path: object, flags: int = os.O_RDONLY) -> None:
    watch.see("open", (path, None, flags))


def test_a_file_that_was_read_is_shown_once_with_its_time(folder: Path) -> None:
    watch = callback._FileWatch([str(folder)])
    for path in (folder / "c.yaml", str(folder / "c.yaml"), os.fsencode(folder / "c.yaml")):
        opened(watch, path)
    told = watch.describe_new()
    assert told["files"] == {"c.yaml": (folder / "c.yaml").stat().st_mtime_ns}
    assert (told["written"], told["has_more"]) == ([], False)
    assert watch.describe_new()["files"] == {}


def test_a_relative_name_is_that_of_the_folder_at_that_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/d.json").write_text("{}")
    watch = callback._FileWatch([str(folder)])
    monkeypatch.chdir(folder / "sub")
    opened(watch, "d.json")
    assert list(watch.describe_new()["files"]) == ["sub/d.json"]


@pytest.mark.parametrize("name", ["__pycache__/a.pyc", ".venv/lib/a.py", ".cache/x", "e/site-packages/a.py"])
def test_caches_and_environments_do_not_count(name: str, folder: Path) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("")
    watch = callback._FileWatch([str(folder)])
    opened(watch, folder / name)
    assert watch.describe_new()["files"] == {}


def test_an_environment_below_the_folder_does_not_count_and_one_above_it_leaves_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "env").mkdir()
    (folder / "env/a.py").write_text("")
    for prefix, names in ((folder / "env", ["c.yaml"]), (folder.parent, ["env/a.py", "c.yaml"])):
        monkeypatch.setattr(sys, "prefix", str(prefix))
        watch = callback._FileWatch([str(folder)])
        opened(watch, folder / "env/a.py")
        opened(watch, folder / "c.yaml")
        assert list(watch.describe_new()["files"]) == names


@pytest.mark.parametrize("path", [3, None, "missing", "\0", ".", "../other", "/dev/null"])
def test_what_is_no_regular_file_of_the_folder_does_not_count(
    path: object, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "in").mkdir()
    (folder / "other").write_text("")
    monkeypatch.chdir(folder / "in")
    watch = callback._FileWatch([str(folder / "in")])
    opened(watch, path)
    assert watch.describe_new()["files"] == {}


def test_written_files_are_kept_apart_and_so_are_those_that_take_another_name(folder: Path) -> None:
    watch = callback._FileWatch([str(folder)])
    opened(watch, folder / "log.txt", os.O_WRONLY | os.O_CREAT)
    opened(watch, folder / "state.json", os.O_RDWR)
    watch.see("os.rename", (folder / "state.json", folder / "last.json", -1, -1))
    assert watch.describe_new()["written"] == ["log.txt", "state.json", "last.json"]


def test_more_files_than_the_most_are_not_kept_and_that_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callback, "_MOST_FILES", 2)
    for name in "abc":
        (folder / name).write_text("")
    watch = callback._FileWatch([str(folder)])
    for name in "abc":
        opened(watch, folder / name)
    told = watch.describe_new()
    assert (list(told["files"]), told["has_more"]) == (["a", "b"], True)


SCRIPT = """
import sys
sys.path.insert(0, {callback!r})
import orchestrator_callback
import model
open("c.yaml").read()
print(*orchestrator_callback._FILES.describe_new()["files"])
"""


def test_a_module_from_a_cache_counts_by_its_source(folder: Path) -> None:
    (folder / "model.py").write_text("")
    (folder / "train.py").write_text(SCRIPT.format(callback=str(Path(callback.__file__).parent)))
    told = [
        subprocess.run(
            [sys.executable, "train.py"],
            cwd=folder,
            env={**os.environ, "ORCHESTRATOR_FOLDERS": str(folder), "PYTHONDONTWRITEBYTECODE": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert (folder / "__pycache__").is_dir()
    assert [set(names) for names in told] == 2 * [{"train.py", "model.py", "c.yaml"}]


def test_without_a_trial_no_file_is_watched() -> None:
    assert callback._FILES is None
