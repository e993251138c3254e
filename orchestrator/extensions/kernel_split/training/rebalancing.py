"""One rank's end of a split training that follows the speeds of its ranks: it looks, and moves kernels."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import Optimizer

from orchestrator.core.work_share import KernelMove
from orchestrator.extensions.kernel_split.training.balance import Parts, RebalanceState, Speeds, StepProfile
from orchestrator.extensions.kernel_split.training.calibration import of_all_ranks
from orchestrator.extensions.kernel_split.training.convolution import SplitConvolution
from orchestrator.extensions.kernel_split.training.messages import MASTER, RankChannel
from orchestrator.extensions.kernel_split.training.networks import ConvLayer, SplitNetworks, divided
from orchestrator.extensions.kernel_split.training.shares import (
    KernelRange,
    KernelTransfer,
    transfers_between,
)
from orchestrator.extensions.kernel_split.training.step_timer import StepTimer

Slots = dict[str, Any]


def move(
    layers: Sequence[SplitConvolution],
    parts: Sequence[Sequence[KernelRange]],
    optimizers: Iterable[Optimizer],
    *,
    rank: int,
    wire: RankChannel,
) -> None:
    """Have every rank hold what is its own by `parts`, [layer][rank]. To be called on each, between steps."""
    slots = {
        parameter: optimizer.state[parameter]
        for optimizer in optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    _agree_on([slots.get(parameter, {}) for parameter in parameters], device=wire.device)
    for layer, wanted in zip(layers, parts, strict=True):
        hauls, offset = list(transfers_between(layer.parts, wanted)), layer.part.kernels.start
        owned = [(parameter, slots.get(parameter, {})) for parameter in layer.parameters()]
        for parameter, kept in owned:
            for tensor in _with_kernels(parameter, kept):
                _send(tensor, hauls, offset=offset, rank=rank, wire=wire)
        for parameter, kept in owned:
            weight, *moved = [
                _assembled(tensor, hauls, offset=offset, rank=rank, wire=wire)
                for tensor in _with_kernels(parameter, kept)
            ]
            parameter.data, parameter.grad = weight, None
            kept.update(zip(_slots_with_kernels(kept), moved, strict=True))
        wire.settle()
        layer.parts = wanted


def _agree_on(slots: Sequence[Slots], *, device: torch.device) -> None:
    """Give every rank the master's slots, those of kernels empty where it has none: it never took a step."""
    shared = [[{name: _without_kernels(value) for name, value in slot.items()} for slot in slots]]
    dist.broadcast_object_list(shared, MASTER, device=device)
    for own, masters in zip(slots, shared[0], strict=True):
        for name, value in masters.items():
            if value.ndim:
                own.setdefault(name, value.to(device))
            else:
                own[name] = value


def _without_kernels(value: Tensor) -> Tensor:
    return value[:0].cpu() if value.ndim else value


def _slots_with_kernels(slots: Mapping[str, Tensor]) -> list[str]:
    """All but those that count."""
    return sorted(name for name, value in slots.items() if value.ndim)


def _with_kernels(parameter: Tensor, slots: Mapping[str, Tensor]) -> list[Tensor]:
    return [parameter.detach(), *(slots[name] for name in _slots_with_kernels(slots))]


def _send(
    tensor: Tensor, hauls: Sequence[KernelTransfer], *, offset: int, rank: int, wire: RankChannel
) -> None:
    for haul in hauls:
        if haul.source == rank != haul.target:
            wire.send(_run(tensor, haul, offset).contiguous(), haul.target)


def _assembled(
    tensor: Tensor, hauls: Sequence[KernelTransfer], *, offset: int, rank: int, wire: RankChannel
) -> Tensor:
    """Assemble a tensor from the kernels that this rank keeps and receives, in its former memory layout."""
    pieces = [
        _run(tensor, haul, offset)
        if haul.source == rank
        else wire.receive(tensor.new_empty(len(haul.kernels), *tensor.shape[1:]), haul.source)
        for haul in hauls
        if haul.target == rank
    ]
    whole = torch.cat(pieces) if pieces else tensor[:0].clone()
    return whole.contiguous(memory_format=torch.channels_last) if whole.ndim == 4 else whole


def _run(tensor: Tensor, haul: KernelTransfer, offset: int) -> Tensor:
    return tensor.narrow(0, haul.kernels.start - offset, len(haul.kernels))


class Rebalancing:
    """Rebalancing of kernels, called on every rank at the same steps.

    Args:
        probed: the speeds of the calibration.

    Attributes:
        moves: moves of kernels that this rank saw.
    """

    def __init__(
        self,
        split: SplitNetworks,
        places: Sequence[ConvLayer],
        *,
        probed: Speeds,
        watch: StepTimer,
        rank: int,
        wire: RankChannel,
    ) -> None:
        self.moves: list[KernelMove] = []
        self._split, self._places = split, places
        self._balance = RebalanceState(probed=probed)
        self._watch, self._rank, self._wire = watch, rank, wire
        self._looked_after = 0

    def begin(self) -> None:
        """Forget the steps of another phase: they took other times."""
        self._balance = self._balance.anew()
        self._looked_after = self._watch.num_steps

    def look(self, optimizers: Sequence[Optimizer], *, taken: int) -> None:
        """Move kernels if two looks, each at enough steps, agree on a gain. The device must be idle.

        Args:
            taken: steps so far.
        """
        steps = self._watch.num_steps - self._looked_after
        if steps < self._balance.steps_to_look:
            return
        parts = [layer.parts for layer in self._split.layers]
        self._balance, better = self._balance.after(self._look_at(steps), parts, self._divided)
        self._looked_after = self._watch.num_steps
        if better is not None:
            before = self._held()
            move(self._split.layers, better, optimizers, rank=self._rank, wire=self._wire)
            self.moves.append(KernelMove(step=taken, before=before, after=self._held()))

    def _look_at(self, steps: int) -> StepProfile:
        """Profile that many steps, or all remembered ones, over all ranks."""
        seen = self._watch.last(steps)
        means = [
            fmean(column) for column in zip(*((step.whole, *step.convolving) for step in seen), strict=True)
        ]
        (master, *_), *layers = of_all_ranks(means, self._wire)
        return StepProfile(steps=len(seen), step_seconds=master, convolving_seconds=layers)

    def _divided(self, speeds: Speeds) -> Parts:
        return divided(self._places, speeds)

    def _held(self) -> tuple[int, ...]:
        return tuple(len(layer.part.kernels) for layer in self._split.layers)
