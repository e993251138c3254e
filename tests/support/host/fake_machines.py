"""Machines that are none: what their drivers, environments and metadata servers would answer."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from fake_driver import FakeGpu, install_driver
from fake_programs import install_program
from repository import CHILD_PYTHONPATH, SUPPORT

CUDA_13 = {"cuda": "13.0", "cudnn": "9.13.0.50", "nccl": "2.27.7"}
CUDA_12 = {"cuda": "12.5.1", "cudnn": "9.3.0.75", "nccl": "2.26.2"}
LIBTPU = {"libtpu": "0.0.21"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A host.

    Attributes:
        builds: trainer -> versions between its framework and the accelerators; a trainer that is absent here
            has a build for CPUs.
        slice_type: type of its TPU slice.
        failure: answer of a driver that fails, with its exit code.
        programs: further programs that are installed.
    """

    gpus: tuple[FakeGpu, ...] = ()
    builds: dict[str, dict[str, str]] = field(default_factory=dict)
    driver: str | None = None
    slice_type: str | None = None
    failure: tuple[str, int] | None = None
    programs: tuple[str, ...] = ()


_VERSIONS = {
    "torch_ddp": {"python": "3.11.9", "torch": "2.13.0"},
    "tensorflow": {"python": "3.11.9", "tensorflow": "2.21.0", "keras": "3.15.1"},
    "torch_xla": {"python": "3.11.9", "torch_xla": "2.9.0", "torch": "2.9.1"},
}
_VARIABLES = {
    "tensorflow": "ORCHESTRATOR_TENSORFLOW_PYTHON",
    "torch_xla": "ORCHESTRATOR_XLA_PYTHON",
}


def run_on(machine: Machine, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the orchestrator in a folder, as on that machine."""
    programs = folder / "bin"
    programs.mkdir()
    message, code = machine.failure or ("", 0)
    if machine.gpus or machine.failure:
        install_driver(programs, *machine.gpus, failure=message, exit_code=code)
    for name in machine.programs:
        install_program(programs, name)
    pythons = {trainer: _interpreter(programs, trainer, machine) for trainer in _VERSIONS}
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(_patches(machine, pythons["torch_ddp"]))
    variables = {name: str(pythons[trainer]) for trainer, name in _VARIABLES.items()}
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", *words],
        cwd=folder,
        env={
            **variables,
            "PATH": str(programs),
            "PYTHONPATH": os.pathsep.join([str(folder / "site"), *map(str, SUPPORT), CHILD_PYTHONPATH]),
            "HOME": str(folder),
        },
        capture_output=True,
        text=True,
    )


def _interpreter(programs: Path, trainer: str, machine: Machine) -> Path:
    """Write a program that answers the probe of a trainer's environment."""
    driver = {"nvidia_driver": machine.driver} if machine.driver else {}
    builds = machine.builds.get(trainer, {"cuda": "none"})
    is_tpu = "libtpu" in builds
    answer = {
        "packages": _VERSIONS[trainer],
        "gpu": {} if is_tpu else {**builds, **driver},
        "tpu": builds if is_tpu else {},
    }
    path = programs / f"python-{trainer}"
    path.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    path.chmod(0o755)
    return path


def _patches(machine: Machine, torch_python: Path) -> str:
    """Return code that fakes the TPU's device files and torch's interpreter."""
    return (
        "from functools import partial\n"
        "from patched_import import patch_when_imported\n"
        "def set_slice(module):\n"
        f"    module.slice_type_of = lambda: {machine.slice_type!r}\n"
        "def set_python(module):\n"
        "    probe = module.trainer_environment\n"
        "    def probe_with(info, *, python):\n"
        f"        return probe(info, python=python or {str(torch_python)!r})\n"
        "    module.trainer_environment = probe_with\n"
        "patch_when_imported('orchestrator.execute.machine.inventory', after=set_slice)\n"
        "patch_when_imported('orchestrator.execute.machine.environment_probe', after=set_python)\n"
    )
