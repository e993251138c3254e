"""Data-parallel training with PyTorch/XLA: one process drives all devices of its host through SPMD."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch_xla
from torch import Tensor, nn
from torch_xla import backends, runtime
from torch_xla.core import xla_model
from torch_xla.debug import metrics
from torch_xla.distributed import spmd

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.environment import cpu_model, tpu_name
from orchestrator.train.gce_metadata import slice_type
from orchestrator.train.measurement.evaluation import Outputs, compute_quality
from orchestrator.train.precision import PRECISIONS, Precision, find_precision_label
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_process import FirstProduct, join, leave, listen
from orchestrator.train.trainers.torch_state import copy_arrays, put_back
from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.spec import Phase, WorkloadSpec
from workloads.with_torch.recurrent import fused_recurrent
from workloads.with_torch.training import Losses, Networks, build_optimizer, evaluated


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Overwrite the gradients that there are with their means over all hosts, in one message.

    What is recorded so far runs first: a step is then two programs, with the message between them.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    device = gradients[0].device
    message = torch.cat([gradient.flatten() for gradient in gradients]).cpu()
    (mean,) = xla_model.send_cpu_data_to_device([mean_over_hosts(message)], device)
    for gradient, part in zip(
        gradients, mean.split([gradient.numel() for gradient in gradients]), strict=True
    ):
        gradient.copy_(part.view_as(gradient))


def mean_over_hosts(values: Tensor) -> Tensor:
    """Average a tensor in host memory over the hosts."""
    total = values.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def record_step(
    compute_losses: Losses,
    optimizers: Iterable[torch.optim.Optimizer],
    batch: Mapping[str, Tensor],
    *,
    autocast: AbstractContextManager[object],
    exchange: Callable[[], None] | None = None,
) -> dict[str, Tensor]:
    """Record one training step, forward, backward and update; nothing is computed yet.

    Args:
        exchange: sums the gradients where the program itself does not.

    Returns:
        Loss of each network.
    """
    for optimizer in optimizers:
        optimizer.zero_grad()
    with autocast:
        losses = compute_losses(batch)
    torch.autograd.backward([*losses.values()])
    if exchange:
        exchange()
    for optimizer in optimizers:
        optimizer.step()
    return {name: loss.detach() for name, loss in losses.items()}


_KINDS: Mapping[str, DeviceKind] = {"CPU": "cpu", "CUDA": "gpu", "TPU": "tpu"}


class TorchXlaTrainer:
    """One replica: a plain XLA device. Several: a mesh over which batches are split and weights copied.

    The mesh is of all hosts of a TPU slice, and the compiler adds the sum of the gradients; between CPU hosts
    gloo does, for XLA has no collectives there. Run on PJRT's CPU device; on a TPU, of one host or several,
    it follows documentation and source and has not been run.
    """

    def __init__(self) -> None:
        self.samples = 0

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, mesh, model, and the batches of one pass, each split over the mesh."""
        with self.opened(job):
            self._workload = workload
            self._networks = Networks(workload, job.trial.seed).to(self._device)
            self._first_product = FirstProduct(self._networks)
        self._batches = batches
        num_staged = min(batches.num_batches, job.trial.steps) if batches.staged else 0
        self._staged = [self._batch(index) for index in range(num_staged)]

    @contextmanager
    def opened(self, job: WorkerJob) -> Iterator[None]:
        """Set the process up, and meet the other hosts afterwards; within it the model is built."""
        self._is_grouped = self._sums = job.kind == "cpu" and job.world_size > 1
        listener = listen(job) if self._is_grouped else None
        precision = PRECISIONS[job.precision]
        if precision.xla_matmul != backends.get_mat_mul_precision():
            backends.set_mat_mul_precision(precision.xla_matmul)
        torch.set_num_threads(job.threads)
        torch.manual_seed(job.trial.seed)
        self._job = job
        self._mesh = _mesh(job)
        self._device = torch_xla.device()
        self._autocast = build_autocast(precision)
        yield
        if self._is_grouped:
            join(job, device=torch.device("cpu"), listener=listener)

    def begin(self, phase: Phase) -> None:
        """Free the weights that the phase trains."""
        trained = self._networks.train_in(phase)
        self._trained = [parameter for parameters in trained.values() for parameter in parameters]
        self._replica = Losses(self._networks, phase)
        self._optimizers = [
            build_optimizer(phase.optimizers[name], parameters) for name, parameters in trained.items()
        ]

    def rebalance(self) -> None:
        """Each replica keeps its share."""

    def step(self, index: int) -> None:
        """Forward, backward, update: recorded, compiled when it is new, and handed to the devices."""
        batch = self._staged[index % len(self._staged)] if self._staged else self._batch(index)
        self._losses = record_step(
            self._replica,
            self._optimizers,
            batch,
            autocast=self._autocast,
            exchange=partial(average_gradients, self._trained) if self._sums else None,
        )
        torch_xla.sync()
        self._example = batch["x"]
        self.samples += len(batch["x"]) // runtime.process_count()

    def synchronize(self) -> None:
        """Run what is recorded, and wait for all devices."""
        torch_xla.sync()
        xla_model.wait_device_ops()

    def losses(self) -> Mapping[str, float]:
        """Losses of the last step: their means are over the whole mesh's share of the batch already."""
        losses = torch.stack(list(self._losses.values())).cpu()
        if self._is_grouped:
            losses = mean_over_hosts(losses)
        return dict(zip(self._losses, losses.tolist(), strict=True))

    def without_exchange(self) -> AbstractContextManager[None] | None:
        """Leave out the exchange on CPU hosts; elsewhere the compiler sums gradients within the step's
        program.
        """
        return self._apart() if self._is_grouped else None

    def compile_count(self) -> int | None:
        """Graphs that were compiled, of the step and of everything else."""
        return metrics.counter_value("UncachedCompile") or 0

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Chunks are of the training batch's size, so that they split over the mesh; each host has all."""
        chunk = self._batches.global_batch_size
        return compute_quality(self._predict, self._workload.quality, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Devices that hold a part of a batch, and in which dtype the first product of a step was."""
        return self.facts(str(self._first_product.dtype), fused_recurrent(self._networks))

    def facts(self, dtype: str, fused: bool | None) -> DeviceFacts:
        """Return the facts of the devices; a product of a step had this dtype."""
        kind = _kind()
        is_rounded = backends.get_mat_mul_precision() != "highest"
        return DeviceFacts(
            kind=kind,
            name=cpu_model() if kind == "cpu" else _driver_name(),
            count=_count_devices(self._example),
            precision=find_precision_label(kind, dtype, float32_is_rounded=is_rounded),
            peak_memory_bytes=None if kind == "cpu" else _peak_memory_bytes(self._device),
            fused_recurrent=fused,
        )

    def matmul_benchmark(self, size: int) -> Callable[[], Tensor]:
        """Build the product in the dtype that autocast chooses; each device of the mesh has its own rows."""
        dtype = getattr(torch, PRECISIONS[self._job.precision].compute_dtype)
        left, right = torch.rand(2, size, size).to(dtype)
        rows, whole = self.split(left), right.to(self._device)
        return lambda: rows @ whole

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name."""
        return self._networks.state()

    def checkpoint(self) -> Mapping[str, Any]:
        """Every device holds all of it."""
        draws = {"draws.xla": np.array(xla_model.get_rng_state())}
        return copy_arrays(self._networks, self._optimizers) | draws

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Sent to the devices at once, so that the next step's program is that of any other."""
        put_back(arrays, self._networks, self._optimizers)
        torch_xla.sync()  # which moves the state of the draws on: torch_xla 2.9
        xla_model.set_rng_state(arrays["draws.xla"].item())

    def close(self) -> None:
        """Leave the process group, if there is one."""
        leave(self)

    @contextmanager
    def _apart(self) -> Iterator[None]:
        self._sums = False
        try:
            yield
        finally:
            self._sums = True

    def _predict(self, samples: Batch) -> Outputs:
        quality = self._workload.quality
        network = self._networks[quality.network].eval()
        with torch.no_grad(), self._autocast:
            arrays = {name: self.split(torch.from_numpy(array)) for name, array in samples.items()}
            outputs = evaluated(network, quality, arrays)
        network.train()
        return outputs.cpu().numpy()

    def _batch(self, index: int) -> dict[str, Tensor]:
        """This host's part of batch `index`, split over its devices; classes are int64 in PyTorch."""
        batch = self._batches.shard(index, rank=self._job.rank, world_size=self._job.world_size)
        tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
        return {
            name: self.split(tensor.long() if name == "y" else tensor, is_part=True)
            for name, tensor in tensors.items()
        }

    def split(self, host: Tensor, *, is_part: bool = False) -> Tensor:
        """Send a tensor to the devices, each the part of the leading axis that is its own.

        Args:
            is_part: True if this host has a part of the array and the other hosts of the mesh have the rest.
                The order of its rows is then that of the devices, which a loss does not see.
        """
        sharding = None
        if self._mesh is not None:
            axes = ("data", *[None] * (host.ndim - 1))
            sharding = spmd.ShardingSpec(self._mesh, axes, minibatch=is_part)
        sent: list[Tensor] = xla_model.send_cpu_data_to_device([host], self._device, sharding)
        return sent[0]


def build_autocast(precision: Precision) -> AbstractContextManager[object]:
    """Return the context in which products take the precision's dtype.

    XLA's autocast knows bfloat16 alone, and warns of any other dtype even where it is switched off."""
    if precision.compute_dtype == "float32":
        return nullcontext()
    return torch.autocast("xla", dtype=getattr(torch, precision.compute_dtype))


def _mesh(job: WorkerJob) -> Any:
    """A mesh `data` over all devices that one program runs on, or None for one device.

    Those of all hosts of a TPU slice, or of this CPU host. Raises TrialError if there are not as many.
    """
    devices_wanted = job.replicas // job.world_size if job.kind == "cpu" else job.replicas
    if devices_wanted == 1:
        return None
    runtime.use_spmd()  # before any tensor
    count = runtime.global_runtime_device_count()
    if count != devices_wanted:
        raise TrialError("device_mismatch", f"trial asks for {devices_wanted} XLA devices; PJRT has {count}")
    return spmd.Mesh(np.arange(count), (count,), ("data",))


def _count_devices(batch: Tensor) -> int:
    """Devices that hold a part of the batch of their own: what every device holds whole counts once."""
    if not runtime.is_spmd():
        return 1
    return len({repr(shard.indices) for shard in spmd.wrap_if_sharded(batch).local_shards})


def _kind() -> DeviceKind:
    """Return the kind of the first device of PJRT's client: `CPU:0`."""
    name = str(runtime.global_runtime_device_attributes()[0]["name"])
    return _KINDS[name.partition(":")[0]]


def _driver_name() -> str:
    """Return the generation of this TPU, which PJRT's device name lacks."""
    return tpu_name(slice_type() or "unknown")


def _peak_memory_bytes(device: torch.device) -> int | None:
    """Return the most memory that was in use at once; None if the runtime does not count it.

    Under SPMD the only device is virtual, and the runtime refuses to count its memory (pytorch/xla#9022).
    Some PJRT clients have no memory statistics at all.
    """
    try:
        peak = xla_model.get_memory_info(device).get("peak_bytes_used")
    except RuntimeError:
        return None
    return None if peak is None else int(peak)
