"""A process of Ray's that supervises a trial is killed while the trial's workers train."""

import os
import signal
import threading
import time

import psutil
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
VICTIM = noop("hang", workers=2)
PATIENT = Deadlines(resources_seconds=120.0, start_seconds=120.0, run_seconds=120.0)


class Killer(Unwatched):
    """Kills, or stops, the supervisor of the victim as soon as both of its workers train."""

    def __init__(self, relatives, folder, how=signal.SIGKILL):
        self._how = how
        self._relatives = relatives
        self._log = folder / "logs" / f"{VICTIM.trial_id}-1"
        self._thread = threading.Thread(target=self._kill, daemon=True)
        self.workers = set()

    def started(self, attempt):
        if attempt.placement == VICTIM:
            self._thread.start()

    def _kill(self):
        while not all((self._log / f"rank{rank}.log").exists() for rank in (0, 1)):
            time.sleep(0.05)
        commands = {pid: command_of(pid) for pid in self._relatives.pids()}
        forked = {
            pid for pid, command in commands.items() if "orchestrator.train.process.fork_server" in command
        }
        self.workers = {pid for pid in forked if psutil.Process(pid).ppid() in forked}
        (supervisor,) = [pid for pid, command in commands.items() if "ray::ImplicitFunc.train" in command]
        os.kill(supervisor, self._how)


@pytest.mark.more
def test_a_supervisor_killed_in_mid_trial_loses_the_trial_ends_its_workers_and_the_sweep_goes_on(
    tmp_path, monkeypatch, capfd
):
    records = []
    with family(monkeypatch) as relatives:
        killer = Killer(relatives, tmp_path)

        def keep(record):
            if record.placement == VICTIM:
                assert [has_ended(pid) for pid in killer.workers] == [True, True]
            records.append(record)

        told = context(tmp_path, deadlines=PATIENT)
        queue = queue_for([VICTIM, noop()], told, HERE)
        RayTuneExecutor(HERE, address="local").run_queue(queue, told, killer, on_record=keep)
    lost, healthy = records
    assert lost.failure.kind == "worker_lost"
    assert lost.failure.message == "the trial's supervisor died; Ray's own logs may say why"
    assert (tmp_path / lost.log_path).is_dir()
    assert healthy.failure is None
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.slow
def test_a_stopped_supervisor_is_ended_with_its_workers_after_the_deadlines_and_the_sweep_goes_on(
    tmp_path, monkeypatch
):
    deadlines = Deadlines(resources_seconds=120.0, start_seconds=10.0, run_seconds=1.0)
    records = []
    with family(monkeypatch) as relatives:
        killer = Killer(relatives, tmp_path, signal.SIGSTOP)
        told = context(tmp_path, deadlines=deadlines)
        executor = RayTuneExecutor(HERE, address="local")
        executor.run_queue(queue_for([VICTIM, noop()], told, HERE), told, killer, on_record=records.append)
        assert [has_ended(pid) for pid in killer.workers] == [True, True]
    stopped, healthy = records
    assert stopped.failure.kind == "timeout"
    assert stopped.failure.message == "the trial's supervisor said nothing for 26 s"
    assert healthy.failure is None
