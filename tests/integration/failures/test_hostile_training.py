"""A user's workload that misbehaves in the worker alone: each trial ends, with a class and a cause."""

from pathlib import Path
from typing import Any

import pytest
from cli_process import NOOP, ask, records_in
from process_tracking import family
from user_workload import SPEC, write

IN_WORKER = """\
import ctypes, os, signal, sys, time
class Odd(BaseException):
    def __str__(self): raise OSError("broken")
def all_of(act):
    for each in range(3, 30):
        try: act(each)
        except OSError: pass
if "orchestrator.train.worker" in sys.modules: {}
"""
LINE = "workload 'mine': HERE/own/mine/spec.py, line 14: "
TELL = "all_of(lambda each: os.write(each, {}))"
ENDS = {
    "time.sleep(1000)": (
        "timeout",
        "workers not set up after 4 s (executor.start_seconds=4)",
    ),
    "sys.exit(7)": ("error", f"ValueError: {LINE}SystemExit: 7"),
    "raise KeyboardInterrupt": ("error", f"ValueError: {LINE}KeyboardInterrupt"),
    "raise Odd": ("error", f"ValueError: {LINE}Odd: its __str__ raised OSError"),
    "raise RuntimeError('x' * 10**6)": ("error", f"ValueError: {LINE}RuntimeError: {'x' * 300}"),
    "bytearray(10**15)": ("oom", f"ValueError: {LINE}MemoryError"),
    "os._exit(7)": ("worker_lost", "rank 0 ended with exit code 7"),
    "os.abort()": ("worker_lost", "rank 0 died of SIGABRT"),
    "ctypes.string_at(0)": ("worker_lost", "rank 0 died of SIGSEGV"),
    "all_of(os.close)": ("worker_lost", "rank 0 ended with exit code 1"),
    TELL.format(r"b'[]\n'"): (None, ""),
    TELL.format(r"b'{}\n5\nnull\n'"): (None, ""),
    TELL.format(r"""b'{"event": "failed", "kind": "odd", "message": 5}\n'"""): ("error", "5"),
    TELL.format(r"""b'{"event": "report", "report": 5}\n'"""): (
        "error",
        "RecordError: RankResult: expected RankResult, found 5",
    ),
}
"""What the code does in a worker -> kind of the failure, and how its message begins."""


@pytest.mark.slow_cases(
    'all_of(lambda each: os.write(each, b\'{"event":',
    "all_of(lambda each: os.write(each, b'[]\\\\n'))",
    "raise KeyboardInterrupt",
    "os._exit(7)",
    "os.abort()",
    "raise Odd",
    "bytearray",
    "sys.exit",
    "RuntimeError",
)
@pytest.mark.parametrize("code", ENDS)
@pytest.mark.more
def test_a_trial_of_misbehaving_code_ends_with_a_class_and_a_cause(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        {"own/mine/spec.py": SPEC.replace("VERSION = 3\n", f"VERSION = 3\n{IN_WORKER.format(code)}")},
    )
    limits = ("retry.worker_lost=0", "executor.start_seconds=4")
    with family(monkeypatch):
        told = ask(*NOOP, "workload=mine", "workload_path=own", *limits, cwd=tmp_path)
    [record] = records_in(tmp_path, "smoke")
    kind, message = ENDS[code]
    failure: dict[str, Any] = record["failure"] or {"kind": None, "message": ""}
    assert (told.code, failure["kind"]) == (1 if kind else 0, kind), failure
    assert failure["message"].startswith(message.replace("HERE", str(tmp_path)))
    assert len(failure["message"]) <= 600


@pytest.mark.more
def test_the_log_of_a_worker_that_crashes_has_the_line_of_its_code(tmp_path: Path) -> None:
    code = IN_WORKER.format("os.abort()")
    write(tmp_path, {"own/mine/spec.py": SPEC.replace("VERSION = 3\n", f"VERSION = 3\n{code}")})
    ask(*NOOP, "workload=mine", "workload_path=own", "retry.worker_lost=0", cwd=tmp_path)
    [log] = (tmp_path / "outputs/smoke").rglob("rank0.log")
    assert f'File "{tmp_path}/own/mine/spec.py", line 14 in <module>' in log.read_text()
