"""Trials that compute nothing, in real worker processes; and interpreters whose workers do what a test wants.

As a script it is a supervisor to be killed: `python noop_trials.py FOLDER [SOCKET TOKEN]` starts two
workers, from the fork server at SOCKET or its own one, prints a line when they train, and waits.
"""

import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import placement, trial_spec
from queues import queue_for
from repository import SUPPORT
from trials import Unwatched

from orchestrator.core.device import Node
from orchestrator.core.inventory import of_host
from orchestrator.core.placement import Placement, StartMethod
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec, trial_id
from orchestrator.execute.executor import Executor, SweepContext
from orchestrator.execute.inline import InlineExecutor
from orchestrator.execute.machine.agent import ForkServerAddress, HostAgent
from orchestrator.execute.trial.worker_group import WorkerGroup
from orchestrator.train.environment import cpu_model
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import WorkerJob

HERE = of_host(Node(name="localhost", cpus=2, cpu_model="Some CPU"))


def noop(fault: str = "none", *, workers: int = 1, seed: int = 0, **changes: Any) -> Placement:
    """A measured trial of 20 steps; `changes` are those of its placement."""
    trial = trial_spec(
        trainer="noop",
        host_cpu=f"{cpu_model()} x2",
        trainer_options={} if fault == "none" else {"fault": fault},
        num_workers=workers,
        seed=seed,
        steps=20,
        timing=TimingSpec(steps_per_block=2, min_blocks=6, max_blocks=6),
    )
    return placement(trial, **{"replicas": workers, "num_processes": workers, "threads": 1, **changes})


def counting(steps: int) -> Placement:
    """Placement that counts that many steps."""
    short = noop()
    trial = replace(short.trial, steps=steps)
    return replace(short, trial=trial, trial_id=trial_id(trial))


def inline() -> Executor:
    """Executor of this host without Ray."""
    return InlineExecutor(HERE)


def on_ray() -> Executor:
    """Executor of this host with a Ray of its own."""
    pytest.importorskip("ray", reason="Ray is not installed")
    from orchestrator.execute.on_ray.executor import RayTuneExecutor

    return RayTuneExecutor(HERE, address="local")


def context(folder: Path, **changes: Any) -> SweepContext:
    """Deadlines of 20 s, our own interpreter, no retries, and a data set of a few black images."""
    defaults = {
        "sweep": "example",
        "folder": folder,
        "deadlines": Deadlines(resources_seconds=20.0, start_seconds=20.0, run_seconds=20.0),
        "data_paths": {"synthetic:1": str(_data(folder))},
        "pythons": {"noop": sys.executable},
        "devices": {},
        "retry_limits": {},
        "prior_attempts": {},
        "environment": {"hostname": "here"},
    }
    return SweepContext(**{**defaults, **changes})


def run(told: SweepContext, *placements: Placement) -> list[TrialRecord]:
    """All records that the inline executor keeps of these placements."""
    records: list[TrialRecord] = []
    queue = queue_for(placements, told, HERE)
    InlineExecutor(HERE).run_queue(queue, told, Unwatched(), on_record=records.append)
    return records


def jobs(folder: Path, *, workers: int) -> list[WorkerJob]:
    """The jobs that a supervisor would send to the workers of `noop()`."""
    return [
        WorkerJob(
            trial=noop(workers=workers).trial,
            kind="cpu",
            precision="fp32",
            rehearsal=False,
            rank=rank,
            world_size=workers,
            replicas=workers,
            threads=1,
            data_path=str(_data(folder)),
            addresses=("127.0.0.1:1",) * workers,
            variables={},
        )
        for rank in range(workers)
    ]


def group(
    address: ForkServerAddress, folder: Path, *, workers: int = 1, start_method: StartMethod = "fork"
) -> WorkerGroup:
    """The workers of `noop()`, not started yet."""
    logs = [folder / f"rank{rank}.log" for rank in range(workers)]
    until = time.monotonic() + 20.0
    return WorkerGroup(
        [address] * workers,
        jobs(folder, workers=workers),
        start_method=start_method,
        logs=logs,
        until=until,
    )


def wait_until_training(started: WorkerGroup, *, workers: int = 1) -> None:
    """Hear the workers until each has said that it trains; they then wait at their first meeting."""
    training = 0
    while training < workers:
        event = started.next_event(until=time.monotonic() + 20.0)
        assert event is not None, "no worker says anything"
        training += event[1]["event"] == "training"


def python_with(folder: Path, sitecustomize: str, *, python: Path = Path(sys.executable)) -> str:
    """An interpreter that runs some code whenever it starts, in fork servers as in spawned workers."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(sitecustomize)
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder}" exec {python} "$@"\n')
    script.chmod(0o755)
    return str(script)


def planted(code: str) -> str:
    """Return code for `python_with` that may import helpers of tests, and then forgets their folders."""
    folders = [str(folder) for folder in SUPPORT]
    return f"import sys\nsys.path.extend({folders!r})\n{code}\nsys.path[-{len(folders)}:] = []\n"


def _data(folder: Path) -> Path:
    path = folder / "data.npz"
    if not path.exists():
        images, labels = np.zeros((128, 28, 28, 1), np.uint8), np.zeros(128, np.uint8)
        np.savez(path, x_train=images, y_train=labels, x_test=images[:16], y_test=labels[:16])
    return path


def _main(folder: Path, *known: str) -> None:
    with contextlib.ExitStack() as stack:
        if known:
            address = ForkServerAddress(path=known[0], token=known[1])
        else:
            agent = stack.enter_context(HostAgent())
            address = agent.fork_server(trainer_info("noop"), python=sys.executable, start_seconds=20.0)
        started = stack.enter_context(group(address, folder, workers=2))
        wait_until_training(started, workers=2)
        sys.stdout.write("training\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), *sys.argv[2:])
