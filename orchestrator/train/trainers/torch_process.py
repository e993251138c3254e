"""Set-up of a process that all trainers on `torch.distributed` share: device, rounding, group, tensors."""

import ctypes
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch does not list what it exports
from torch.nn.parallel import DistributedDataParallel

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.environment import cpu_model
from orchestrator.train.precision import PRECISIONS, Precision, find_precision_label
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.absent_accelerator import absent_accelerator
from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.with_torch.layers import PRODUCTS

_KINDS: Mapping[str, DeviceKind] = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}
_BACKENDS: Mapping[DeviceKind, str] = {"cpu": "gloo", "gpu": "nccl", "tpu": "tpu_dist"}

_KEPT_ALIVE: list[object] = []
"""torch 2.13 frees a gloo group with the GIL held and joins its threads; one may wait for the GIL."""


def load_device(job: WorkerJob) -> torch.device:
    """Return the device of this process. Raise TrialError, `environment`, if torch has no such device."""
    if job.kind == "cpu":
        return torch.device("cpu")
    if not torch.accelerator.is_available():
        raise absent_accelerator(job, f"torch {torch.__version__}")
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    if accelerator.type != "tpu":  # where a process has one chip for good
        torch.accelerator.set_device_index(
            int(job.variables["LOCAL_RANK"]) % torch.accelerator.device_count()
        )
        torch.backends.cudnn.benchmark = True  # shapes never change: the search for the fastest kernel pays
    return torch.device(accelerator.type, torch.accelerator.current_device_index())


def set_float32_rounding(precision: Precision, device: torch.device) -> None:
    """Set it on or off: by default torch rounds in convolutions alone, and on a TPU in every product."""
    if device.type == "tpu":
        torch.set_float32_matmul_precision("highest" if precision.xla_matmul == "highest" else "medium")
        return
    for switch in _rounding_switches():
        switch.fp32_precision = "tf32" if precision.tf32 else "ieee"


def listen(job: WorkerJob) -> socket.socket | None:
    """Rank 0 opens the port of the ranks' store before it does anything else.

    A rank that finds it closed waits for up to 0.7 s before it tries again. It is open on its own address
    alone, where the store by itself would listen on all interfaces.
    """
    if job.world_size == 1 or job.rank > 0:
        return None
    return socket.create_server((job.variables["MASTER_ADDR"], int(job.variables["MASTER_PORT"])))


def join(job: WorkerJob, *, device: torch.device, listener: socket.socket | None) -> None:
    """Enter the process group; a single process needs none. gloo alone joins kinds of devices.

    A first sum starts the collective library, which would otherwise start within the training. For NCCL that
    is seconds. The group is bound to no device (`device_id`): whether messages between two ranks alone
    pass then is not known.
    """
    if job.world_size == 1:
        return
    store = TCPStore(
        job.variables["MASTER_ADDR"],
        int(job.variables["MASTER_PORT"]),
        job.world_size,
        is_master=listener is not None,
        master_listen_fd=listener.detach() if listener is not None else None,
    )
    backend = "gloo" if job.mixes_kinds else _BACKENDS[_KINDS[device.type]]
    dist.init_process_group(backend, store=store, rank=job.rank, world_size=job.world_size)
    ones = torch.ones(1, device=device)
    dist.all_reduce(ones)
    ones.item()  # waits for the device


def leave(trainer: object) -> None:
    """Leave the process group, if there is one; the trainer that holds it lives until the process ends."""
    if dist.is_initialized():
        _KEPT_ALIVE.append(trainer)
        dist.destroy_process_group()


def build_autocast(precision: Precision, device: torch.device) -> torch.autocast:
    """Within it products have the precision's dtype."""
    dtype: torch.dtype = getattr(torch, precision.compute_dtype)
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def build_facts(
    device: torch.device, dtype: str, *, has_float8: bool = False, fused_recurrent: bool | None = None
) -> DeviceFacts:
    """Return the facts of a process that drove this device, with products of this dtype."""
    kind, is_rounded = _KINDS[device.type], _float32_is_rounded(device)
    return DeviceFacts(
        kind=kind,
        name=cpu_model() if kind == "cpu" else torch.get_device_module(device).get_device_name(device),
        count=1,
        precision=find_precision_label(kind, dtype, float32_is_rounded=is_rounded, has_float8=has_float8),
        # torch_tpu 0.2 does not count what it has allocated
        peak_memory_bytes=torch.accelerator.max_memory_allocated(device) if kind == "gpu" else None,
        fused_recurrent=fused_recurrent,
    )


