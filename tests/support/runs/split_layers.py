"""Layers and networks that are split over ranks with a wire and no trainer, beside the same ones whole."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from multi_rank_cases import Finding
from torch import Tensor, nn
from uneven_network import uneven_network

from orchestrator.extensions.kernel_split.training.convolution import SplitConvolution, serve
from orchestrator.extensions.kernel_split.training.messages import MASTER, RankChannel
from orchestrator.extensions.kernel_split.training.networks import SplitNetworks, divided, split_layers
from orchestrator.extensions.kernel_split.training.rebalancing import move
from orchestrator.extensions.kernel_split.training.shares import KernelRange, find_parts
from orchestrator.extensions.kernel_split.training.step_timer import StepTimer
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.trainers.torch_process import join, leave, listen
from orchestrator.train.trainers.torch_state import copy_arrays
from workloads.network import Network
from workloads.registry import workload
from workloads.spec import Adam, Optimizer, Sgd
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.training import Losses, Networks, build_optimizer

STEPS = 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A convolution behind another one, and how its kernels are shared out."""

    convolution: Mapping[str, Any]
    speeds: tuple[float, ...]


CASES = {
    "even": Case(convolution={"padding": 1}, speeds=(1.0, 1.0)),
    "uneven": Case(convolution={"padding": 1}, speeds=(5.0, 2.0, 1.0)),
    "strided": Case(convolution={"stride": (2, 1), "padding": (0, 2)}, speeds=(1.0, 2.0)),
    "dilated": Case(convolution={"dilation": 2}, speeds=(2.0, 1.0)),
    "groups": Case(convolution={"groups": 3, "padding": 1}, speeds=(2.0, 1.0)),
    "a group for each channel": Case(convolution={"groups": 6}, speeds=(1.0, 3.0, 1.0)),
    "no bias": Case(convolution={"bias": False}, speeds=(1.0, 3.0)),
    "nothing for the slow": Case(convolution={"padding": 1}, speeds=(1.0, 1e-3, 1.0)),
    "nothing for the master": Case(convolution={"padding": 1}, speeds=(1e-3, 1.0)),
    "more workers than kernels": Case(convolution={"out_channels": 2}, speeds=(1.0,) * 4),
    "alone": Case(convolution={"padding": 1}, speeds=(1.0,)),
}

NETWORKS: Mapping[str, Network] = {
    "cifar10_cnn": workload("cifar10_cnn", {"kernels": (5, 7), "dense_units": 8}).networks["model"],
    "uneven network": uneven_network(),
}
"""The second has strides, paddings of two sizes, a group for each channel, and batch normalisation."""

OPTIMIZERS: Mapping[str, Optimizer] = {
    "sgd": Sgd(learning_rate=0.003, momentum=0.9),
    "adam": Adam(learning_rate=0.0003),
}

SPEEDS_IN_TURN = ((3.0, 1.0), (1.0, 5.0), (1.0, 1e-6), (1.0, 1.0), (1e-6, 1.0))
"""Of two ranks; each of them holds nothing for a while."""


def works() -> Iterator[tuple[str, int, Callable[[WorkerJob], Finding]]]:
    """The name of each case, its ranks, and what each of them does."""
    for name, case in CASES.items():
        yield name, len(case.speeds), partial(_in_company, partial(_layers, case))
    for name, network in NETWORKS.items():
        for optimizer, each in OPTIMIZERS.items():
            trained = partial(_network, network, each)
            yield f"{name}, {optimizer}", 2, partial(_in_company, partial(trained, SPEEDS_IN_TURN[:1]))
            yield f"{name}, {optimizer}, moved", 2, partial(_in_company, partial(trained, SPEEDS_IN_TURN))
    yield "gradcheck", 2, partial(_in_company, _gradcheck)


def _in_company(work: Callable[[WorkerJob, RankChannel], Finding], job: WorkerJob) -> Finding:
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = torch.device("cpu")
    join(job, device=device, listener=listen(job))
    wire = RankChannel(device, world_size=job.world_size)
    found = work(job, wire)
    leave(wire)
    return found


