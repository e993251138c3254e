"""Probe of a trainer's Python through package metadata, without importing a framework."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.core.device import DeviceKind
from orchestrator.core.trainer import TrainerEnvironment, TrainerInfo
from orchestrator.execute.machine.child_process import find_answer, link_code
from orchestrator.train.accelerator_versions import accelerator_versions, reason_without_gpu
from orchestrator.train.environment import framework_versions

_PROBE_SECONDS = 30.0  # a cold interpreter on a slow disk
_QUESTION = """
import json, sys
from orchestrator.execute.machine.environment_probe import versions_here
print(json.dumps(versions_here(sys.argv[1:])))
"""
_KINDS: tuple[DeviceKind, ...] = ("gpu", "tpu")


def versions_here(packages: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the versions in this interpreter: of the packages, and those that GPUs and TPUs need."""
    return {
        "packages": framework_versions(packages),
        **{kind: accelerator_versions(kind, packages) for kind in _KINDS},
    }


def trainer_environment(info: TrainerInfo, *, python: str | None) -> TrainerEnvironment:
    """Look at the interpreter `python`, or at this one, for the packages of a trainer.

    Unless a variable names it, one that is not in this folder may lie beside the environment of this one.
    """
    packages = info.packages_in(*info.precision_packages)
    if python is None:
        return _judged(info, sys.executable, versions=versions_here(packages))
    beside = str(Path(sys.prefix).parent / python) if python else ""
    if not _is_there(python) and (info.python_variable or "") not in os.environ and _is_there(beside):
        python = beside
    try:
        if _is_there(python):
            return _judged(info, str(Path(python).absolute()), versions=_ask(python, packages))
        reason = f"no Python at {python}" if python else "trainer.python names none"
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = f"{python} does not answer ({type(error).__name__})"
    missing = f"{reason}; get it with: {_find_cure(info.install)}"
    return TrainerEnvironment(python=python, versions={}, missing=missing)


def _find_cure(install: str) -> str:
    """Remove `make xla` from a text where the Makefile of the folder lacks that target."""
    target = re.match(r"make ([\w-]+), or ", install)
    makefile = Path("Makefile")
    if target is None or (
        makefile.is_file() and re.search(f"^{target[1]}:", makefile.read_text(errors="replace"), re.MULTILINE)
    ):
        return install
    return install.removeprefix(target[0])


def _is_there(python: str) -> bool:
    try:
        return bool(python) and Path(python).exists()
    except OSError:  # a name that is too long
        return False


def _judged(info: TrainerInfo, python: str, *, versions: dict[str, dict[str, str]]) -> TrainerEnvironment:
    packages = versions["packages"]
    absent = [package for package in info.packages if package not in packages]
    kinds = [kind for kind in _KINDS if kind in info.precisions]
    reasons = {kind: reason_on(info, kind, packages, versions[kind]) for kind in kinds}
    missing = f"{', '.join(absent)} not installed; get it with: {_find_cure(info.install)}"
    return TrainerEnvironment(
        python=python,
        versions=packages,
        missing=missing if absent else None,
        accelerator_versions={kind: versions[kind] for kind in kinds},
        accelerator_missing={kind: reason for kind, reason in reasons.items() if reason},
        precision_missing={
            precision: f"precision={precision} needs {package}, which is not installed; get it with: {cure}"
            for precision, (package, cure) in info.precision_packages.items()
            if package not in packages
        },
    )


def reason_on(
    info: TrainerInfo, kind: DeviceKind, packages: Mapping[str, str], of_kind: Mapping[str, str]
) -> str | None:
    """Explain why a trainer's environment cannot train on a kind of device; None if it can. Pure.

    Args:
        packages: versions of the trainer's packages.
        of_kind: `accelerator_versions` for that kind.
    """
    absent = [name for name in info.accelerator_packages.get(kind, ()) if name not in of_kind]
    if absent:
        return f"{', '.join(absent)} not installed; get it with: {_find_cure(info.accelerator_install[kind])}"
    return reason_without_gpu(info, packages, of_kind) if kind == "gpu" else None


def _ask(python: str, packages: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Raises OSError, ValueError or CalledProcessError where there is no answer in time."""
    with tempfile.TemporaryDirectory() as folder:
        link_code(Path(folder) / "code")
        command = [python, "-P", "-c", _QUESTION, *packages]
        variables = {**os.environ, "PYTHONPATH": str(Path(folder) / "code")}
        answer = find_answer(command, variables, seconds=_PROBE_SECONDS)
    versions: dict[str, dict[str, str]] = json.loads(answer)
    return versions
