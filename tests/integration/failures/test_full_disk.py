"""A disk that fills up while a sweep runs: what is done is kept, one line tells it, and room ends it."""

import subprocess
from pathlib import Path

import pytest
from cli_process import NOOP, command, environment, records_in

_SPACE = ("unshare", "--mount", "--map-root-user")
_NUM_TRIALS = 30
WORDS = (*NOOP, f"sweep.repeats={_NUM_TRIALS}")

_SCRIPT = """
mkdir outputs && mount -t tmpfs -o size=1150k tmpfs outputs || exit 77
"$@" > first.out 2> first.err; echo $? > first.code
cp -r outputs after_first
mount -o remount,size=16m outputs
"$@" > second.out 2> second.err; echo $? > second.code
cp -r outputs after_second
umount outputs && mount -t tmpfs -o size=64k tmpfs outputs
"$@" > third.out 2> third.err; echo $? > third.code
cp -r outputs after_third
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A folder with what three commands said and left: on a small disk, with room, and on a full one."""
    folder = tmp_path_factory.mktemp("disk")
    script = [*_SPACE, "sh", "-c", _SCRIPT, "sh", *command(*WORDS)]
    done = subprocess.run(script, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no disk of our own can be had here: {done.stderr.strip()}")
    return folder


def said(disk: Path, which: str) -> tuple[int, str]:
    return int((disk / f"{which}.code").read_text()), (disk / f"{which}.err").read_text()


def kept(disk: Path, which: str):
    """The ledger after a command: its lines, whole ones all of them."""
    (disk / "outputs").rmdir()
    (disk / f"after_{which}").rename(disk / "outputs")
    try:
        return records_in(disk)
    finally:
        (disk / "outputs").rename(disk / f"after_{which}")
        (disk / "outputs").mkdir()


@pytest.mark.more
def test_a_full_disk_ends_the_sweep_in_one_line_and_keeps_what_has_finished(disk):
    assert said(disk, "first") == (
        2,
        f"error: the disk of '{disk}/outputs/smoke' is full; its records are kept, and no other trial is "
        "started: make room, and the same command runs the rest\n",
    )
    done = [item["trial_id"] for item in kept(disk, "first") if item["result"]]
    assert 0 < len(done) < _NUM_TRIALS


@pytest.mark.more
def test_the_same_command_runs_what_is_missing_once_there_is_room(disk):
    assert said(disk, "second") == (0, "")
    before, after = kept(disk, "first"), kept(disk, "second")
    assert after[: len(before)] == before
    done = [item["trial_id"] for item in after if item["result"]]
    assert len(done) == len(set(done)) == _NUM_TRIALS
    assert not list((disk / "after_second").rglob("*.reserve"))


@pytest.mark.more
def test_a_disk_that_is_full_at_the_start_is_refused_before_anything_runs(disk):
    code, error = said(disk, "third")
    assert code == 2
    assert error.endswith(
        f"error: records of sweep 'smoke' cannot be kept in '{disk}/outputs/smoke': No space left on device; "
        "run where that folder can be written\n"
    )
    assert kept(disk, "third") == []
    assert not list((disk / "after_third").rglob("*.reserve"))
