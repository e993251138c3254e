"""Convolutions that are split over processes, beside the same ones whole, without an executor.

As a script: `python split_runs.py FOLDER` forks the ranks of every case. It needs no test package.
"""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from trainer_runs import ROOT, do_all, jobs_of, set_up
from uneven_network import uneven_network

from orchestrator.core.codec import to_plain
from orchestrator.train.base import WorkerJob
from orchestrator.train.kernel_moves import move
from orchestrator.train.kernel_service import serve
from orchestrator.train.kernel_shares import Part, parts_of
from orchestrator.train.kernel_split_trainer import KernelSplitTrainer
from orchestrator.train.kernel_watch import StepWatch
from orchestrator.train.kernel_wire import MASTER, Wire
from orchestrator.train.registry import trainer_info
from orchestrator.train.split_convolution import SplitConvolution
from orchestrator.train.split_networks import SplitNetworks, divided, places_of
from orchestrator.train.torch_process import join, leave, listen
from orchestrator.train.torch_state import arrays_of
from workloads.data.sources import resolve
from workloads.network import Network
from workloads.registry import workload
from workloads.spec import Adam, Optimizer, Sgd
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.training import Losses, Networks, optimizer_of

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

EVEN = {"shares": "even"}
TRAININGS: Mapping[str, tuple[str, str, int, dict[str, str]]] = {
    "torch_ddp": ("torch_ddp", "fp32", 1, {}),
    "one worker": ("kernel_split", "fp32", 1, {}),
    "two workers": ("kernel_split", "fp32", 2, {}),
    "four workers": ("kernel_split", "fp32", 4, EVEN),
    "eight workers": ("kernel_split", "fp32", 8, EVEN),
    "torch_ddp, bf16": ("torch_ddp", "bf16", 1, {}),
    "two workers, bf16": ("kernel_split", "bf16", 2, EVEN),
}
"""Trainer, precision, workers and options of a training of mnist_cnn."""

OPTIONS = {"filters": (7, 13), "dense_units": 32, "learning_rate": 0.003, "momentum": 0.9}
"""Kernels that none of those numbers of workers divides, and fewer than the last of them."""


MOVED_STEPS = 54

OPTIMIZERS: Mapping[str, Optimizer] = {
    "sgd": Sgd(learning_rate=0.003, momentum=0.9),
    "adam": Adam(learning_rate=0.0003),
}

MOVED: Mapping[str, tuple[str, int, dict[str, str]]] = {
    "moved": ("kernel_split", 2, {**EVEN, "rebalance": "on"}),
    "whole": ("torch_ddp", 1, {}),
}
"""Trainer, workers and options where the second rank, and later the first, seems to be slow."""

SPEEDS_IN_TURN = ((3.0, 1.0), (1.0, 5.0), (1.0, 1e-6), (1.0, 1.0), (1e-6, 1.0))
"""Of two ranks; each of them holds nothing for a while."""


class SlowClock:
    """Ticks as it is read, by so many seconds before a number of readings and after it."""

    def __init__(self, before: float, after: float) -> None:
        self._ticks = chain(repeat(before, 700), repeat(after))
        self._now = 0.0

    def __call__(self) -> float:
        self._now += next(self._ticks)
        return self._now


@cache
def outcomes() -> dict[str, list[dict[str, Any]]]:
    """What each rank found, by the name of the case or network; once in a test session."""
    with TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, __file__, folder],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
            timeout=300,
        )
        found: dict[str, list[dict[str, Any]]] = {}
        for file in sorted(Path(folder).glob("*.json")):
            found.setdefault(file.stem.rpartition("-")[0], []).append(json.loads(file.read_text()))
        return found


def _main(folder: Path) -> int:
    for module in trainer_info("kernel_split").preload:
        import_module(module)
    works: dict[str, tuple[int, Callable[[WorkerJob, Wire], dict[str, Any]]]] = {
        name: (len(case.speeds), partial(_layers, case)) for name, case in CASES.items()
    }
    for name, network in NETWORKS.items():
        for optimizer, each in OPTIMIZERS.items():
            works[f"{name}, {optimizer}"] = (2, partial(_network, network, each, SPEEDS_IN_TURN[:1]))
            works[f"{name}, {optimizer}, moved"] = (2, partial(_network, network, each, SPEEDS_IN_TURN))
    works["gradcheck"] = (2, _gradcheck)
    for name, (ranks, work) in works.items():
        jobs = jobs_of("kernel_split", "mnist_cnn", ("fp32", ranks, ranks), data=folder)
        if not do_all(jobs, _stems(folder, name, jobs), work=partial(_in_company, work)):
            return 1
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False).path
    for name, (trainer, precision, ranks, options) in TRAININGS.items():
        shape = (precision, ranks, ranks)
        jobs = jobs_of(trainer, "mnist_cnn", shape, data=data, options=options, workload_options=OPTIONS)
        if not do_all(jobs, _stems(folder, name, jobs), work=_train_as_asked):
            return 1
    for name, (trainer, ranks, options) in MOVED.items():
        for optimizer in OPTIMIZERS:
            shape = ("fp32", ranks, ranks)
            jobs = jobs_of(trainer, "mnist_cnn", shape, data=data, options=options, workload_options=OPTIONS)
            work = partial(_train_on_slow_clocks, OPTIMIZERS[optimizer])
            if not do_all(jobs, _stems(folder, f"{name}, {optimizer}", jobs), work=work):
                return 1
    return 0


def _stems(folder: Path, name: str, jobs: list[WorkerJob]) -> list[Path]:
    return [folder / f"{name}-{each.rank}" for each in jobs]


