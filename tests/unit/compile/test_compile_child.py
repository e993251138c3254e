"""A compiler's child process: deadline, memory, and no process left."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.compile.child import ChildError, ChildProcess, Limits
from orchestrator.compile.step import answers_in

GENEROUS = Limits(seconds=20, memory_bytes=2**30)


def start(code: str, folder: Path, *, limits: Limits = GENEROUS, cwd: Path | None = None) -> ChildProcess:
    command = [sys.executable, "-I", "-c", code]
    return ChildProcess(command, variables=dict(os.environ), folder=folder, limits=limits, cwd=cwd)


def run(
    code: str,
    folder: Path,
    *,
    is_enough: Callable[[Sequence[str]], bool] = lambda _: False,
    limits: Limits = GENEROUS,
    cwd: Path | None = None,
) -> list[str]:
    with closing(start(code, folder, limits=limits, cwd=cwd)) as child:
        return child.ask("hello", is_enough=is_enough)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_gets_the_request_and_its_lines_are_returned(tmp_path):
    assert run("print(input(), 'there')", tmp_path) == ["hello there"]


def test_a_child_runs_in_the_folder_of_its_output_unless_another_is_given(tmp_path):
    (output := tmp_path / "output").mkdir()
    code = "import os; print(os.getcwd())"
    assert run(code, output) == [str(output)]
    assert run(code, output, cwd=tmp_path) == [str(tmp_path)]


def test_an_endless_child_and_its_children_are_killed_at_the_deadline(tmp_path):
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(60)"
    )
    with pytest.raises(ChildError, match=r"it took longer than 1.5 s; compile.seconds=3 gives it more"):
        run(code, tmp_path, limits=Limits(seconds=1.5, memory_bytes=2**30))
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    time.sleep(0.2)
    assert [is_alive(pid) for pid in pids] == [False, False]


def test_a_child_that_takes_too_much_memory_is_killed(tmp_path):
    code = "data = b'1' * (300 * 2**20); import time; time.sleep(60)"
    with pytest.raises(ChildError, match="it took more than 0 GiB of this host's memory"):
        run(code, tmp_path, limits=Limits(seconds=20, memory_bytes=200 * 2**20))


def test_a_child_is_ended_as_soon_as_its_answers_are_enough(tmp_path):
    code = f"open({str(tmp_path / 'done')!r}, 'w').close(); import time; time.sleep(60)"
    started = time.monotonic()
    assert run(code, tmp_path, is_enough=lambda _: (tmp_path / "done").exists()) == []
    assert time.monotonic() - started < 15


def test_a_child_answers_one_request_after_the_other_until_it_is_closed(tmp_path):
    code = "import os\nwhile True: print(os.getpid(), input(), flush=True); print('half', end='', flush=True)"
    child = start(code, tmp_path)
    first, second = (child.ask(word, is_enough=bool) for word in ("one", "two"))
    pid = int(first[0].split()[0])
    assert first == [f"{pid} one"]
    assert second[-1].endswith(f"{pid} two")
    assert child.is_alive
    child.close()
    assert not is_alive(pid)
    assert not child.is_alive
    child.close()


def test_a_child_that_gave_no_answer_is_closed(tmp_path):
    child = start("import time; time.sleep(60)", tmp_path, limits=Limits(seconds=0.5, memory_bytes=2**30))
    with pytest.raises(ChildError, match="it took longer than"):
        child.ask("hello", is_enough=bool)
    assert not child.is_alive


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no such thing')", "ValueError: no such thing"),
        ("import sys; sys.exit(3)", "it ended with code 3"),
        ("import os; os.kill(os.getpid(), 9)", "it was killed by signal 9"),
        ("import os; os.close(0); os._exit(5)", "it ended with code 5"),
    ],
)
def test_a_child_that_fails_shows_why_in_one_line(tmp_path, code, message):
    with pytest.raises(ChildError) as raised:
        run(code, tmp_path)
    assert str(raised.value) == message


@pytest.mark.parametrize("lines", [[], ["{"], ['{"other": 1}'], ["[1]", "warning: nothing"]])
def test_an_answer_is_what_was_asked_for(lines):
    assert not answers_in(lines).keys() >= {"tensor_bytes"}
    assert answers_in([*lines, '{"tensor_bytes": 3}'])["tensor_bytes"] == 3


def test_a_python_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ChildError, match=r"/no/python: No such file or directory"):
        ChildProcess(["/no/python"], variables={}, folder=tmp_path, limits=GENEROUS)
