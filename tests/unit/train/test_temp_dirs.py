"""Temporary folders, and what becomes of them when their owner is killed."""

import os
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from orchestrator.train.process.temp_dirs import temporary_folder

_OWNER = """
import sys
from orchestrator.train.process.temp_dirs import temporary_folder

with temporary_folder(sys.argv[1]) as folder:
    (folder / "a" / "b").mkdir(parents=True)
    sys.stdout.write(f"{folder}\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


@pytest.fixture
def prefix():
    """Prefix of folders that belong to this test alone on this host."""
    return f"orchestrator-test-{uuid.uuid4().hex}-"


@pytest.fixture
def owner(prefix):
    """Another process with a folder of this prefix; it ends with its test at the latest."""
    command = [sys.executable, "-c", _OWNER, prefix]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.folder = Path(process.stdout.readline().strip())
        yield process


def test_a_folder_is_its_owners_alone_and_goes_with_it(prefix):
    with temporary_folder(prefix) as folder:
        assert folder.name.startswith(prefix)
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("text")
    assert not folder.exists()


def test_the_folder_of_an_owner_that_lives_is_left_alone(prefix, owner):
    with temporary_folder(prefix) as folder:
        assert folder != owner.folder
        assert (owner.folder / "a" / "b").is_dir()


def test_the_folder_of_an_owner_that_was_killed_is_removed_by_the_next_start(prefix, owner):
    owner.kill()
    owner.wait()
    assert owner.folder.is_dir()
    with temporary_folder(prefix):
        assert not owner.folder.exists()


def test_a_folder_that_somebody_else_made_is_left_alone(prefix):
    with tempfile.TemporaryDirectory(prefix=prefix) as other, temporary_folder(prefix):
        assert Path(other).is_dir()


def test_what_only_looks_like_a_folder_is_left_alone(prefix, tmp_path):
    (tmp_path / "owner").touch()
    link = Path(tempfile.gettempdir()) / f"{prefix}link"
    link.symlink_to(tmp_path)
    try:
        with temporary_folder(prefix):
            assert (tmp_path / "owner").exists()
    finally:
        link.unlink()


def test_a_socket_can_be_made_where_the_temporary_folder_has_a_long_name(prefix, tmp_path, monkeypatch):
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with temporary_folder(prefix) as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(folder / "tensorflow-0123abcd"))
    assert list(long.iterdir()) == []
