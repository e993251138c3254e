"""What a step of a split network takes beside its convolutions: all else on the master, and the link."""

import multiprocessing
import os
import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from split_time import Link
from torch import Tensor, nn
from torch.distributed import TCPStore

from workloads.shapes import input_shapes_of, shapes_of
from workloads.spec import WorkloadSpec
from workloads.with_torch.training import Losses, Networks, optimizer_of

_ROUND_TRIPS = 20
_REST_STEPS = 5
_LARGE = 2**22  # values


def rest_seconds(spec: WorkloadSpec, *, batch: int) -> float:
    """A step of one thread without its convolutions: each gives maps that were made before."""
    torch.set_num_threads(1)
    networks = Networks(spec, 0)
    network, model = spec.networks["model"], dict(networks.named())["model"]
    for index, (module, made) in enumerate(zip(model.nodes, shapes_of(network), strict=True)):
        if isinstance(module, nn.Conv2d):
            model.nodes[index] = _Made(batch, made)
    (phase,) = spec.phases
    parameters = list(networks.parameters())
    optimizer = optimizer_of(phase.optimizers["model"], parameters)
    losses = Losses(networks, phase)
    height, width, channels = input_shapes_of(network)[0]
    data = {
        "x": torch.rand(batch, height, width, channels, requires_grad=True),
        "y": torch.zeros(batch, dtype=torch.int64),
    }
    seconds = []
    for _ in range(1 + _REST_STEPS):
        start = time.perf_counter()
        optimizer.zero_grad()
        losses(data)["model"].backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


class _Made(nn.Module):
    """Stands where a convolution was."""

    def __init__(self, batch: int, made: tuple[int, ...]) -> None:
        super().__init__()
        height, width, kernels = made
        self._maps = torch.rand(batch, kernels, height, width).to(memory_format=torch.channels_last)

    def forward(self, features: Tensor) -> Tensor:
        maps: Tensor = _Given.apply(features, self._maps)
        return maps


class _Given(torch.autograd.Function):
    """Maps forward, and a gradient of the right shape backward, without work."""

    @staticmethod
    def forward(context: Any, features: Tensor, maps: Tensor) -> Tensor:
        context.like = features.detach()
        return maps.view_as(maps)

    @staticmethod
    def backward(context: Any, _gradient: Tensor) -> tuple[Tensor, None]:
        return context.like, None


def link_here() -> Link:
    """Between two processes of this host, by round trips of a value and of many, as the trainer sends."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    other = multiprocessing.get_context("spawn").Process(target=_echo, args=(store.port,))
    other.start()
    dist.init_process_group("gloo", store=store, rank=0, world_size=2)
    latency, large = (_one_way_seconds(torch.ones(size)) for size in (1, _LARGE))
    dist.destroy_process_group()
    other.join()
    return Link(bytes_per_second=4 * _LARGE / (large - latency), latency_seconds=latency)


def _one_way_seconds(message: Tensor) -> float:
    seconds = []
    for _ in range(_ROUND_TRIPS):
        start = time.perf_counter()
        dist.send(message, 1)
        dist.recv(message, 1)
        seconds.append((time.perf_counter() - start) / 2)
    return median(seconds)


def _echo(port: int) -> None:
    store = TCPStore("127.0.0.1", port, 2, is_master=False)
    dist.init_process_group("gloo", store=store, rank=1, world_size=2)
    for size in (1, _LARGE):
        message = torch.empty(size)
        for _ in range(_ROUND_TRIPS):
            dist.recv(message, 0)
            dist.send(message, 0)
    dist.destroy_process_group()
