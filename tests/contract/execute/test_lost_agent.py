"""The process in which Ray keeps the host's agent is killed or stopped in the midst of a sweep."""

import os
import signal
import threading
import time

import pytest
from noop_trials import context, noop
from process_tracking import command_of, family, has_ended
from queues import queue_for
from trials import Unwatched

from orchestrator.core.device import Node
from orchestrator.core.inventory import of_host
from orchestrator.core.settings import Deadlines

pytest.importorskip("ray", reason="Ray is not installed")

from orchestrator.execute.on_ray.executor import RayTuneExecutor

HERE = of_host(Node(name="localhost", cpus=2, cpu_model="Some CPU"))
VICTIM = noop("hang")
PATIENT = Deadlines(resources_seconds=120.0, start_seconds=120.0, run_seconds=120.0)


@pytest.fixture
def relatives(monkeypatch):
    with family(monkeypatch) as started:
        yield started


def agent_of(relatives):
    (agent,) = [pid for pid in relatives.pids() if command_of(pid).startswith("ray::_HostAgent")]
    return agent


def load_records(placements, told, *, watcher):
    records = []
    queue = queue_for(placements, told, HERE)
    RayTuneExecutor(HERE, address="local").run_queue(queue, told, watcher, on_record=records.append)
    return records


class Killer(Unwatched):
    """Kills the agent in each attempt at the victim, as soon as its worker writes its log."""

    def __init__(self, relatives, folder):
        self._relatives = relatives
        self._folder = folder

    def started(self, attempt):
        if attempt.placement == VICTIM:
            log = self._folder / "logs" / f"{VICTIM.trial_id}-{attempt.number}" / "rank0.log"
            threading.Thread(target=self._kill, args=[log], daemon=True).start()

    def _kill(self, log):
        while not log.exists():
            time.sleep(0.05)
        os.kill(agent_of(self._relatives), signal.SIGKILL)


class Stopper(Unwatched):
    """Stops the agent before the victim's turn."""

    def __init__(self, relatives):
        self._relatives = relatives
        self.stopped = None

    def started(self, attempt):
        if attempt.placement == VICTIM:
            self.stopped = agent_of(self._relatives)
            os.kill(self.stopped, signal.SIGSTOP)


@pytest.mark.slow
def test_a_killed_agent_loses_the_trial_in_flight_alone_and_it_is_tried_again(tmp_path, relatives):
    told = context(tmp_path, deadlines=PATIENT, retry_limits={"worker_lost": 1})
    placements = [noop(seed=1), VICTIM, noop(seed=2)]
    records = load_records(placements, told, watcher=Killer(relatives, tmp_path))
    ends = [(r.spec.seed, r.attempt, r.failure and (r.failure.kind, r.failure.message)) for r in records]
    lost = ("worker_lost", "rank 0 was killed")
    assert ends == [(1, 1, None), (0, 1, lost), (0, 2, lost), (2, 1, None)]


@pytest.mark.slow
def test_a_stopped_agent_costs_one_trial_its_start_deadline_and_is_replaced(tmp_path, relatives):
    deadlines = Deadlines(resources_seconds=120.0, start_seconds=10.0, run_seconds=120.0)
    told = context(tmp_path, deadlines=deadlines)
    stopper = Stopper(relatives)
    first, stopped, after = load_records([noop(seed=1), VICTIM, noop(seed=2)], told, watcher=stopper)
    assert (first.failure, after.failure) == (None, None)
    assert stopped.failure.kind == "timeout"
    assert stopped.failure.message == "the host's agent gave no fork server (executor.start_seconds=10)"
    assert has_ended(stopper.stopped)


@pytest.mark.slow
def test_an_agent_that_is_stopped_when_the_sweep_ends_is_ended_with_it(tmp_path, relatives):
    class StopsLast(Unwatched):
        def ended(self, _record):
            os.kill(agent_of(relatives), signal.SIGSTOP)

    (record,) = load_records([noop()], context(tmp_path), watcher=StopsLast())
    assert record.failure is None


@pytest.mark.more
def test_what_rays_memory_monitor_kills_is_out_of_memory(tmp_path, relatives, monkeypatch):
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.001")  # any host uses more
    (record,) = load_records([VICTIM], context(tmp_path, deadlines=PATIENT), watcher=Unwatched())
    assert record.failure.kind == "oom"
    assert record.failure.message.endswith(": the host ran low on memory")