def _train_as_asked(job: WorkerJob, stem: Path) -> None:
    """Through the trainer: losses, quality, what the rank says of itself, and its weights."""
    spec, trainer = set_up(job)
    trainer.begin(spec.phases[0])
    losses = []
    for index in range(STEPS):
        trainer.step(index)
        trainer.synchronize()
        losses.append(trainer.losses()["model"])
    said = {
        "losses": losses,
        "quality": trainer.evaluate(100),
        "samples": trainer.samples,
        "facts": to_plain(trainer.device_facts()),
        "state": {name: array.tolist() for name, array in trainer.state().items()},
    }
    trainer.close()
    stem.with_suffix(".json").write_text(json.dumps(said))


def _train_on_slow_clocks(optimizer: Optimizer, job: WorkerJob, stem: Path) -> None:
    """Through the trainer: what the rank says of itself, and all that a checkpoint holds."""
    clock = SlowClock(*((1.0, 64.0) if job.rank == MASTER else (4.0, 4.0)))
    spec, trainer = set_up(job, KernelSplitTrainer(clock) if job.trial.trainer == "kernel_split" else None)
    trainer.begin(dataclasses.replace(spec.phases[0], optimizers={"model": optimizer}))
    for index in range(MOVED_STEPS):
        trainer.rebalance()
        trainer.step(index)
        if index % 7 == 0:
            trainer.evaluate(10)
    arrays = trainer.checkpoint()
    state = trainer.state()
    said = {
        "facts": to_plain(trainer.device_facts()),
        "state": {name: array.tolist() for name, array in state.items()},
        "checkpoint": {name: array.tolist() for name, array in arrays.items()},
    }
    trainer.close()
    stem.with_suffix(".json").write_text(json.dumps(said))


def _in_company(work: Callable[[WorkerJob, Wire], dict[str, Any]], job: WorkerJob, stem: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = torch.device("cpu")
    join(job, device=device, listener=listen(job))
    wire = Wire(device, world_size=job.world_size)
    stem.with_suffix(".json").write_text(json.dumps(work(job, wire)))
    leave(wire)


def _layers(case: Case, job: WorkerJob, wire: Wire) -> dict[str, Any]:
    """Train two convolutions split and whole: by how much this rank's own weights lie apart."""
    first = nn.Conv2d(3, 6, 3, padding=1)
    second = nn.Conv2d(**{"in_channels": 6, "out_channels": 12, "kernel_size": 3, **case.convolution})
    whole = nn.Sequential(first, nn.Tanh(), second).double().to(memory_format=torch.channels_last)
    pieces = [parts_by(case.speeds, each) for each in (first, second)]
    watch = StepWatch(wire.device, num_layers=2)
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


def _apart(ours: Tensor, theirs: Tensor, part: Part) -> float:
    held = theirs.narrow(0, part.kernels.start, len(part.kernels))
    return float((ours - held).abs().max()) if part.kernels else 0.0


def parts_by(speeds: tuple[float, ...], whole: nn.Conv2d) -> tuple[Part, ...]:
    """The part of each rank."""
    return parts_of(whole.out_channels, channels=whole.in_channels, groups=whole.groups, speeds=speeds)


def _network(
    network: Network, optimizer: Optimizer, in_turn: Sequence[tuple[float, ...]], job: WorkerJob, wire: Wire
) -> dict[str, Any]:
    """Train a network in float64, whole and split: how far weights and slots lie apart."""
    spec = dataclasses.replace(workload("cifar10_cnn", {}), networks={"model": network})
    whole, split = Networks(spec, 1).double(), Networks(spec, 1).double()
    for networks in (whole, split):  # whose last layer is given float32 whatever comes before it
        for _, each in networks.named():
            each.nodes[-1].float()
    for module in whole.modules():
        if isinstance(module, GlobalBatchNorm):
            module.has_whole_batch = True
    places = places_of(split)
    watch = StepWatch(wire.device, num_layers=len(places))
    first = divided(places, [in_turn[0]] * len(places))
    end = SplitNetworks(split, places, first, rank=job.rank, wire=wire, watch=watch)
    (phase,) = spec.phases
    batch = {"x": torch.rand(8, *network.input_shape, dtype=torch.float64), "y": torch.arange(8) % 3}
    reached: list[dict[str, Any]] = []
    for networks, served in ((whole, False), (split, True)):
        trained = networks.train_in(phase)["model"]
        held = [each for each in trained if job.rank == MASTER or not served or each in end.parameters()]
        kept = optimizer_of(optimizer, held)
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
        reached.append(arrays_of(networks, [kept]))
    reference, state = reached[0], end.gathered(reached[1])
    return {
        "arrays": len(state),
        "apart": max(float(np.abs(state[key] - array).max()) for key, array in reference.items())
        if job.rank == MASTER
        else 0.0,
    }


def _gradcheck(job: WorkerJob, wire: Wire) -> dict[str, Any]:
    """Of the input's gradient, and of those of the master's own kernels and bias."""
    whole = nn.Conv2d(2, 5, 3, padding=1, stride=2).double()
    layer = SplitConvolution(
        whole,
        number=0,
        parts=parts_by((2.0, 3.0), whole),
        rank=job.rank,
        wire=wire,
        watch=StepWatch(wire.device, num_layers=1),
    )
    if job.rank != MASTER:
        serve([layer], wire)
        return {"passed": True}
    inputs = torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True)

    def of(features: Tensor, *_parameters: Tensor) -> Tensor:
        """They are changed in place."""
        output: Tensor = layer(features)
        return output

    passed = torch.autograd.gradcheck(of, (inputs, *layer.parameters()))
    wire.rest()
    return {"passed": passed}


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
