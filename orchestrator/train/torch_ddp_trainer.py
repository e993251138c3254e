"""Data-parallel training with PyTorch's DistributedDataParallel: one process per replica."""

import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch._dynamo.utils import counters
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch does not list what it exports
from torch.nn.parallel import DistributedDataParallel

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.base import WorkerJob
from orchestrator.train.environment import cpu_model
from orchestrator.train.evaluation import Outputs, quality_of
from orchestrator.train.precision import PRECISIONS, Precision, label_of
from orchestrator.train.torch_observation import FirstProduct
from orchestrator.train.torch_state import arrays_of, put_back
from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.spec import Phase, WorkloadSpec
from workloads.with_torch.recurrent import fused_recurrent
from workloads.with_torch.training import Losses, Networks, optimizer_of

_KINDS: Mapping[str, DeviceKind] = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}
_BACKENDS: Mapping[DeviceKind, str] = {"cpu": "gloo", "gpu": "nccl", "tpu": "tpu_dist"}

_KEPT_ALIVE: list["TorchDdpTrainer"] = []
"""torch 2.13 frees a gloo group with the GIL held and joins its threads; one may wait for the GIL."""


class TorchDdpTrainer:
    """gloo between CPUs, nccl between GPUs, tpu_dist between TPU chips; one replica has no process group.

    Run on CPUs; the path of GPUs follows the documentation and has not been run, nor has that of TPUs, which
    follows the source of torch_tpu 0.2. There, operations outside `compile` are compiled too and not counted.
    """

    def __init__(self) -> None:
        self.samples = 0

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, model in channels_last, optimizer, and this rank's share of each batch."""
        listener = _listen(job)
        precision = PRECISIONS[job.precision]
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.trial.seed)
        self._job = job
        self._is_compiled = job.trial.trainer_options.get("compile") == "on"
        self._workload = workload
        self._device = _device_of(job)
        _set_float32_rounding(precision, self._device)
        self._networks = Networks(workload, job.trial.seed)
        self._networks.to(self._device)
        self._first_product = FirstProduct(self._networks)
        _join(job, device=self._device, listener=listener)
        self._autocast = _autocast(precision, self._device)
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=precision.scale_loss)
        self._batches = batches
        self._staged = [self._batch(i) for i in range(_num_staged(batches, job))]

    def begin(self, phase: Phase) -> None:
        """Free the weights that the phase trains, and let the ranks sum their gradients."""
        trained = self._networks.train_in(phase)
        losses = Losses(self._networks, phase)
        if self._is_compiled:
            losses.compile(dynamic=False)
        # Moving statistics are of the global batch already, and the same on every rank.
        is_alone = self._job.world_size == 1
        self._replica = losses if is_alone else DistributedDataParallel(losses, broadcast_buffers=False)
        self._optimizers = [
            optimizer_of(phase.optimizers[name], parameters) for name, parameters in trained.items()
        ]

    def step(self, index: int) -> None:
        """Forward, backward with the gradients' mean over all ranks, update."""
        batch = self._staged[index % len(self._staged)] if self._staged else self._batch(index)
        with self._autocast:
            losses = self._replica(batch)
        for optimizer in self._optimizers:
            optimizer.zero_grad()
        torch.autograd.backward(self._scaler.scale(sum(losses.values())))
        for optimizer in self._optimizers:
            self._scaler.step(optimizer)
        self._scaler.update()
        self._losses = {name: loss.detach() for name, loss in losses.items()}
        self.samples += len(batch["x"])

    def synchronize(self) -> None:
        """Wait for the accelerator; a CPU has always finished."""
        if self._device.type != "cpu":
            torch.accelerator.synchronize()

    def losses(self) -> Mapping[str, float]:
        """Mean over the ranks of their shares' mean losses: shares are equal."""
        losses = torch.stack(list(self._losses.values()))
        if self._job.world_size > 1:
            dist.all_reduce(losses)
        return dict(zip(self._losses, (losses / self._job.world_size).tolist(), strict=True))

    def without_exchange(self) -> AbstractContextManager[None] | None:
        """DistributedDataParallel's own switch; that of the next block is another one."""
        return self._replica.no_sync() if isinstance(self._replica, DistributedDataParallel) else None

    def compile_count(self) -> int | None:
        """Graphs that torch.compile has made, where it is asked for."""
        if not self._is_compiled:
            return None
        return int(counters["stats"]["unique_graphs"])

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Each rank computes all of it, with weights that are the same on every rank."""
        chunk = self._batches.global_batch_size // self._job.world_size
        return quality_of(self._predict, self._workload.quality, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Where the last losses lie, and in which dtype the first product of a step was."""
        device = next(iter(self._losses.values())).device
        kind = _KINDS[device.type]
        return DeviceFacts(
            kind=kind,
            name=cpu_model() if kind == "cpu" else torch.get_device_module(device).get_device_name(device),
            count=1,
            precision=label_of(
                kind, str(self._first_product.dtype), float32_is_rounded=_float32_is_rounded(device)
            ),
            # torch_tpu 0.2 does not count what it has allocated
            peak_memory_bytes=torch.accelerator.max_memory_allocated(device) if kind == "gpu" else None,
            fused_recurrent=self._fused_recurrent(),
        )

    def product_of(self, size: int) -> Callable[[], Tensor]:
        """In the dtype that autocast gives to products."""
        dtype = getattr(torch, PRECISIONS[self._job.precision].compute_dtype)
        left, right = torch.rand(2, size, size, device=self._device).to(dtype)
        return lambda: left @ right

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name."""
        return self._networks.state()

    def checkpoint(self) -> Mapping[str, Any]:
        """Every rank has drawn as often as the others, so that the state of its draws is theirs."""
        draws = {f"draws.{name}": state.numpy() for name, state in self._drawing().items()}
        scaler = {f"scaler.{name}": np.array(value) for name, value in self._scaler.state_dict().items()}
        return arrays_of(self._networks, self._optimizers) | draws | scaler

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """In place, for the replica and its reducer hold these very parameters."""
        put_back(arrays, self._networks, self._optimizers)
        torch.set_rng_state(torch.from_numpy(arrays["draws.cpu"]))
        if self._device.type != "cpu":
            state = torch.from_numpy(arrays[f"draws.{self._device.type}"])
            torch.get_device_module(self._device).set_rng_state(state)
        scaler = self._scaler.state_dict()
        self._scaler.load_state_dict({name: arrays[f"scaler.{name}"].item() for name in scaler})

    def close(self) -> None:
        """Leave the process group, if there is one; what holds it lives until the process ends."""
        if dist.is_initialized():
            _KEPT_ALIVE.append(self)
            dist.destroy_process_group()

    def _drawing(self) -> dict[str, Tensor]:
        """States of what dropout draws from, by type of device."""
        states = {"cpu": torch.get_rng_state()}
        if self._device.type != "cpu":
            states[self._device.type] = torch.get_device_module(self._device).get_rng_state()
        return states

    def _fused_recurrent(self) -> bool | None:
        with self._autocast:
            return fused_recurrent(self._networks)

    def _predict(self, samples: Any) -> Outputs:
        network = self._networks[self._workload.quality.network].eval()
        with torch.inference_mode(), self._autocast:
            outputs: Tensor = network(torch.from_numpy(samples).to(self._device))
        network.train()
        return outputs.cpu().numpy()

    def _batch(self, index: int) -> dict[str, Tensor]:
        """This rank's part of batch `index`, on its device."""
        shard = self._batches.shard(index, rank=self._job.rank, world_size=self._job.world_size)
        return {name: array.to(self._device) for name, array in _tensors(shard).items()}


