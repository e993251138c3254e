"""Trials in real worker processes: what becomes of them, and that nothing of them is left."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import noop_trials
import process_tracking
import psutil
import pytest
from builders import placement
from noop_trials import context, group, noop, python_with, run, wait_until_training

from orchestrator.core.errors import TrialError
from orchestrator.core.placement import Attempt
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import trial_id
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.machine.agent import ForkServerAddress, HostAgent
from orchestrator.execute.trial.host import ForkServerOf, LocalHost
from orchestrator.execute.trial.supervisor import build_record
from orchestrator.train.registry import trainer_info

_SHORT = Deadlines(resources_seconds=20.0, start_seconds=20.0, run_seconds=1.0)

_STARTS_A_CHILD = """
import importlib, subprocess, sys, types

def start_a_child():
    subprocess.Popen(["sleep", "600"])

def forked(connection):
    start_a_child()
    del sys.modules["orchestrator.train.worker"]
    return importlib.import_module("orchestrator.train.worker").main(connection)

if "orchestrator.train.process.fork_server" in sys.orig_argv:
    sys.modules["orchestrator.train.worker"] = types.SimpleNamespace(main=forked)
if "orchestrator.train.worker" in sys.orig_argv:
    start_a_child()
"""
_KILLS_ITS_FORK_SERVER = """
import os, signal, subprocess, sys, types
from orchestrator.train.process.channel import Channel

def forked(connection):
    subprocess.Popen(["sleep", "600"])
    channel = Channel(connection)
    channel.receive()
    channel.send({"event": "training"})
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()

sys.modules["orchestrator.train.worker"] = types.SimpleNamespace(main=forked)
"""
_SAYS_HALF_A_MESSAGE = """
import os, signal, sys, types
from orchestrator.train.process.channel import Channel

def forked(connection):
    channel = Channel(connection)
    channel.receive()
    channel.send({{"event": "training"}})
    connection.sendall(b'{{"event": "rep')
    {then}

sys.modules["orchestrator.train.worker"] = types.SimpleNamespace(main=forked)
"""
_FAILS_TO_IMPORT = """
import sys

class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise {error}

