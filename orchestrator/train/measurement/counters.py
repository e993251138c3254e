"""Joules that counters of this host have counted. What has no counter is absent, and nothing is estimated."""

import ctypes
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import get_args

from orchestrator.core.device import DeviceKind
from orchestrator.core.inventory import GpuUse
from orchestrator.train.trainer import EnergyCounter

LIBRARY = "libnvidia-ml.so.1"


class NvmlError(OSError):
    """The driver does not answer, or not for this GPU."""


class _Gpus:
    """Some GPUs of this host."""

    def __init__(self, ids: Sequence[str], *, library: str = LIBRARY) -> None:
        """Find the GPUs.

        Args:
            ids: UUIDs or numbers as in CUDA_VISIBLE_DEVICES. Numbers count in the order of the PCI bus, which
                is the driver's order, and CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID.

        Raises:
            NvmlError: there is no driver, or one of the GPUs is not found.
        """
        try:
            self._nvml = ctypes.CDLL(library)
        except OSError as error:
            raise NvmlError(str(error)) from error
        self._call("nvmlInit_v2")
        self._handles = [self._find_handle(id_) for id_ in ids]

    def _find_handle(self, name: str) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        if not name.isdecimal():
            self._call("nvmlDeviceGetHandleByUUID", name.encode(), ctypes.byref(handle))
            return handle
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        # A container that sees one of several GPUs may still name it by its number on the host.
        index = 0 if count.value == 1 else int(name)
        if index >= count.value:
            raise NvmlError(f"the driver has {count.value} GPUs; there is no GPU {name}")
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return handle

    def _call(self, function: str, *arguments: object) -> None:
        try:
            code = getattr(self._nvml, function)(*arguments)
        except AttributeError as error:
            raise NvmlError(f"the driver has no {function}") from error
        if code:
            raise NvmlError(f"{function} answers {code}")


class GpuEnergy(_Gpus):
    """Their counters of energy. Raises NvmlError for a GPU that has none."""

    def __init__(self, ids: Sequence[str], *, library: str = LIBRARY) -> None:
        super().__init__(ids, library=library)
        self.joules()

    def joules(self) -> float:
        """Return the energy of all GPUs together since the driver was loaded. Raises NvmlError."""
        return sum(self._find_joules(handle) for handle in self._handles)

    def _find_joules(self, handle: ctypes.c_void_p) -> float:
        millijoules = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(millijoules))
        return millijoules.value * 1e-3


class GpuLoad(_Gpus):
    """Load and memory use of GPUs."""

    def now(self) -> tuple[GpuUse, ...]:
        """Return the current use of each GPU. Raises NvmlError."""
        return tuple(self._read_use(handle) for handle in self._handles)

    def _read_use(self, handle: ctypes.c_void_p) -> GpuUse:
        percent, memory = (ctypes.c_uint * 2)(), (ctypes.c_ulonglong * 3)()
        self._call("nvmlDeviceGetUtilizationRates", handle, percent)  # of the GPU, of its memory's bus
        self._call("nvmlDeviceGetMemoryInfo", handle, memory)  # total, free, used
        return GpuUse(busy_fraction=percent[0] / 100, memory_bytes=memory[2], memory_total_bytes=memory[0])


ROOT = Path("/sys/class/powercap")
_COUNTED = ("package", "dram")
"""Domains that count no other one's joules: cores and graphics are in their package, and `psys` holds all."""


class HostEnergy:
    """The counters of all packages of a host, and of memory that is in none."""

    def __init__(self, root: Path = ROOT) -> None:
        """Find them. Raises OSError if there are none, or one cannot be read: a part is not the whole."""
        folders = [
            path for path in sorted(root.glob("intel-rapl:*")) if _find_name(path).startswith(_COUNTED)
        ]
        if not folders:
            raise FileNotFoundError(f"no counter of a processor's energy in {root}")
        self._counters = [folder / "energy_uj" for folder in folders]
        self._ranges = [_number_in(folder / "max_energy_range_uj") for folder in folders]
        self._last = [_number_in(counter) for counter in self._counters]
        self._microjoules = 0

    def joules(self) -> float:
        """Return the energy since this object was made; exact if no counter wraps twice between two calls.

        Raises OSError.
        """
        now = [_number_in(counter) for counter in self._counters]
        for before, after, span in zip(self._last, now, self._ranges, strict=True):
            self._microjoules += after - before if after >= before else after + span - before
        self._last = now
        return self._microjoules * 1e-6


def _find_name(folder: Path) -> str:
    return (folder / "name").read_text().strip()


def _number_in(file: Path) -> int:
    text = file.read_text().strip()
    if not text.isdecimal():
        raise OSError(f"{file} holds {text!r}; it must hold a number")
    return int(text)


Joules = Mapping[str, float]
"""Joules by counter. `accelerator`: all accelerators of the trial. `host`: processors and memory of the host,
including the use by other processes."""

Meter = Callable[[], Joules]
"""Function that reads all counters. Only the difference of two readings is meaningful."""


def no_meter() -> Joules:
    """Return no counters, for a rank that leaves them to another rank of its host."""
    return {}


def build_meter(
    kind: DeviceKind,
    *,
    counters: Collection[EnergyCounter] = get_args(EnergyCounter),
    root: Path = ROOT,
    library: str = LIBRARY,
) -> Meter:
    """A meter of this host and of the accelerators that CUDA_VISIBLE_DEVICES names."""
    gpus = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    readers: dict[str, Callable[[], float]] = {}
    if "host" in counters:
        with suppress(OSError):
            readers["host"] = HostEnergy(root).joules
    if "accelerator" in counters and kind == "gpu" and gpus:
        with suppress(OSError):
            readers["accelerator"] = GpuEnergy(gpus, library=library).joules
    return partial(_read, readers)


LEAST_SECONDS: Mapping[str, float] = {"accelerator": 2.0}
"""Shortest time between two readings of a counter. NVML's moves every 20 to 100 ms: 5% of this time."""


def used_between(before: Joules, after: Joules, *, seconds: float) -> Joules:
    """Return the energy between two readings of counters that have both.

    Args:
        seconds: time between the readings. A counter that this is too short for is left out.
    """
    resolved = (name for name in before if name in after and seconds >= LEAST_SECONDS.get(name, 0.0))
    return {name: after[name] - before[name] for name in resolved}


def _read(counters: Mapping[str, Callable[[], float]]) -> Joules:
    readings: dict[str, float] = {}
    for name, counter in counters.items():
        with suppress(OSError):
            readings[name] = counter()
    return readings
