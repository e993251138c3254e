"""What a trainer's Python has, asked of its metadata: no framework is imported."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from orchestrator.core.trainer import TrainerEnvironment, TrainerInfo
from orchestrator.execute.code import link_code
from orchestrator.train.environment import framework_versions

_PROBE_SECONDS = 30.0  # a cold interpreter on a slow disk
_QUESTION = """
import json, sys
from orchestrator.train.environment import framework_versions
print(json.dumps(framework_versions(sys.argv[1:])))
"""


def trainer_environment(info: TrainerInfo, *, python: str | None) -> TrainerEnvironment:
    """Look at the interpreter `python`, or at this one, for the packages of a trainer."""
    if python is None:
        return _judged(info, sys.executable, versions=framework_versions(info.packages))
    if not _is_there(python):
        absent = f"no Python at {python}" if python else "trainer.python names none"
        missing = f"{absent}; get it with: {info.install}"
        return TrainerEnvironment(python=python, versions={}, missing=missing)
    try:
        versions = _ask(python, info.packages)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        missing = f"{python} does not answer ({type(error).__name__}); get it with: {info.install}"
        return TrainerEnvironment(python=python, versions={}, missing=missing)
    return _judged(info, str(Path(python).absolute()), versions=versions)


def _is_there(python: str) -> bool:
    try:
        return bool(python) and Path(python).exists()
    except OSError:  # a name that is too long
        return False


def _judged(info: TrainerInfo, python: str, *, versions: dict[str, str]) -> TrainerEnvironment:
    absent = [package for package in info.packages if package not in versions]
    missing = f"{', '.join(absent)} not installed; get it with: {info.install}" if absent else None
    return TrainerEnvironment(python=python, versions=versions, missing=missing)


def _ask(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        link_code(Path(folder) / "code")
        answer = subprocess.run(
            [python, "-P", "-c", _QUESTION, *packages],
            env={**os.environ, "PYTHONPATH": str(Path(folder) / "code")},
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=True,
        )
    versions: dict[str, str] = json.loads(answer.stdout)
    return versions