def _layers(case: Case, job: WorkerJob, wire: RankChannel) -> Finding:
    """Train two convolutions split and whole: by how much this rank's own weights lie apart."""
    first = nn.Conv2d(3, 6, 3, padding=1)
    second = nn.Conv2d(**{"in_channels": 6, "out_channels": 12, "kernel_size": 3, **case.convolution})
    whole = nn.Sequential(first, nn.Tanh(), second).double().to(memory_format=torch.channels_last)
    pieces = [parts_by(case.speeds, value) for value in (first, second)]
    watch = StepTimer(wire.device, num_layers=2)
    split = [
        SplitConvolution(each, number=number, parts=parts, rank=job.rank, wire=wire, watch=watch)
        for number, (each, parts) in enumerate(zip((first, second), pieces, strict=True))
    ]
    inputs = torch.randn(STEPS, 4, 3, 8, 9, dtype=torch.float64)
    _train(whole, lambda step: _step(whole, inputs[step]))
    mine = nn.ModuleList(split)
    model = nn.Sequential(split[0], nn.Tanh(), split[1])
    outputs: list[Tensor] = []

    def step(index: int) -> None:
        if job.rank == MASTER:
            outputs.append(_step(model, inputs[index]))
            wire.rest()
        else:
            serve(split, wire)

    _train(mine, step)
    return {
        "kernels": [len(layer.part.kernels) for layer in split],
        "apart": max(
            _apart(getattr(ours, name), getattr(theirs, name), ours.part)
            for ours, theirs in zip(split, (first, second), strict=True)
            for name, _ in ours.named_parameters()
        ),
        "moved": float(outputs[0].sub(outputs[-1]).abs()) if outputs else None,
    }


def _train(model: nn.Module, step: Callable[[int], object]) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for index in range(STEPS):
        optimizer.zero_grad()
        step(index)
        optimizer.step()


def _step(model: nn.Module, inputs: Tensor) -> Tensor:
    loss = model(inputs.to(memory_format=torch.channels_last)).square().mean()
    loss.backward()
    return loss.detach()


def _apart(ours: Tensor, theirs: Tensor, part: KernelRange) -> float:
    held = theirs.narrow(0, part.kernels.start, len(part.kernels))
    return float((ours - held).abs().max()) if part.kernels else 0.0


def parts_by(speeds: tuple[float, ...], whole: nn.Conv2d) -> tuple[KernelRange, ...]:
    """The part of each rank."""
    return find_parts(whole.out_channels, channels=whole.in_channels, groups=whole.groups, speeds=speeds)


def _network(
    network: Network,
    optimizer: Optimizer,
    in_turn: Sequence[tuple[float, ...]],
    job: WorkerJob,
    wire: RankChannel,
) -> Finding:
    """Train a network in float64, whole and split: how far weights and slots lie apart."""
    spec = dataclasses.replace(workload("cifar10_cnn", {}), networks={"model": network})
    whole, split = Networks(spec, 1).double(), Networks(spec, 1).double()
    for networks in (whole, split):  # whose last layer is given float32 whatever comes before it
        for _, each in networks.named():
            each.nodes[-1].float()
    for module in whole.modules():
        if isinstance(module, GlobalBatchNorm):
            module.has_whole_batch = True
    places = split_layers(split)
    watch = StepTimer(wire.device, num_layers=len(places))
    first = divided(places, [in_turn[0]] * len(places))
    end = SplitNetworks(split, places, first, rank=job.rank, wire=wire, watch=watch)
    (phase,) = spec.phases
    batch = {"x": torch.rand(8, *network.input_shape, dtype=torch.float64), "y": torch.arange(8) % 3}
    reached: list[dict[str, Any]] = []
    for networks, served in ((whole, False), (split, True)):
        trained = networks.train_in(phase)["model"]
        held = [item for item in trained if job.rank == MASTER or not served or item in end.parameters()]
        kept = build_optimizer(optimizer, held)
        losses = Losses(networks, phase)
        for speeds in in_turn:
            if served:
                move(end.layers, divided(places, [speeds] * len(places)), [kept], rank=job.rank, wire=wire)
            for _ in range(STEPS // len(in_turn)):
                kept.zero_grad()
                if served and job.rank != MASTER:
                    serve(end.layers, wire)
                else:
                    losses(batch)["model"].backward()
                if served and job.rank == MASTER:
                    wire.rest()
                kept.step()
        reached.append(copy_arrays(networks, [kept]))
    reference, state = reached[0], end.gathered(reached[1])
    return {
        "arrays": len(state),
        "apart": max(float(np.abs(state[key] - array).max()) for key, array in reference.items())
        if job.rank == MASTER
        else 0.0,
    }


def _gradcheck(job: WorkerJob, wire: RankChannel) -> Finding:
    """Check the gradients of the input and of rank 0's own kernels and bias."""
    whole = nn.Conv2d(2, 5, 3, padding=1, stride=2).double()
    layer = SplitConvolution(
        whole,
        number=0,
        parts=parts_by((2.0, 3.0), whole),
        rank=job.rank,
        wire=wire,
        watch=StepTimer(wire.device, num_layers=1),
    )
    if job.rank != MASTER:
        serve([layer], wire)
        return {"passed": True}
    inputs = torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True)

    def of(features: Tensor, *_parameters: Tensor) -> Tensor:
        """Compute in place on changed features."""
        output: Tensor = layer(features)
        return output

    passed = torch.autograd.gradcheck(of, (inputs, *layer.parameters()))
    wire.rest()
    return {"passed": passed}
