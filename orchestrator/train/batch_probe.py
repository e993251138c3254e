"""How fast this rank trains: what a step does with samples, as the trial does it, on all ranks at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from orchestrator.train.takes import mean_seconds_of
from workloads.spec import WorkloadSpec
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.training import Losses, Networks


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a rank's probe of a training took.

    Attributes:
        samples: that went forward and backward in one take.
        seconds: of one take, the mean of many.
    """

    samples: int
    seconds: float


def probe_of(
    workload: WorkloadSpec,
    batch: Mapping[str, Tensor],
    *,
    autocast: torch.autocast,
    meet: Callable[[], object],
    synchronize: Callable[[], None],
) -> Probe:
    """Go forward and backward in the last phase, the one that is timed, again and again.

    Networks of its own are used, and what is drawn on the way is put back: a training that follows is what it
    would have been.

    Args:
        meet: waits for the other ranks.
    """
    device = batch["x"].device
    devices = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices, device_type=device.type):
        losses = _losses_of(workload, device)

        def take() -> None:
            losses.zero_grad()
            with autocast:
                found = losses(batch)
            torch.autograd.backward([*found.values()])

        meet()
        return Probe(samples=len(batch["x"]), seconds=mean_seconds_of(take, synchronize))


def _losses_of(workload: WorkloadSpec, device: torch.device) -> Losses:
    """Of networks that wait for no other rank."""
    networks = Networks(workload, 0)
    networks.to(device)
    for module in networks.modules():
        if isinstance(module, GlobalBatchNorm):
            module.has_whole_batch = True
    networks.train_in(workload.phases[-1])
    return Losses(networks, workload.phases[-1])
