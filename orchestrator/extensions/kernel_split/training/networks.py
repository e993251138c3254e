"""Networks with convolutions split over ranks: which arrays are divided, and how they are joined again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from orchestrator.extensions.kernel_split.training.convolution import SplitConvolution
from orchestrator.extensions.kernel_split.training.messages import MASTER, RankChannel
from orchestrator.extensions.kernel_split.training.shares import KernelRange, find_parts
from orchestrator.extensions.kernel_split.training.step_timer import StepTimer
from orchestrator.train.trainers.torch_state import Arrays
from workloads.layers import Shape
from workloads.network import INPUT
from workloads.shapes import find_input_shapes
from workloads.with_torch.batch_norm import GlobalBatchNorm
from workloads.with_torch.layers import Weights
from workloads.with_torch.training import Networks


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvLayer:
    """A convolution among the nodes of a network.

    Attributes:
        inputs: shape of its input without the batch axis.
        reads_samples: nothing below it learns.
    """

    network: str
    node: int
    whole: nn.Conv2d
    inputs: Shape
    reads_samples: bool

    @property
    def name(self) -> str:
        """Name of the layer in records, and prefix of its weights."""
        return f"{self.network}.{self.node}"

    @property
    def shape(self) -> str:
        """All that its speed depends on, but the device."""
        return f"{self.whole} of {'samples' if self.reads_samples else 'maps'} {self.inputs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The axis of an array along which kernels lie, and the layer that they are of."""

    axis: int
    layer: SplitConvolution

    @property
    def parts(self) -> Sequence[KernelRange]:
        """Kernel range of each rank."""
        return self.layer.parts


def split_layers(networks: Networks) -> list[ConvLayer]:
    """The convolutions that can be split."""
    return [
        ConvLayer(
            network=name,
            node=index,
            whole=module,
            inputs=inputs,
            reads_samples=len(networks) == 1 and network.spec.nodes[index].inputs == (INPUT,),
        )
        for name, network in networks.named()
        for index, (module, inputs) in enumerate(
            zip(network.nodes, find_input_shapes(network.spec), strict=True)
        )
        if isinstance(module, nn.Conv2d)
    ]


def divided(places: Sequence[ConvLayer], speeds: Sequence[Sequence[float]]) -> list[tuple[KernelRange, ...]]:
    """[place][rank] both."""
    return [
        find_parts(
            place.whole.out_channels,
            channels=place.whole.in_channels,
            groups=place.whole.groups,
            speeds=rank_speeds,
        )
        for place, rank_speeds in zip(places, speeds, strict=True)
    ]


class SplitNetworks:
    """One rank's end of networks that it splits in place.

    Args:
        parts: [place][rank].

    Attributes:
        layers: layers in the order of `places`.
    """

    def __init__(
        self,
        networks: Networks,
        places: Sequence[ConvLayer],
        parts: Sequence[Sequence[KernelRange]],
        *,
        rank: int,
        wire: RankChannel,
        watch: StepTimer,
    ) -> None:
        self._rank = rank
        self._wire = wire
        self.layers = [
            SplitConvolution(place.whole, number=number, parts=of_ranks, rank=rank, wire=wire, watch=watch)
            for number, (place, of_ranks) in enumerate(zip(places, parts, strict=True))
        ]
        built = dict(networks.named())
        self._axes: dict[str, _Axis] = {}
        for place, layer in zip(places, self.layers, strict=True):
            built[place.network].replace_node(place.node, layer)
            self._axes |= _find_axes(place, layer, built[place.network].weights(place.node))
        for module in networks.modules():
            if isinstance(module, GlobalBatchNorm):
                module.has_whole_batch = True

    def parameters(self) -> set[nn.Parameter]:
        """Return this rank's parameters of the split convolutions."""
        return {parameter for layer in self.layers for parameter in layer.parameters()}

    def gathered(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Gather the arrays of all kernels on rank 0; return this rank's part on the others.

        To be called on every rank, with arrays of the same names as far as they are shared out.
        """
        shared = dict(self._shared(arrays))
        if self._rank != MASTER:
            held = {name: arrays[name] for name in shared if arrays[name].size}
            for array in held.values():
                self._wire.send(torch.from_numpy(array).to(self._wire.device), MASTER)
            self._wire.settle()
            return held
        whole = {name: [arrays[name]] for name in shared}
        for rank in range(1, self._wire.world_size):
            for name, axis in shared.items():
                if axis.parts[rank].kernels:
                    whole[name].append(self._received(arrays[name], axis, rank))
        return {**arrays, **{name: np.concatenate(parts, shared[name].axis) for name, parts in whole.items()}}

    def cut(self, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
        """Cut this rank's part out of whole arrays; arrays that are not split stay whole."""
        held = dict(arrays)
        for name, axis in self._shared(arrays):
            kernels = axis.parts[self._rank].kernels
            held[name] = arrays[name].take(kernels, axis.axis)
        return held

    def _shared(self, arrays: Arrays) -> Iterator[tuple[str, _Axis]]:
        """Yield the split arrays by name: weights and optimizer slots without step counters."""
        for name in sorted(arrays):
            of = name.rpartition(".")[0] if name.startswith("slot.") else name.removeprefix("weight.")
            if of in self._axes and arrays[name].ndim:
                yield name, self._axes[of]

    def _received(self, own: npt.NDArray[Any], axis: _Axis, rank: int) -> npt.NDArray[Any]:
        shape = list(own.shape)
        shape[axis.axis] = len(axis.parts[rank].kernels)
        dtype = torch.from_numpy(own).dtype
        like = torch.empty(shape, dtype=dtype, device=self._wire.device)
        return self._wire.receive(like, rank).cpu().numpy()


def _find_axes(place: ConvLayer, layer: SplitConvolution, weights: Weights) -> dict[str, _Axis]:
    """Return the split axis of the layer's weights by canonical name, and of their optimizer slots."""
    canonical = {
        f"{place.name}.{name}": weight.axes.index(0) if weight.axes else 0 for name, weight in weights.items()
    }
    slots = {f"slot.{place.network}.nodes.{place.node}.{name}": 0 for name, _ in layer.named_parameters()}
    return {name: _Axis(axis=axis, layer=layer) for name, axis in (canonical | slots).items()}
