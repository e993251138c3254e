"""GPUs of this host, as NVIDIA's driver lists them, or HIP where that is absent. Read-only."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from orchestrator.core.errors import ConfigError, PlacementError

_KFD = Path("/dev/kfd")
"""Device file of AMD's driver; a host without it has no GPU that HIP could use."""
_TORCH_SECONDS = 120.0
_QUESTION = """
import torch
for index in range(torch.cuda.device_count() if torch.version.hip else 0):
    print(f"{index}, {index}, [N/A], {torch.cuda.get_device_name(index)}")
"""


def list_rocm_gpus(*, without: str, kfd: Path = _KFD) -> str:
    """Return a table of index, identifier, mode and name; empty without AMD's driver or a HIP build of torch.

    The identifier is the index, which HIP accepts wherever it accepts a UUID.

    Args:
        without: variable that must not hide GPUs from the answer.
    """
    return _ask_torch(without) if kfd.exists() else ""


@cache
def _ask_torch(without: str) -> str:
    variables = {name: value for name, value in os.environ.items() if name != without}
    try:
        answer = subprocess.run(
            (sys.executable, "-P", "-c", _QUESTION),
            env=variables,
            capture_output=True,
            text=True,
            timeout=_TORCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return ""
    return answer.stdout if answer.returncode == 0 else ""


VARIABLE = "CUDA_VISIBLE_DEVICES"
_PROGRAM = "nvidia-smi"
_QUERY = ("--query-gpu=index,uuid,mig.mode.current,name", "--format=csv,noheader")
_DRIVER_SECONDS = 120.0  # eight GPUs without persistence mode take 25 to 30 s
_NO_GPU = 6  # exit code of nvidia-smi for an object that was not found
_WITH_WARNING = 14  # a corrupted infoROM: the table is complete
_CURES = f"repair the driver, or leave the GPUs out: {VARIABLE}=-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU with the index, UUID and name that its driver reports.

    Attributes:
        is_split: True if it is in MIG mode, in which no trial has all of it.
    """

    index: str
    uuid: str
    name: str
    is_split: bool = False


def visible_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves. The driver is asked once per process.

    Raises:
        ConfigError: CUDA_VISIBLE_DEVICES names a GPU that is not here.
        PlacementError: there is a driver, and it fails or gives no table.
    """
    setting = os.environ.get(VARIABLE)
    if setting is not None and not _split_entries(setting):
        return ()
    table = driver_table(_QUERY) or list_rocm_gpus(without=VARIABLE)
    return find_visible(read_gpus(table), setting=setting)


def usable_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that a trial can have whole. Raises as `visible_gpus`."""
    return tuple(gpu for gpu in visible_gpus() if not gpu.is_split)


def read_gpus(answer: str) -> tuple[Gpu, ...]:
    """Read the driver's table. Raises PlacementError for a line that is not a row."""
    return tuple(_parse_gpu(line.strip()) for line in answer.splitlines() if line.strip())


def find_visible(gpus: Sequence[Gpu], *, setting: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs that the variable names, in its order, as CUDA reads it: -1 ends the list.

    CUDA itself counts indices from the fastest GPU on, the driver from the first slot on: the same where all
    are alike. A UUID has one meaning.

    Raises:
        ConfigError: an entry that names none of them.
    """
    if setting is None or not gpus:
        return tuple(gpus)
    return tuple(dict.fromkeys(_named(name, gpus, setting=setting) for name in _split_entries(setting)))


def driver_table(query: Sequence[str]) -> str:
    """Return the answer of nvidia-smi to a query; empty without a driver or without a GPU.

    Raises:
        PlacementError: the driver fails or does not answer in time.
    """
    program = shutil.which(_PROGRAM)
    return "" if program is None else _run_query(program, *query)


@cache
def _run_query(program: str, *query: str) -> str:
    try:
        answer = subprocess.run(
            (program, *query), capture_output=True, text=True, errors="replace", timeout=_DRIVER_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise PlacementError(f"{_PROGRAM} gave no answer within {_DRIVER_SECONDS:g} s; {_CURES}") from error
    except OSError as error:
        raise PlacementError(f"{program} does not start ({error.strerror}); {_CURES}") from error
    if answer.returncode == _NO_GPU:
        return ""
    if answer.returncode not in (0, _WITH_WARNING):
        lines = (answer.stdout + answer.stderr).split("\n")
        cause = next((line.strip() for line in lines if line.strip()), "it printed nothing")
        raise PlacementError(f"{_PROGRAM} ended with exit code {answer.returncode}: {cause}; {_CURES}")
    return answer.stdout


def _split_entries(setting: str) -> list[str]:
    entries = [word.strip() for word in setting.split(",")] if setting.strip() else []
    return entries[: entries.index("-1")] if "-1" in entries else entries


def _named(entry: str, gpus: Sequence[Gpu], *, setting: str) -> Gpu:
    matching = [
        gpu for gpu in gpus if entry == gpu.index or (entry[:4] == "GPU-" and gpu.uuid.startswith(entry))
    ]
    if len(matching) == 1:
        return matching[0]
    raise ConfigError(
        f"{VARIABLE}={setting!r}: {entry!r} names {len(matching)} of the GPUs here; an entry may be one of "
        f"{', '.join(gpu.index for gpu in gpus)}, or a UUID as nvidia-smi -L tells it; -1 is none"
    )


def _parse_gpu(line: str) -> Gpu:
    try:
        index, uuid, mig_mode, name = line.split(", ", 3)
    except ValueError as error:
        raise PlacementError(
            f"{_PROGRAM} {' '.join(_QUERY)} answers {line!r}, "
            f"which is not an index, UUID, mode and name; {_CURES}"
        ) from error
    return Gpu(index=index, uuid=uuid, name=name, is_split=mig_mode == "Enabled")


_STATE = {
    "index": 1.0,
    "name": 1.0,
    "driver_version": 1.0,
    "mig.mode.current": 1.0,
    "power.limit": 1.0,
    "clocks.max.sm": 1e6,
    "utilization.gpu": 1e-2,
    "memory.used": 2.0**20,
    "memory.total": 2.0**20,
    "persistence_mode": 1.0,
}
"""Field of nvidia-smi -> its unit in SI units, with `nounits`: W, MHz, percent, MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReadings:
    """Readings of one GPU in SI units; a figure that the driver does not report is absent."""

    texts: Mapping[str, str]

    def figure(self, field: str) -> float | None:
        """Return a field as a number; None if the driver reports none."""
        try:
            return float(self.texts[field]) * _STATE[field]
        except ValueError:  # [N/A], [Not Supported]
            return None


def gpu_readings() -> tuple[GpuReadings, ...]:
    """Return the readings of all GPUs of this host, whichever of them trials may use.

    Raises:
        PlacementError: the driver fails or gives no table.
    """
    table = driver_table((f"--query-gpu={','.join(_STATE)}", "--format=csv,noheader,nounits"))
    return tuple(_read_counters(line) for line in table.splitlines() if line.strip())


def _read_counters(line: str) -> GpuReadings:
    values = [value.strip() for value in line.split(", ")]
    if len(values) != len(_STATE):
        raise PlacementError(f"{_PROGRAM} answers {line!r}, which has not {len(_STATE)} fields; {_CURES}")
    return GpuReadings(texts=dict(zip(_STATE, values, strict=True)))
