"""Training scripts in a folder outside the repository, measured from the command line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli_process import Answer, ask

SHORT = ("+sweep=single", "workload=script", "device=cpu", "steps=100", "executor=inline", "tracking=none")
PATIENT = ("executor.start_seconds=90", "executor.run_seconds=90")
PLAIN = "from orchestrator_callback import report, step, steps\n"
EVALUATION_SECONDS = 1.5
EVALUATE = f"""
import json, time
began, evaluations = time.monotonic(), 0


def evaluate(*_):
    global evaluations
    time.sleep({EVALUATION_SECONDS})
    evaluations += 1
    return {{}}


def tell():
    open("seen", "w").write(json.dumps([time.monotonic() - began, evaluations]))
"""


def run(folder: Path, command: str, *words: str) -> Answer:
    """Measure a script of a folder; hanging takes seconds."""
    limits = ("executor.run_seconds=5", "executor.start_seconds=8")
    return ask(*SHORT, f"script.command={command}", *limits, *words, cwd=folder)


def records_in(folder: Path) -> list[Mapping[str, Any]]:
    """All records of the scripts."""
    ledgers = sorted((folder / "outputs").glob("single-*/records.jsonl"))
    return [json.loads(line) for ledger in ledgers for line in ledger.read_text().splitlines()]


def require_without_evaluations(result: Mapping[str, Any], folder: Path) -> None:
    """Check that a script's steps took no longer than the script did without its evaluations."""
    seconds, evaluations = json.loads((folder / "seen").read_text())
    assert evaluations > 2
    assert result["training_seconds"] < seconds - evaluations * EVALUATION_SECONDS
