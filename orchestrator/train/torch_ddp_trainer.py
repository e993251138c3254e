"""Data-parallel training with PyTorch's DistributedDataParallel: one process per replica."""

import socket
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch does not list what it exports
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.base import WorkerJob
from orchestrator.train.environment import cpu_model
from orchestrator.train.evaluation import Logits, quality_of
from orchestrator.train.precision import PRECISIONS, Precision, label_of
from orchestrator.train.torch_observation import FirstProduct
from workloads.data.batches import Batches, Images
from workloads.sequential_torch import state_of
from workloads.spec import WorkloadSpec

_KINDS: Mapping[str, DeviceKind] = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}


class TorchDdpTrainer:
    """gloo between CPUs, nccl between GPUs, no process group at all for a single replica.

    Run on CPUs; the path of GPUs follows the documentation and has not been run.
    """

    def __init__(self) -> None:
        self.samples = 0

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, model in channels_last, optimizer, and this rank's share of each batch."""
        listener = _listen(job)
        precision = PRECISIONS[job.precision]
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.trial.seed)
        _set_float32_rounding(precision)
        self._job = job
        self._device = _device_of(job)
        self._model = resolve_name(workload.torch_builder)(workload, job.trial.seed)
        self._model.to(self._device, memory_format=torch.channels_last)
        self._first_product = FirstProduct(self._model)
        self._replica = _join(self._model, job, device=self._device, listener=listener)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(),
            lr=workload.optimizer.learning_rate,
            momentum=workload.optimizer.momentum,
        )
        self._autocast = _autocast(precision, self._device)
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=precision.scale_loss)
        self._batches = batches
        self._staged = _staged(batches, job, self._device)

    def step(self, index: int) -> None:
        """Forward, backward with the gradients' mean over all ranks, update."""
        images, labels = self._staged[index % len(self._staged)]
        with self._autocast:
            loss = cross_entropy(self._replica(images), labels)
        self._optimizer.zero_grad()
        torch.autograd.backward(self._scaler.scale(loss))
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._loss = loss.detach()
        self.samples += len(labels)

    def synchronize(self) -> None:
        """Wait for the accelerator; a CPU has always finished."""
        if self._device.type != "cpu":
            torch.accelerator.synchronize()

    def loss(self) -> float:
        """Mean over the ranks of their shares' mean loss: shares are equal."""
        loss = self._loss.clone()
        if self._job.world_size > 1:
            dist.all_reduce(loss)
        return loss.item() / self._job.world_size

    def compile_count(self) -> int | None:
        """Nothing is compiled."""
        return None

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Accuracy and loss; each rank computes all of it, with weights that are the same on every rank."""
        chunk = self._batches.global_batch_size // self._job.world_size
        return quality_of(self._predict, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Where the last loss lies, and in which dtype the first product of a step was."""
        device = self._loss.device
        kind = _KINDS[device.type]
        return DeviceFacts(
            kind=kind,
            name=cpu_model() if kind == "cpu" else torch.get_device_module(device).get_device_name(device),
            count=1,
            precision=label_of(
                kind, str(self._first_product.dtype), float32_is_rounded=_float32_is_rounded()
            ),
            peak_memory_bytes=None if kind == "cpu" else torch.accelerator.max_memory_allocated(device),
        )

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name."""
        return state_of(self._model)

    def close(self) -> None:
        """Leave the process group, if there is one."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _predict(self, images: Images) -> Logits:
        with torch.inference_mode(), self._autocast:
            logits: Tensor = self._model(torch.from_numpy(images).to(self._device))
        return logits.cpu().numpy()


def _device_of(job: WorkerJob) -> torch.device:
    if job.kind == "cpu":
        return torch.device("cpu")
    if not torch.accelerator.is_available():
        raise TrialError(
            "device_mismatch", f"trial asks for a {job.kind}; torch {torch.__version__} sees no accelerator"
        )
    index = int(job.variables["LOCAL_RANK"]) % torch.accelerator.device_count()
    torch.accelerator.set_device_index(index)
    torch.backends.cudnn.benchmark = True  # shapes never change, so the search for the fastest kernel pays
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    return torch.device(accelerator.type, index)


def _rounding_switches() -> tuple[Any, ...]:
    """The owners of `fp32_precision`: of matrix products, of convolutions and of recurrent cells."""
    cudnn: Any = torch.backends.cudnn  # its attributes are made at run time
    return torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn


def _set_float32_rounding(precision: Precision) -> None:
    """Say it either way: by default torch rounds in convolutions but not in matrix products."""
    for switch in _rounding_switches():
        switch.fp32_precision = "tf32" if precision.tf32 else "ieee"


def _float32_is_rounded() -> bool:
    return any(switch.fp32_precision != "ieee" for switch in _rounding_switches())


def _listen(job: WorkerJob) -> socket.socket | None:
    """Rank 0 opens the port of the ranks' store before it does anything else.

    A rank that finds it closed waits for up to 0.7 s before it tries again. It is open on its own address
    alone, where the store by itself would listen on all interfaces.
    """
    if job.world_size == 1 or job.rank > 0:
        return None
    return socket.create_server((job.variables["MASTER_ADDR"], int(job.variables["MASTER_PORT"])))


def _join(
    model: nn.Module, job: WorkerJob, *, device: torch.device, listener: socket.socket | None
) -> nn.Module:
    """Enter the process group and wrap the model; a single process trains the bare model."""
    if job.world_size == 1:
        return model
    store = TCPStore(
        job.variables["MASTER_ADDR"],
        int(job.variables["MASTER_PORT"]),
        job.world_size,
        is_master=listener is not None,
        master_listen_fd=listener.detach() if listener is not None else None,
    )
    backend = dist.get_default_backend_for_device(device)
    dist.init_process_group(backend, store=store, rank=job.rank, world_size=job.world_size)
    return DistributedDataParallel(model)


def _autocast(precision: Precision, device: torch.device) -> torch.autocast:
    dtype: torch.dtype = getattr(torch, precision.compute_dtype)
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def _staged(batches: Batches, job: WorkerJob, device: torch.device) -> list[tuple[Tensor, Tensor]]:
    """This rank's part of each batch of one pass, or of as many as the trial trains on, on its device."""
    num_batches = min(batches.num_batches, job.trial.steps)
    shards = (batches.shard(i, rank=job.rank, world_size=job.world_size) for i in range(num_batches))
    return [
        (torch.from_numpy(images).to(device), torch.from_numpy(labels).long().to(device))
        for images, labels in shards
    ]