class TorchProcess:
    """Parts that trainers of one replica in a process share; a subclass sets `_replica`."""

    _replica: nn.Module

    def __init__(self) -> None:
        self.samples = 0

    def open(self, job: WorkerJob) -> None:
        """Choose the device and its arithmetic, and open the port of rank 0; `join` comes later."""
        self._listener = listen(job)
        if job.trial.trainer_options.get("heap") == "kept":
            keep_freed_memory()
        self._precision = PRECISIONS[job.precision]
        torch.set_num_threads(job.threads)
        self._is_compiled = job.trial.trainer_options.get("compile") == "on"
        self._device = load_device(job)
        set_float32_rounding(self._precision, self._device)
        self._autocast = build_autocast(self._precision, self._device)
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=self._precision.scale_loss)

    def rebalance(self) -> None:
        """Each replica keeps its share."""

    def synchronize(self) -> None:
        """Wait for the accelerator; a CPU has always finished."""
        if self._device.type != "cpu":
            torch.accelerator.synchronize()

    def without_exchange(self) -> AbstractContextManager[None] | None:
        """DistributedDataParallel's own switch; that of the next block is another one."""
        return self._replica.no_sync() if isinstance(self._replica, DistributedDataParallel) else None

    def compile_count(self) -> int | None:
        """Number of graphs that torch.compile has made, if it is on."""
        return int(counters["stats"]["unique_graphs"]) if self._is_compiled else None

    def matmul_benchmark(self, size: int) -> Callable[[], Tensor]:
        """Build the product in the dtype that autocast chooses."""
        return matmul_benchmark(size, self._precision, self._device)

    def close(self) -> None:
        """Leave the process group, if there is one; what holds it lives until the process ends."""
        leave(self)


def matmul_benchmark(size: int, precision: Precision, device: torch.device) -> Callable[[], Tensor]:
    """Build the product, as `Trainer.matmul_benchmark`, in the dtype that autocast chooses."""
    left, right = torch.rand(2, size, size, device=device).to(getattr(torch, precision.compute_dtype))
    return lambda: left @ right


def drawing_states(device: torch.device) -> dict[str, Tensor]:
    """Return the states of the random generators of dropout, by device type."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = torch.get_device_module(device).get_rng_state()
    return states


def set_drawing_states(states: Mapping[str, Any], device: torch.device) -> None:
    """Draw on from `drawing_states`, here as arrays."""
    torch.set_rng_state(torch.from_numpy(states["cpu"]))
    if device.type != "cpu":
        torch.get_device_module(device).set_rng_state(torch.from_numpy(states[device.type]))


def num_staged(batches: Batches, job: WorkerJob) -> int:
    """The batches of one pass, or as many as the trial trains on; none where they come through a pipeline."""
    return min(batches.num_batches, job.trial.steps) if batches.staged else 0


def convert_to_tensors(batch: Batch) -> dict[str, Tensor]:
    """Classes are int64 in PyTorch."""
    tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
    return tensors | {"y": tensors["y"].long()}


def _rounding_switches() -> tuple[Any, ...]:
    """The owners of `fp32_precision`: of matrix products, of convolutions and of recurrent cells."""
    cudnn: Any = torch.backends.cudnn  # its attributes are made at run time
    return torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn


def _float32_is_rounded(device: torch.device) -> bool:
    if device.type == "tpu":
        return torch.get_float32_matmul_precision() != "highest"
    return any(switch.fp32_precision != "ieee" for switch in _rounding_switches())


_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of glibc's malloc.h
_NEVER_TRIM, _NO_MAPPINGS = -1, 0


def keep_freed_memory() -> None:
    """Neither trim the heap nor map large blocks apart from it, until the process ends.

    By default glibc gives memory back to the system, and each page of it is fetched and cleared anew when
    it is next written: see mallopt(3).

    Raises:
        TrialError: `environment`, under another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    settings = ((_M_TRIM_THRESHOLD, _NEVER_TRIM), (_M_MMAP_MAX, _NO_MAPPINGS))
    if mallopt is None or not all(mallopt(*setting) for setting in settings):
        raise TrialError("environment", "trainer.heap=kept needs the C library glibc; remove it here")


class FirstProduct:
    """Looks once at the first convolution, dense or recurrent layer of `model`, in its next forward pass.

    Attributes:
        dtype: type of its output, `float32`; None before that pass.
    """

    def __init__(self, model: nn.Module) -> None:
        self.dtype: str | None = None
        first = next(module for module in model.modules() if isinstance(module, PRODUCTS))
        self._hook = first.register_forward_hook(self._see)

    def _see(self, _module: nn.Module, _inputs: Any, output: Tensor) -> None:
        self.dtype = str(output.dtype).removeprefix("torch.")
        if not torch.compiler.is_compiling():
            self._hook.remove()
