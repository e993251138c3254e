"""Machines that are none: what their drivers, environments and metadata servers would answer."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
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


DRIVER = "580.65.06"
BUILDS = {"torch_ddp": CUDA_13, "tensorflow": CUDA_12}


def with_gpus(*gpus: FakeGpu, **changes: object) -> Machine:
    return replace(Machine(gpus=gpus, builds=BUILDS, driver=DRIVER), **changes)


def card(name: str, watts: float, **changes: str) -> FakeGpu:
    return FakeGpu(name=name, power_limit=f"{watts:.2f}", **changes)


T4 = card("Tesla T4", 70, most_clock="1590", memory_total="15360")
OLD = "535.104.05"
MACHINES = {
    "one_t4": with_gpus(T4),
    "eight_l4": with_gpus(*[card("NVIDIA L4", 72, most_clock="2040", memory_total="23034")] * 8),
    "h100_pcie": with_gpus(card("NVIDIA H100 PCIe", 350)),
    "h100_nvl": with_gpus(card("NVIDIA H100 NVL", 400)),
    "h100_sxm": with_gpus(card("NVIDIA H100 80GB HBM3", 700)),
    "a100_40": with_gpus(card("NVIDIA A100-SXM4-40GB", 400)),
    "a100_80": with_gpus(card("NVIDIA A100-SXM4-80GB", 400)),
    "mig": with_gpus(card("NVIDIA A100-SXM4-40GB", 400, mig_mode="Enabled")),
    "two_kinds": with_gpus(T4, card("NVIDIA A100-SXM4-40GB", 400)),
    "v100": with_gpus(card("Tesla V100-SXM2-16GB", 300)),
    "unknown_card": with_gpus(card("NVIDIA Future 1", 1000)),
    "cpu_builds": with_gpus(T4, builds={}),
    "neighbour": with_gpus(
        card("Tesla T4", 50, utilization="97", memory_used="9000", persistence_mode="Disabled")
    ),
    "no_driver": Machine(),
    "failing_driver": Machine(failure=("NVIDIA-SMI has failed because it couldn't communicate", 9)),
    "old_driver": with_gpus(card("NVIDIA L4", 72, driver_version=OLD), driver=OLD),
    "v5e_1": Machine(slice_type="v5litepod-1", builds={"torch_xla": LIBTPU}),
    "v5e_8": Machine(slice_type="v5litepod-8", builds={"torch_xla": LIBTPU}),
    "v5e_8_without_libtpu": Machine(slice_type="v5litepod-8"),
    "v4_16": Machine(slice_type="v4-16", builds={"torch_xla": LIBTPU}),
}

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
        f"    module.find_slice_type = lambda: {machine.slice_type!r}\n"
        "def set_python(module):\n"
        "    probe = module.trainer_environment\n"
        "    def probe_with(info, *, python):\n"
        f"        return probe(info, python=python or {str(torch_python)!r})\n"
        "    module.trainer_environment = probe_with\n"
        "patch_when_imported('orchestrator.execute.machine.inventory', after=set_slice)\n"
        "patch_when_imported('orchestrator.execute.machine.environment_probe', after=set_python)\n"
    )
