"""Data-parallel training with PyTorch's DistributedDataParallel: one process per replica."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from orchestrator.core.result import DeviceFacts
from orchestrator.train.measurement.evaluation import Outputs, compute_quality
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.batch_copies import BatchCopies, CudaCopier, Tensors
from orchestrator.train.trainers.torch_process import (
    FirstProduct,
    TorchProcess,
    build_facts,
    convert_to_tensors,
    drawing_states,
    join,
    num_staged,
    set_drawing_states,
)
from orchestrator.train.trainers.torch_state import copy_arrays, put_back, under
from workloads.data.batches import Batches
from workloads.data.split import Batch
from workloads.spec import Phase, WorkloadSpec
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.float8 import has_float8_layers
from workloads.with_torch.recurrent import fused_recurrent
from workloads.with_torch.training import Losses, Networks, build_optimizer, evaluated, split_batch


class TorchDdpTrainer(TorchProcess):
    """gloo between CPUs, nccl between GPUs, tpu_dist between TPU chips; one replica has no process group.

    Run on CPUs and on one H100. Several GPUs were never run, nor was the path of TPUs, which follows the
    source of torch_tpu 0.2. There, operations outside `compile` are compiled too and not counted.
    """

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, model in channels_last, and this rank's equal share of each batch."""
        self.prepare(workload, job)
        self.feed(batches, batches.find_share(job.rank, job.world_size))

    def prepare(self, workload: WorkloadSpec, job: WorkerJob) -> None:
        """All of `setup` that asks for no batch."""
        self.open(job)
        torch.manual_seed(job.trial.seed)
        self._job = job
        self._workload = workload
        self._networks = self._build_networks()
        if self._precision.float8:
            self._networks.multiply_in_float8(emulates=job.kind == "cpu")
        self._networks.recompute_blocks(job.trial.memory_settings.activation_checkpointing)
        self._first_product = FirstProduct(self._networks)
        join(job, device=self._device, listener=self._listener)

    def feed(self, batches: Batches, share: range) -> None:
        """Train on this share of each batch from here on, while the other ranks train on the rest."""
        self._batches, self._share = batches, share
        # The ranks' gradients are averaged, as if the share of each were the mean one.
        weight = len(share) * self._job.world_size / batches.global_batch_size
        self._weight = torch.tensor(weight, device=self._device)
        self._weight_of_pass = self._weight / self._job.passes
        for module in self._networks.modules():
            if isinstance(module, GlobalBatchNorm):
                module.share_weight = weight
        self._copies = BatchCopies(
            read=self._read,
            copy=self._copied,
            copier=CudaCopier(self._device) if self._device.type == "cuda" else None,
            add_wait=batches.add_wait,
            last=self._job.trial.steps - 1,
        )
        self._staged = [self._copied(self._read(i)) for i in range(num_staged(batches, self._job))]

    def begin(self, phase: Phase) -> None:
        """Free the weights that the phase trains, and let the ranks sum their gradients."""
        trained = self._networks.train_in(phase)
        losses = Losses(self._networks, phase)
        if self._is_compiled:
            losses.compile(dynamic=False)
        self._replica = losses if self._job.world_size == 1 else self._replicate(losses)
        self._optimizers = [
            build_optimizer(phase.optimizers[name], parameters) for name, parameters in trained.items()
        ]

    def step(self, index: int) -> None:
        """Forward, backward with the gradients' mean over all samples of all ranks, update."""
        batch = self._staged[index % len(self._staged)] if self._staged else self._copies.take(index)
        passes = self._job.passes
        losses = [
            self._differentiate(part, is_first=number == 1, is_last=number == passes)
            for number, part in enumerate(split_batch(batch, passes), start=1)
        ]
        for optimizer in self._optimizers:
            self._scaler.step(optimizer)
        self._scaler.update()
        self._losses = _average(losses)
        self.samples += len(batch["x"])
        if not self._staged:
            self._copies.prepare(index + 1)

    def losses(self) -> Mapping[str, float]:
        """Mean over the ranks of their shares' mean losses, by the sizes of the shares."""
        losses = self._weight * torch.stack(list(self._losses.values()))
        if self._job.world_size > 1:
            dist.all_reduce(losses)
        return dict(zip(self._losses, (losses / self._job.world_size).tolist(), strict=True))

    def evaluate(self, limit: int | None) -> Mapping[str, float]:
        """Each rank computes all of it, with weights that are the same on every rank."""
        chunk = self._batches.global_batch_size // self._job.world_size
        return compute_quality(self._predict, self._workload.quality, self._batches, limit=limit, chunk=chunk)

    def device_facts(self) -> DeviceFacts:
        """Return the device of the last losses and the dtype of the step's first product."""
        device = next(iter(self._losses.values())).device
        with self._autocast:
            fused = fused_recurrent(self._networks)
        dtype, has_float8 = str(self._first_product.dtype), has_float8_layers(self._networks)
        return build_facts(device, dtype, has_float8=has_float8, fused_recurrent=fused)

    def state(self) -> Mapping[str, Any]:
        """Parameters by canonical name."""
        return self._networks.state()

    def checkpoint(self) -> Mapping[str, Any]:
        """Every rank has drawn as often as the others, so that the state of its draws is theirs."""
        draws = {f"draws.{name}": state.numpy() for name, state in drawing_states(self._device).items()}
        scaler = {f"scaler.{name}": np.array(value) for name, value in self._scaler.state_dict().items()}
        return copy_arrays(self._networks, self._optimizers) | draws | scaler

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore in place, because the replica and its reducer hold these parameters."""
        put_back(arrays, self._networks, self._optimizers)
        set_drawing_states(under("draws.", arrays), self._device)
        scaler = self._scaler.state_dict()
        self._scaler.load_state_dict({name: arrays[f"scaler.{name}"].item() for name in scaler})

    def _build_networks(self) -> Networks:
        return Networks(self._workload, self._job.trial.seed).to(self._device)

    def _replicate(self, losses: nn.Module) -> nn.Module:
        """Let the ranks sum gradients in the backward pass of the losses.

        Moving statistics are of the global batch already, and the same on every rank.
        """
        return DistributedDataParallel(losses, broadcast_buffers=False)

    def _differentiate(self, batch: Tensors, *, is_first: bool, is_last: bool) -> dict[str, Tensor]:
        """Add the gradients of one micro batch, and return its losses; the ranks exchange with the last."""
        with nullcontext() if is_last else self.without_exchange() or nullcontext():
            with self._autocast:
                losses = self._replica(batch)
            if is_first:
                for optimizer in self._optimizers:
                    optimizer.zero_grad()
            weights = [self._weight_of_pass] * len(losses)
            torch.autograd.backward(self._scaler.scale([*losses.values()]), weights)
        return {name: loss.detach() for name, loss in losses.items()}

    def _predict(self, samples: Batch) -> Outputs:
        quality = self._workload.quality
        network = self._networks[quality.network].eval()
        with torch.no_grad(), self._autocast:  # torchao casts nothing in inference mode
            arrays = {name: torch.from_numpy(array) for name, array in samples.items()}
            outputs = evaluated(network, quality, self._copied(arrays))
        network.train()
        return outputs.cpu().numpy()

    def _read(self, index: int) -> Tensors:
        """Return this rank's part of batch `index` in host memory."""
        return convert_to_tensors(self._batches.part(index, self._share))

    def _copied(self, batch: Tensors) -> Tensors:
        """Return a batch on the device, after its copy."""
        return {name: tensor.to(self._device) for name, tensor in batch.items()}


def _average(losses: Sequence[Mapping[str, Tensor]]) -> Mapping[str, Tensor]:
    """Return the mean of each network's losses over equal micro batches."""
    if len(losses) == 1:
        return losses[0]
    return {name: torch.stack([loss[name] for loss in losses]).mean() for name in losses[0]}
