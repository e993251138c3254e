"""Cases of a script, each done by ranks of its own: what every rank finds, as JSON in a file.

The script is called as `python SCRIPT FOLDER WORD...`. It needs no test package.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from repository import CHILD_PYTHONPATH
from trainer_runs import do_all

from orchestrator.train.trainer import WorkerJob

Finding = dict[str, Any]


@cache
def collect_findings(script: str, *words: str) -> dict[str, list[Finding]]:
    """Return each rank's findings by the name of the case; run once per test session."""
    with TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, script, folder, *words],
            env={**os.environ, "PYTHONPATH": CHILD_PYTHONPATH},
            check=True,
            timeout=300,
        )
        found: dict[str, list[Finding]] = {}
        for file in sorted(Path(folder).glob("*.json")):
            found.setdefault(file.stem.rpartition("-")[0], []).append(json.loads(file.read_text()))
        return found


def is_done(folder: Path, name: str, jobs: list[WorkerJob], work: Callable[[WorkerJob], Finding]) -> bool:
    """Have each rank do the work and keep what it found; whether all did."""
    return do_all(jobs, [folder / f"{name}-{job.rank}" for job in jobs], work=partial(_keep, work))


def _keep(work: Callable[[WorkerJob], Finding], job: WorkerJob, stem: Path) -> None:
    stem.with_suffix(".json").write_text(json.dumps(work(job)))