def _device_of(job: WorkerJob) -> torch.device:
    if job.kind == "cpu":
        return torch.device("cpu")
    if not torch.accelerator.is_available():
        raise TrialError(
            "device_mismatch", f"trial asks for a {job.kind}; torch {torch.__version__} sees no accelerator"
        )
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    if accelerator.type != "tpu":  # where a process has one chip for good
        torch.accelerator.set_device_index(
            int(job.variables["LOCAL_RANK"]) % torch.accelerator.device_count()
        )
        torch.backends.cudnn.benchmark = True  # shapes never change: the search for the fastest kernel pays
    return torch.device(accelerator.type, torch.accelerator.current_device_index())


def _rounding_switches() -> tuple[Any, ...]:
    """The owners of `fp32_precision`: of matrix products, of convolutions and of recurrent cells."""
    cudnn: Any = torch.backends.cudnn  # its attributes are made at run time
    return torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn


def _set_float32_rounding(precision: Precision, device: torch.device) -> None:
    """Say it either way: by default torch rounds in convolutions alone, and on a TPU in every product."""
    if device.type == "tpu":
        torch.set_float32_matmul_precision("highest" if precision.xla_matmul == "highest" else "medium")
        return
    for switch in _rounding_switches():
        switch.fp32_precision = "tf32" if precision.tf32 else "ieee"


def _float32_is_rounded(device: torch.device) -> bool:
    if device.type == "tpu":
        return torch.get_float32_matmul_precision() != "highest"
    return any(switch.fp32_precision != "ieee" for switch in _rounding_switches())


def _listen(job: WorkerJob) -> socket.socket | None:
    """Rank 0 opens the port of the ranks' store before it does anything else.

    A rank that finds it closed waits for up to 0.7 s before it tries again. It is open on its own address
    alone, where the store by itself would listen on all interfaces.
    """
    if job.world_size == 1 or job.rank > 0:
        return None
    return socket.create_server((job.variables["MASTER_ADDR"], int(job.variables["MASTER_PORT"])))


def _join(job: WorkerJob, *, device: torch.device, listener: socket.socket | None) -> None:
    """Enter the process group; a single process needs none."""
    if job.world_size == 1:
        return
    store = TCPStore(
        job.variables["MASTER_ADDR"],
        int(job.variables["MASTER_PORT"]),
        job.world_size,
        is_master=listener is not None,
        master_listen_fd=listener.detach() if listener is not None else None,
    )
    backend = _BACKENDS[_KINDS[device.type]]
    dist.init_process_group(backend, store=store, rank=job.rank, world_size=job.world_size)


def _autocast(precision: Precision, device: torch.device) -> torch.autocast:
    dtype: torch.dtype = getattr(torch, precision.compute_dtype)
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def _num_staged(batches: Batches, job: WorkerJob) -> int:
    """The batches of one pass, or as many as the trial trains on; none where they come through a pipeline."""
    return min(batches.num_batches, job.trial.steps) if batches.staged else 0


def _tensors(batch: Batch) -> dict[str, Tensor]:
    """Classes are int64 in PyTorch."""
    tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
    return tensors | {"y": tensors["y"].long()}
