"""What NVIDIA GPUs use, by the driver's own word: its management library, called without a package.

`nvmlDeviceGetTotalEnergyConsumption`: millijoules since the driver was loaded; Volta and later.
`nvmlDeviceGetUtilizationRates`: two percentages; `nvmlDeviceGetMemoryInfo`: three counts of bytes (NVML API
reference). Written from that reference; run against a stand-in of the library only.
"""

import ctypes
from collections.abc import Sequence

from orchestrator.core.host_use import GpuUse

LIBRARY = "libnvidia-ml.so.1"


class NvmlError(OSError):
    """The driver does not answer, or not for this GPU."""


class _Gpus:
    """Some GPUs of this host."""

    def __init__(self, ids: Sequence[str], *, library: str = LIBRARY) -> None:
        """Find the GPUs.

        Args:
            ids: UUIDs as in CUDA_VISIBLE_DEVICES. A number names a GPU only where there is no other: CUDA and
                the driver count in different orders.

        Raises:
            NvmlError: there is no driver, or one of the GPUs cannot be told.
        """
        try:
            self._nvml = ctypes.CDLL(library)
        except OSError as error:
            raise NvmlError(str(error)) from error
        self._call("nvmlInit_v2")
        self._handles = [self._handle_of(each) for each in ids]

    def _handle_of(self, name: str) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        if not name.isdecimal():
            self._call("nvmlDeviceGetHandleByUUID", name.encode(), ctypes.byref(handle))
            return handle
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        if count.value != 1:
            raise NvmlError(f"GPU {name} of {count.value} is not told by its UUID")
        self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(0), ctypes.byref(handle))
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
        """Of all of them together since the driver was loaded. Raises NvmlError."""
        return sum(self._joules_of(handle) for handle in self._handles)

    def _joules_of(self, handle: ctypes.c_void_p) -> float:
        millijoules = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(millijoules))
        return millijoules.value * 1e-3


class GpuLoad(_Gpus):
    """How busy they are, and how full."""

    def now(self) -> tuple[GpuUse, ...]:
        """Of each of them. Raises NvmlError."""
        return tuple(self._use_of(handle) for handle in self._handles)

    def _use_of(self, handle: ctypes.c_void_p) -> GpuUse:
        percent, memory = (ctypes.c_uint * 2)(), (ctypes.c_ulonglong * 3)()
        self._call("nvmlDeviceGetUtilizationRates", handle, percent)  # of the GPU, of its memory's bus
        self._call("nvmlDeviceGetMemoryInfo", handle, memory)  # total, free, used
        return GpuUse(busy_fraction=percent[0] / 100, memory_bytes=memory[2], memory_total_bytes=memory[0])
