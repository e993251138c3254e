"""Command lines as a user types them, each in a process and a working directory of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repository import ROOT
from warm_commands import WarmCommands

from orchestrator.record.journal import Journal

NOOP = (
    "+sweep=smoke",
    "trainer=noop",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "tracking=none",
    "executor=inline",
    "sweep.shuffle_seed=null",
)
"""A sweep of one trial that computes nothing, without Ray and MLflow; of several in the order of the grid."""

_WARM = WarmCommands()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    code: int
    out: str
    err: str


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "orchestrator", *words]


def environment(**changes: str) -> dict[str, str]:
    """This one's, with the torch_xla environment by its full path."""
    xla = os.environ.get("ORCHESTRATOR_XLA_PYTHON", ".venv-xla/bin/python")
    return {**os.environ, "ORCHESTRATOR_XLA_PYTHON": str(ROOT / xla) if xla else "", **changes}


def ask(*words: str, cwd: Path, variables: Mapping[str, str] | None = None, seconds: float = 300) -> Answer:
    """Run a command to its end, in a fork of a process that has its imports if nothing speaks against it."""
    wanted = environment(**(variables or {}))
    if warm := _WARM.run(words, cwd=cwd, variables=wanted, seconds=seconds):
        code, out, err = warm
        return Answer(code=code, out=out, err=err)
    done = subprocess.run(
        command(*words),
        cwd=cwd,
        env=wanted,
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def start(*words: str, cwd: Path) -> "subprocess.Popen[str]":
    """Start a command; all that it says comes through its `stdout`."""
    return subprocess.Popen(
        command(*words),
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def records_in(folder: Path, sweep: str = "smoke") -> Sequence[Mapping[str, Any]]:
    """The lines of a sweep's ledger."""
    ledger = folder / "outputs" / sweep / "records.jsonl"
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def wait_for_stage(folder: Path, stage: str, *, trials: int, sweep: str = "smoke") -> None:
    """Wait until that many trials of the sweep have reached the stage, for a minute at most."""
    journal = Journal(folder / "outputs" / sweep / "journal.jsonl")
    until = time.monotonic() + 60
    while sum(step.stage == stage for step in journal.steps()) < trials:
        assert time.monotonic() < until, f"no {trials} trials came to be {stage}: {journal.steps()}"
        time.sleep(0.05)
