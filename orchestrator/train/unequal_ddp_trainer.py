"""Data parallelism over ranks of different speed, each with a share of the batch in proportion to it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from orchestrator.core.batch_share import BatchShare
from orchestrator.core.result import DeviceFacts
from orchestrator.train.base import WorkerJob
from orchestrator.train.batch_probe import Probe, probe_of
from orchestrator.train.batch_shares import batch_shares_of
from orchestrator.train.torch_ddp_trainer import TorchDdpTrainer
from orchestrator.train.torch_process import tensors_of
from workloads.data.batches import Batches
from workloads.spec import WorkloadSpec

_SAMPLES = "samples"


class UnequalDdpTrainer(TorchDdpTrainer):
    """`torch_ddp` with shares from a calibration in its set-up. Run on CPUs; never on GPUs.

    A checkpoint is of no shares: whoever goes on from it calibrates anew.
    """

    def setup(self, workload: WorkloadSpec, job: WorkerJob, batches: Batches) -> None:
        """Rendezvous, model, calibration, and this rank's share of each batch by it, or an even one."""
        self.prepare(workload, job)
        self._probe = self._calibrated(workload, batches)
        speeds = self._of_all_ranks(1 / self._probe.seconds)
        if job.trial.trainer_options.get("shares") == "even":
            speeds = [1.0] * job.world_size
        share = batch_shares_of(batches.global_batch_size, speeds)[job.rank]
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
        """Ranks draw as much as their shares need: all go on from what the first one draws from.

        The samples of each rank are in it, for they cannot be told from the steps.
        """
        return {**super().checkpoint(), _SAMPLES: np.array(self._of_all_ranks(self.samples))}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Likewise, whatever the shares were."""
        super().restore(arrays)
        self.samples = int(arrays[_SAMPLES][self._job.rank])

    def _calibrated(self, workload: WorkloadSpec, batches: Batches) -> Probe:
        """Each rank with as many samples as an even share has, held out from training."""
        samples = tensors_of(batches.held_out(0, max(1, batches.global_batch_size // self._job.world_size)))
        batch = {name: each.to(self._device) for name, each in samples.items()}
        return probe_of(
            workload,
            batch,
            autocast=self._autocast,
            meet=lambda: self._of_all_ranks(0),
            synchronize=self.synchronize,
        )

    def _of_all_ranks(self, number: float) -> list[float]:
        """[rank]."""
        own = torch.tensor([number], dtype=torch.float64, device=self._device)
        found = [own] * self._job.world_size
        if self._job.world_size > 1:
            found = [torch.empty_like(own) for _ in found]
            dist.all_gather(found, own)
        return torch.cat(found).tolist()
