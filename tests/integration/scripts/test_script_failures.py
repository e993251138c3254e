"""Scripts that fail, hang, lie or leave processes behind end as classified failures."""

import time
from pathlib import Path

import psutil
import pytest
from cli_process import ask
from script_runs import PATIENT, PLAIN, SHORT, records_in, run

CONNECTED = """
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ['ORCHESTRATOR_CALLBACK'])
"""

FAILURES = {
    "crash": (
        "for i in steps(range(900), samples=64):\n    if i == 20: raise OSError('full')",
        "error",
        "OSError: full",
    ),
    "hang": (
        "import time\nfor i in steps(range(900), samples=64): time.sleep(100 * (i == 20))",
        "timeout",
        "no result 5 s",
    ),
    "mute": ("import time\ntime.sleep(100)", "timeout", "executor.start_seconds=8"),
    "silent": ("print('done')", "invalid_measurement", "exit code 0 and reported no step"),
    "short": ("for i in steps(range(30), samples=64): pass", "invalid_measurement", "lower steps="),
    "broken": (
        "for i in steps(range(900), samples=64): report(loss=float('nan'))",
        "diverged",
        "the loss is nan",
    ),
    "killed": (
        "import os\nfor i in steps(range(900), samples=64):\n    if i == 20: os.kill(os.getpid(), 9)",
        "worker_lost",
        "was killed by signal 9",
    ),
    "exhausted": (
        "class OutOfMemoryError(Exception): pass\nfor i in steps(range(900), samples=64):\n"
        "    if i == 20: raise OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB')",
        "oom",
        "CUDA out of memory",
    ),
    "unpacked": ("import not_installed", "environment", "No module named 'not_installed'"),
    "garbage": (
        f"{CONNECTED}s.sendall(bytes(range(256)))\ns.recv(9)",
        "invalid_measurement",
        "something else than a message",
    ),
    "liar": (
        f"{CONNECTED}"
        's.sendall(b\'{"event": "hello", "version": 2}\\n\')\ns.recv(99)\n'
        's.sendall(b\'{"event": "part", "left_out": {}, "seconds": 5e-324}\\n\')\ns.recv(9)',
        "invalid_measurement",
        "the script reported seconds=5e-324, which must be a number from 1e-07",
    ),
    "other version": (
        f'{CONNECTED}s.sendall(b\'{{"event": "hello", "version": 99}}\\n\')\ns.recv(99)',
        "invalid_measurement",
        "speaks version 99 of the protocol, and this orchestrator version 2",
    ),
    "uncounted": (
        "for i in steps(range(900)): pass",
        "invalid_measurement",
        "the samples of a step are not known; give their number",
    ),
    "unwatched": (  # the name alone: CuPy itself needs a GPU
        "import sys, types\nsys.modules['cupy'] = types.ModuleType('cupy')\n"
        "for i in steps(range(900), samples=64): pass",
        "invalid_measurement",
        "cupy computes while the script goes on, and nothing here waits for it",
    ),
    "other device": (  # in the place of mps, xpu and npu
        "import torch\nmodel = torch.nn.Linear(3, 2, device='meta')\n"
        "for i in steps(range(900), samples=64): model(torch.zeros(64, 3, device='meta'))",
        "invalid_measurement",
        "the script reported the device 'meta', and nothing here waits for it",
    ),
    "smaller batches": (
        "import time, torch\n"
        "class Stream(torch.utils.data.IterableDataset):\n"
        "    def __iter__(self): return iter(torch.zeros(65, 3))\n"
        "weights = torch.ones(3, requires_grad=True)\n"
        "while True:\n"
        "    for x in steps(torch.utils.data.DataLoader(Stream(), 64)):\n"
        "        (x @ weights).sum().backward()\n"
        "        time.sleep(0.01)\n",
        "invalid_measurement",
        "samples/s with its smaller batches and",
    ),
    "miscounted": (
        "for i in steps(range(900), samples=1): pass",
        "invalid_measurement",
        "counted 1 samples in steps=1, where the trial's batch is 64",
    ),
}


@pytest.mark.more_except("crash")
@pytest.mark.slow_cases(
    "exhausted", "mute", "uncounted", "other version", "garbage", "unpacked", "short", "broken", "killed"
)
@pytest.mark.parametrize("name", FAILURES)
def test_a_script_that_fails_is_a_classified_failure(name: str, tmp_path: Path) -> None:
    code, kind, reason = FAILURES[name]
    (tmp_path / "train.py").write_text(PLAIN + code)
    patience = PATIENT if "torch" in code else ()
    told = run(tmp_path, "python train.py", "retry.worker_lost=0", *patience)
    assert told.code == 1
    [record] = records_in(tmp_path)
    assert (record["failure"]["kind"], reason in record["failure"]["message"]) == (kind, True), record[
        "failure"
    ]


