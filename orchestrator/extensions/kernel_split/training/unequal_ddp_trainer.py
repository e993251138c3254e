"""Data parallelism over ranks of different speed, each with a share of the batch in proportion to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from orchestrator.core.result import DeviceFacts
from orchestrator.core.work_share import BatchShare
from orchestrator.extensions.kernel_split.training.shares import divide_shares
from orchestrator.train.measurement.calibration import mean_seconds
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_ddp_trainer import TorchDdpTrainer
from orchestrator.train.trainers.torch_process import convert_to_tensors
from workloads.data.batches import Batches
from workloads.spec import WorkloadSpec
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.training import Losses, Networks


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProbe:
    """Duration of a rank's probe of a training step.

    Attributes:
        samples: samples of one take, forward and backward.
        seconds: time of one take, the mean of many.
    """

    samples: int
    seconds: float


def build_probe(
    workload: WorkloadSpec,
    batch: Mapping[str, Tensor],
    *,
    autocast: torch.autocast,
    meet: Callable[[], object],
    synchronize: Callable[[], None],
) -> BatchProbe:
    """Go forward and backward in the last phase, the one that is timed, again and again.

    Networks of its own are used, and what is drawn on the way is put back: a training that follows is what it
    would have been.

    Args:
        meet: waits for the other ranks.
    """
    device = batch["x"].device
    devices = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices, device_type=device.type):
        losses = _build_losses(workload, device)

        def take() -> None:
            losses.zero_grad()
            with autocast:
                result = losses(batch)
            torch.autograd.backward([*result.values()])

        meet()
        return BatchProbe(samples=len(batch["x"]), seconds=mean_seconds(take, synchronize))


def _build_losses(workload: WorkloadSpec, device: torch.device) -> Losses:
    """Return the losses of networks without synchronisation between ranks."""
    networks = Networks(workload, 0)
    networks.to(device)
    for module in networks.modules():
        if isinstance(module, GlobalBatchNorm):
            module.has_whole_batch = True
    networks.train_in(workload.phases[-1])
    return Losses(networks, workload.phases[-1])


def divide_batch_shares(samples: int, speeds: Sequence[float]) -> tuple[range, ...]:
    """Deal a batch out in proportion to speed by the largest remainder, one sample at least to each rank.

    Raises:
        ValueError: there are fewer samples than ranks.
    """
    if samples < len(speeds):
        raise ValueError(f"global_batch_size={samples} is below {len(speeds)} workers; each needs a sample")
    sizes = list(divide_shares(samples, speeds))
    for rank, size in enumerate(sizes):
        if not size:
            sizes[sizes.index(max(sizes))] -= 1
            sizes[rank] = 1
    return tuple(range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True))


_SAMPLES = "samples"


class UnequalDdpTrainer(TorchDdpTrainer):
    """`torch_ddp` with shares from a calibration in its set-up. Run on CPUs; never on GPUs.

    A checkpoint has no shares: a resumed training calibrates again.
    """

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, model, calibration, and this rank's share of each batch by it, or an even one."""
        self.prepare(workload, job)
        samples = convert_to_tensors(
            batches.held_out(0, max(1, batches.global_batch_size // self._job.world_size))
        )
        batch = {name: array.to(self._device) for name, array in samples.items()}
        self._probe = build_probe(
            workload,
            batch,
            autocast=self._autocast,
            meet=lambda: self._of_all_ranks(0),
            synchronize=self.synchronize,
        )
        speeds = self._of_all_ranks(1 / self._probe.seconds)
        if job.trial.trainer_options.get("shares") == "even":
            speeds = [1.0] * job.world_size
        share = divide_batch_shares(batches.global_batch_size, speeds)[job.rank]
        batches.restart(share)
        self.feed(batches, share)

    def device_facts(self) -> DeviceFacts:
        """And the share, with what it stands on."""
        share = BatchShare(
            samples=len(self._share),
            of_samples=self._batches.global_batch_size,
            probe_samples=self._probe.samples,
            probe_seconds=self._probe.seconds,
        )
        return replace(super().device_facts(), batch_share=share)

    def checkpoint(self) -> Mapping[str, Any]:
        """Return the state; all ranks resume from the random numbers of the first one, for any new shares.

        The samples of each rank are in it, for they cannot be computed from the steps.
        """
        return {**super().checkpoint(), _SAMPLES: np.array(self._of_all_ranks(self.samples))}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore in place, for any earlier shares."""
        super().restore(arrays)
        self.samples = int(arrays[_SAMPLES][self._job.rank])

    def _of_all_ranks(self, number: float) -> list[float]:
        """[rank]."""
        own = torch.tensor([number], dtype=torch.float64, device=self._device)
        gathered = [own] * self._job.world_size
        if self._job.world_size > 1:
            gathered = [torch.empty_like(own) for _ in gathered]
            dist.all_gather(gathered, own)
        return torch.cat(gathered).tolist()