sys.meta_path.insert(0, Broken())
"""


@pytest.fixture(autouse=True)
def family(monkeypatch):
    with process_tracking.family(monkeypatch) as started:
        yield started


@pytest.fixture
def agent():
    with HostAgent() as started:
        yield started


def fork_server(agent: HostAgent) -> ForkServerAddress:
    return agent.fork_server(trainer_info("noop"), python=sys.executable, start_seconds=20.0)


def recorded(attempt: Attempt, told: SweepContext, *, fork_server_of: ForkServerOf) -> TrialRecord:
    here = LocalHost(attempt, told, fork_server_of=fork_server_of)
    return build_record(attempt, told, hosts=[here], on_progress=lambda _: None)


def find_log(record, folder: Path, *, rank: int = 0) -> str:
    return (folder / record.log_path / f"rank{rank}.log").read_text()


@contextlib.contextmanager
def supervisor(folder: Path, *known: str):
    """Another process that supervises two training workers; it is killed at the end if it still runs."""
    command = [sys.executable, noop_trials.__file__, str(folder), *known]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "training\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_a_trial_is_a_record_with_a_result(tmp_path, start_method):
    (record,) = run(context(tmp_path), noop(start_method=start_method))
    assert record.failure is None
    assert (record.trial_id, record.attempt, record.sweep) == (trial_id(record.spec), 1, "example")
    assert (record.result.steps, record.result.samples) == (20, 20 * 64)
    assert len(record.result.block_seconds[0]) == 6
    assert record.result.losses[0] == (1, 1.0)
    assert record.result.launch_seconds >= record.result.setup_seconds > 0
    assert record.environment["hostname"] == "here"
    assert "numpy" in record.environment
    assert record.started_at <= record.ended_at
    assert find_log(record, tmp_path) == ""


@pytest.mark.more_except("was")
@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("raise", "error", "RuntimeError: this failure was asked for with trainer.fault='raise'"),
        ("die", "worker_lost", "rank 0 was killed"),
        ("hang", "timeout", "no result 1 s after training began (executor.run_seconds=1)"),
        ("nan", "diverged", "the loss is nan after step 6"),
        ("exhaust", "oom", "MemoryError"),
    ],
)
def test_a_failed_trial_is_a_record_and_the_rest_go_on(tmp_path, fault, kind, message):
    failed, healthy = run(context(tmp_path, deadlines=_SHORT), noop(fault), noop())
    assert (failed.failure.kind, failed.failure.message) == (kind, message)
    assert healthy.result.steps == 20


@pytest.mark.more
def test_a_trial_without_memory_is_the_only_one_of_twelve_to_fail_and_is_not_started_again(tmp_path):
    placements = [noop("exhaust" if seed == 5 else "none", seed=seed) for seed in range(12)]
    records = run(context(tmp_path, retry_limits={"worker_lost": 1, "preempted": 10}), *placements)
    assert [record.failure and record.failure.kind for record in records] == [None] * 5 + ["oom"] + [None] * 6


def test_the_log_of_a_failed_worker_holds_its_traceback(tmp_path):
    (record,) = run(context(tmp_path), noop("raise"))
    assert record.log_path == f"logs/{record.trial_id}-1"
    assert "Traceback (most recent call last):" in find_log(record, tmp_path)
    assert 'noop_trainer.py", line' in find_log(record, tmp_path)


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_two_workers_take_the_same_steps_together(tmp_path, start_method):
    (record,) = run(context(tmp_path), noop(workers=2, start_method=start_method))
    assert record.failure is None
    assert len(record.result.devices) == 2
    assert [len(blocks) for blocks in record.result.block_seconds] == [6, 6]
    assert record.result.samples == 20 * 64
    assert sorted(path.name for path in (tmp_path / record.log_path).iterdir()) == ["rank0.log", "rank1.log"]


@pytest.mark.more_except("raise-error-RuntimeError")
@pytest.mark.parametrize(
    ("fault", "kind", "rank"),
    [
        ("raise", "error", "RuntimeError"),
        ("die", "worker_lost", "rank 1"),
        ("nan", "diverged", "the loss is nan"),
    ],
)
def test_the_failure_of_one_worker_ends_the_trial_of_both(tmp_path, fault, kind, rank):
    (record,) = run(context(tmp_path), noop(fault, workers=2))
    assert record.failure.kind == kind
    assert record.failure.message.startswith(rank)


def test_a_lost_worker_is_tried_again_and_each_attempt_has_its_record_and_log(tmp_path):
    told = context(tmp_path, retry_limits={"worker_lost": 1}, prior_attempts={noop("die").trial_id: 4})
    records = run(told, noop("die"))
    assert [record.attempt for record in records] == [5, 6]
    assert [record.log_path for record in records] == [f"logs/{noop('die').trial_id}-{n}" for n in (5, 6)]


def test_a_rehearsal_takes_two_steps(tmp_path):
    (record,) = run(context(tmp_path), noop(provenance="rehearsed"))
    assert record.provenance == "rehearsed"
    assert (record.result.steps, len(record.result.block_seconds[0])) == (2, 1)


def test_a_result_of_another_device_is_refused_and_kept(tmp_path):
    elsewhere = replace(noop().trial, host_cpu="Another CPU x2")
    (record,) = run(context(tmp_path), placement(elsewhere, threads=1))
    assert record.failure.kind == "device_mismatch"
    assert record.failure.message.startswith("trial asks for cpu, which its driver calls 'Another CPU'")
    assert record.failure.refused.steps == 20


def test_a_worker_that_hangs_in_the_middle_of_a_message_is_timed_out(tmp_path):
    python = python_with(tmp_path / "half", _SAYS_HALF_A_MESSAGE.format(then="signal.pause()"))
    (record,) = run(context(tmp_path, pythons={"noop": python}, deadlines=_SHORT), noop())
    assert record.failure.kind == "timeout"
    assert record.failure.message == "no result 1 s after training began (executor.run_seconds=1)"


def test_a_worker_that_is_killed_in_the_middle_of_a_message_is_lost(tmp_path):
    code = _SAYS_HALF_A_MESSAGE.format(then="os.kill(os.getpid(), signal.SIGKILL)")
    python = python_with(tmp_path / "half", code)
    (record,) = run(context(tmp_path, pythons={"noop": python}), noop())
    assert (record.failure.kind, record.failure.message) == ("worker_lost", "rank 0 was killed")


def test_a_python_that_is_not_there_fails_the_trial_with_the_way_to_get_it(tmp_path):
    python = str(tmp_path / "python")
    (record,) = run(context(tmp_path, pythons={"noop": python}), noop())
    assert record.failure.kind == "environment"
    assert record.failure.message == (
        f"trainer 'noop': [Errno 2] No such file or directory: '{python}'; "
        "get it with: pip install 'numpy>=1.26,<3'"
    )
    assert record.log_path is None


def test_a_framework_that_cannot_be_loaded_fails_the_trial_with_its_last_line(tmp_path):
    error = 'ImportError("libcudnn.so.9: cannot open shared object file")'
    code = _FAILS_TO_IMPORT.format(module="orchestrator.train.trainers.noop_trainer", error=error)
    python = python_with(tmp_path / "broken", code)
    (record,) = run(context(tmp_path, pythons={"noop": python}), noop())
    assert record.failure.kind == "environment"
    assert record.failure.message == (
        f"trainer 'noop': {python} did not start: it ended at once; "
        "ImportError: libcudnn.so.9: cannot open shared object file"
    )


def test_a_framework_that_is_not_installed_fails_the_trial_with_the_way_to_get_it(tmp_path):
    error = "ModuleNotFoundError(\"No module named 'tensorflow'\")"
    code = _FAILS_TO_IMPORT.format(module="orchestrator.train.trainers.noop_trainer", error=error)
    python = python_with(tmp_path / "empty", code)
    (record,) = run(context(tmp_path, pythons={"noop": python}), noop())
    assert record.failure.kind == "environment"
    assert record.failure.message == (
        "No module named 'tensorflow'; get it with: pip install 'numpy>=1.26,<3'"
    )


@pytest.mark.more_except("alone")
@pytest.mark.parametrize(
    "before",
    [
        "import os",
        "import subprocess; subprocess.Popen(['sleep', '600'])",
        "import os; os.write(1, b'rea')",
    ],
    ids=["alone", "with a child", "half said"],
)
def test_a_framework_that_is_never_loaded_fails_the_trial_at_the_start_deadline(tmp_path, before):
    python = python_with(tmp_path / "hanging", f"{before}; import signal; signal.pause()")
    deadlines = Deadlines(resources_seconds=20.0, start_seconds=1.0, run_seconds=20.0)
    (record,) = run(context(tmp_path, pythons={"noop": python}, deadlines=deadlines), noop())
    assert record.failure.kind == "environment"
    assert record.failure.message == f"trainer 'noop': {python} did not start: not ready after 1 s"


def test_a_worker_that_breaks_before_its_job_leaves_its_traceback(tmp_path):
    code = _FAILS_TO_IMPORT.format(module="workloads.flops", error='ImportError("half an installation")')
    python = python_with(tmp_path / "half", code)
    (record,) = run(context(tmp_path, pythons={"noop": python}), noop())
    assert (record.failure.kind, record.failure.message) == ("worker_lost", "rank 0 ended with exit code 1")
    assert find_log(record, tmp_path).endswith("ImportError: half an installation\n")


@pytest.mark.more_except("none-fork")
@pytest.mark.slow_cases("none-spawn", "raise-fork", "raise-spawn", "hang-fork")
@pytest.mark.parametrize("start_method", ["fork", "spawn"])
@pytest.mark.parametrize("fault", ["none", "raise", "hang"])
def test_what_a_worker_has_started_does_not_outlive_its_trial(tmp_path, family, agent, fault, start_method):
    python = python_with(tmp_path / "parent", _STARTS_A_CHILD)
    told = context(tmp_path, pythons={"noop": python}, deadlines=_SHORT)
    agent.fork_server(trainer_info("noop"), python=python, start_seconds=20.0)
    fork_servers = family.pids()
    attempt = Attempt(placement=noop(fault, start_method=start_method), number=1)
    record = recorded(attempt, told, fork_server_of=agent.fork_server)
    assert (record.failure is None) == (fault == "none")
    family.wait_until_gone(but=fork_servers)


def test_sockets_of_fork_servers_are_for_their_owner_only_and_are_removed():
    with HostAgent() as agent:
        folder = Path(fork_server(agent).path).parent
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_trials_of_one_environment_share_a_fork_server(family, agent):
    assert fork_server(agent) == fork_server(agent)
    family.wait_until_there_are(1)


def test_a_prepared_fork_server_is_the_one_that_is_asked_for(family, agent):
    for _ in range(2):
        agent.prepare(trainer_info("noop"), python=sys.executable)
    family.wait_until_there_are(1)
    (pid,) = family.pids()
    address = fork_server(agent)
    agent.prepare(trainer_info("noop"), python=sys.executable)
    assert fork_server(agent) == address
    assert family.pids() == {pid}


def test_a_prepared_fork_server_without_a_request_ends_with_its_agent(family):
    with HostAgent() as agent:
        agent.prepare(trainer_info("noop"), python=sys.executable)
        family.wait_until_there_are(1)
    family.wait_until_gone()


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/false"])
def test_a_fork_server_that_cannot_be_prepared_fails_where_it_is_asked_for(agent, python):
    agent.prepare(trainer_info("noop"), python=python)
    with pytest.raises(TrialError, match=re.escape(python)) as caught:
        agent.fork_server(trainer_info("noop"), python=python, start_seconds=20.0)
    assert caught.value.kind == "environment"


def test_a_fork_server_inherits_neither_the_token_nor_the_threads_of_ray(monkeypatch, family, agent):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    fork_server(agent)
    (pid,) = family.pids()
    assert {"RAY_AUTH_TOKEN", "OMP_NUM_THREADS"}.isdisjoint(psutil.Process(pid).environ())


def test_a_wrong_token_starts_no_process(tmp_path, family, agent):
    address = fork_server(agent)
    before = family.pids()
    with (
        pytest.raises(TrialError, match=r"^the fork server refused: wrong token$") as caught,
        group(ForkServerAddress(path=address.path, token="guess"), tmp_path),
    ):
        pass
    assert caught.value.kind == "environment"
    assert family.pids() == before


def test_a_supervisor_that_stops_in_the_middle_ends_its_workers(tmp_path, family, agent):
    address = fork_server(agent)
    before = family.pids()
    with pytest.raises(KeyboardInterrupt), group(address, tmp_path, workers=2) as workers:  # noqa: PT012  # the point
        wait_until_training(workers, workers=2)
        assert len(family.pids() - before) == 2
        raise KeyboardInterrupt
    assert family.pids() == before


@pytest.mark.more
def test_workers_of_a_killed_supervisor_die_and_their_fork_server_serves_the_next(tmp_path, family, agent):
    address = fork_server(agent)
    before = family.pids()
    with supervisor(tmp_path, address.path, address.token) as process:
        assert len(family.pids() - before) == 3
        process.kill()
    family.wait_until_gone(but=before)
    attempt = Attempt(placement=noop(), number=1)
    record = recorded(attempt, context(tmp_path), fork_server_of=agent.fork_server)
    assert record.result.steps == 20
    assert family.pids() == before


@pytest.mark.more
def test_fork_server_and_workers_of_a_killed_agent_die(tmp_path, family):
    with supervisor(tmp_path) as process:
        assert len(family.pids()) == 4
        process.kill()
    family.wait_until_gone()


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_workers_of_a_killed_fork_server_die(tmp_path, family, agent, start_method):
    address = fork_server(agent)
    (pid,) = family.pids()
    with group(address, tmp_path, start_method=start_method) as workers:
        wait_until_training(workers)
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 10.0
        assert (0, {"event": "exited", "code": None}) in iter(lambda: workers.next_event(until=until), None)
        family.wait_until_gone()


def test_a_killed_fork_server_loses_the_trial_and_the_next_trial_gets_a_new_one(tmp_path, family, agent):
    python = python_with(tmp_path / "killer", _KILLS_ITS_FORK_SERVER)
    told = context(tmp_path, pythons={"noop": python})
    record = recorded(Attempt(placement=noop(), number=1), told, fork_server_of=agent.fork_server)
    assert (record.failure.kind, record.failure.message) == ("worker_lost", "rank 0 was killed")
    family.wait_until_gone()
    assert agent.fork_server(trainer_info("noop"), python=python, start_seconds=20.0)
    assert len(family.pids()) == 1


def test_a_fork_server_that_is_gone_when_a_trial_begins_is_shown(tmp_path, family, agent):
    address = fork_server(agent)
    (pid,) = family.pids()
    os.kill(pid, signal.SIGKILL)
    assert process_tracking.has_ended(pid)
    with (
        pytest.raises(TrialError, match=r"^the fork server does not answer: .*Connection refused$") as caught,
        group(address, tmp_path),
    ):
        pass
    assert caught.value.kind == "worker_lost"


def test_a_fork_server_that_does_not_answer_is_ended_with_its_workers_and_replaced(tmp_path, family, agent):
    first = fork_server(agent)
    (pid,) = family.pids()
    with group(first, tmp_path) as workers:
        wait_until_training(workers)
        (worker,) = family.pids() - {pid}
        os.kill(pid, signal.SIGSTOP)
        second = agent.fork_server(trainer_info("noop"), python=sys.executable, start_seconds=2.0)
        assert second != first
        assert process_tracking.has_ended(pid)
        assert process_tracking.has_ended(worker)
    attempt = Attempt(placement=noop(), number=1)
    assert recorded(attempt, context(tmp_path), fork_server_of=agent.fork_server).failure is None


@pytest.mark.more
def test_a_fork_server_that_stops_when_a_trial_begins_costs_no_more_than_the_start_deadline(
    tmp_path, family, agent
):
    def stopped(info, *, python, start_seconds):
        address = agent.fork_server(info, python=python, start_seconds=20.0)
        for pid in family.pids():
            os.kill(pid, signal.SIGSTOP)
        return address

    deadlines = Deadlines(resources_seconds=20.0, start_seconds=2.0, run_seconds=20.0)
    told = context(tmp_path, deadlines=deadlines)
    record = recorded(Attempt(placement=noop(), number=1), told, fork_server_of=stopped)
    assert record.failure.kind == "timeout"
    assert record.failure.message == "the fork server does not answer: timed out"


def test_the_start_of_a_fork_server_counts_towards_the_start_deadline(tmp_path, agent):
    def slow(info, *, python, start_seconds):
        return agent.fork_server(info, python=python, start_seconds=20.0)

    deadlines = Deadlines(resources_seconds=20.0, start_seconds=0.01, run_seconds=20.0)
    told = context(tmp_path, deadlines=deadlines)
    record = recorded(Attempt(placement=noop(), number=1), told, fork_server_of=slow)
    assert record.failure.kind == "timeout"


@pytest.mark.parametrize("fault", ["none", "raise"])
def test_the_host_is_looked_at_from_the_start_of_the_workers_to_their_end(tmp_path, agent, fault):
    attempt = Attempt(placement=noop(fault), number=1)
    record = recorded(attempt, context(tmp_path), fork_server_of=agent.fork_server)
    assert (record.failure is None) == (fault == "none")
    first, *_, last = record.host_use
    assert record.started_at <= first.at <= last.at <= record.ended_at
    assert 0 < first.cpu_busy_seconds <= last.cpu_busy_seconds
    assert first.gpus == ()