@pytest.mark.more
@pytest.mark.parametrize(("last", "code"), [("pass", 0), ("time.sleep(100 * (i == 20))", 1)])
def test_all_that_a_script_starts_ends_with_its_trial(last: str, code: int, tmp_path: Path) -> None:
    mark = f"import time; time.sleep(300)  # {tmp_path.name}"
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import subprocess, sys, time\nfor _ in range(10):\n"
        f"    subprocess.Popen([sys.executable, '-c', {mark!r}], start_new_session=True)\n"
        f"for i in steps(range(900), samples=64): {last}"
    )
    assert run(tmp_path, "python train.py").code == code
    wait_until_gone(mark)


@pytest.mark.more
def test_daemons_that_replace_themselves_end_with_their_trial(tmp_path: Path) -> None:
    mark = tmp_path.name
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import os, time\nMARK = {mark!r}\n"
        "def flee():\n"
        "    while True:\n"
        "        if os.fork(): os._exit(0)\n"
        "        os.setsid()\n"
        "        time.sleep(0.002)\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0: flee()\n"
        "for i in steps(range(900), samples=64): pass"
    )
    assert run(tmp_path, f"python train.py {mark}").code == 0
    wait_until_gone(mark)


def wait_until_gone(mark: str) -> None:
    """Wait for the end of all processes with the mark in their command line, for 10 s at most."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        commands = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
        living = [command for command in commands if mark in command]
        if not living:
            return
        time.sleep(0.1)
    raise AssertionError(f"processes outlived their trial: {living}")


@pytest.mark.more
def test_a_killed_script_is_the_cause_and_the_error_of_another_rank_its_consequence(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import os\nfor i in steps(range(900), samples=32):\n"
        "    if i == 20 and os.environ['RANK'] == '1': os.kill(os.getpid(), 9)\n"
        "    if i == 20: raise RuntimeError('connection closed by peer')"
    )
    told = run(tmp_path, "python train.py", "num_workers=2", "retry.worker_lost=0")
    assert told.code == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "worker_lost"
    assert "killed by signal 9" in record["failure"]["message"]


@pytest.mark.more
@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        ("import sys; sys.exit('no data')", "error", "exit code 1: no data"),
        ("import time; time.sleep(100)", "timeout", "executor.run_seconds=5"),
    ],
)
def test_a_run_that_fails_is_a_classified_failure(code: str, kind: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(code)
    assert run(tmp_path, "python train.py").code == 1
    [record] = records_in(tmp_path)
    assert (record["failure"]["kind"], reason in record["failure"]["message"]) == (kind, True)


@pytest.mark.more_except(
    "words0-script.command names nothere.py, which is not in", "words1-unknown placeholder {batchsize}"
)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["script.command=python nothere.py"], "script.command names nothere.py, which is not in"),
        (["script.command=python train.py {batchsize}"], "unknown placeholder {batchsize}"),
        ([], "script.command is missing"),
        (["script.command=python train.py", "num_workers=3"], "does not divide over 3"),
        (["script.comand=python train.py"], "comand"),
    ],
)
def test_a_wrong_request_is_one_line(words: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    told = ask(*SHORT, *words, cwd=tmp_path)
    assert told.code == 2
    assert reason in told.err
    assert len(told.err.splitlines()) == 1


ALONE = """
import sys, torch
from orchestrator_callback import steps
data = torch.utils.data.TensorDataset(torch.randn(1000, 20))
for _ in range(100):
    for [x] in steps(iter(torch.utils.data.DataLoader(data, 50))): x.sum()
"""


@pytest.mark.more
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["num_workers=2", "global_batch_size=100"], "2 workers and the script trains in groups of 1"),
        (["global_batch_size=64"], "counted 50 samples in steps=1, where the trial's batch is 64"),
    ],
)
def test_a_script_that_takes_another_batch_or_trains_alone_is_refused(
    words: list[str], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(ALONE)
    assert run(tmp_path, "python train.py", *words, *PATIENT).code == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "invalid_measurement"
    assert reason in record["failure"]["message"]


@pytest.mark.more
def test_a_command_that_starts_several_processes_for_a_worker_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import time\nfor i in steps(range(900), samples=64): time.sleep(0.01)"
    )
    (tmp_path / "launch.py").write_text(
        "import subprocess, sys  # orchestrator_callback\n"
        "for p in [subprocess.Popen([sys.executable, 'train.py']) for _ in range(2)]: p.wait()"
    )
    assert run(tmp_path, "python launch.py", *PATIENT).code == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "invalid_measurement"
    assert "two processes of one worker report steps" in record["failure"]["message"]
