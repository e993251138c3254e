"""A convolution with output kernels on several ranks: the master calls it, the others serve it.

Each rank owns its kernels and their optimizer, so that no weight travels in a step. Forward, the master
sends the input and gathers the feature maps; backward, it sends each rank the gradient of its maps and adds
up the parts of the input's gradient, where anything below wants one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from orchestrator.extensions.kernel_split.training.messages import MASTER, ConvRequest, Op, RankChannel
from orchestrator.extensions.kernel_split.training.shares import KernelRange
from orchestrator.extensions.kernel_split.training.step_timer import StepTimer

Arriving = list[tuple[KernelRange, Callable[[], Tensor]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Gradients that a pass will need."""

    inputs: bool
    weights: bool

    @property
    def any(self) -> bool:
        """True where a backward pass may follow."""
        return self.inputs or self.weights


class SplitConvolution(nn.Module):
    """The part of one rank: `whole` with the kernels of its part alone.

    Attributes:
        number: among the split convolutions of the networks, by which the master names it.
        parts: parts of all ranks; `kernel_moves` changes them.
        dtype: type of this rank's last feature maps; None before.
        away: runs while the master is in a layer.
    """

    def __init__(
        self,
        whole: nn.Conv2d,
        *,
        number: int,
        parts: Sequence[KernelRange],
        rank: int,
        wire: RankChannel,
        watch: StepTimer,
    ) -> None:
        super().__init__()
        self.number, self._rank = number, rank
        self.parts = parts
        self.dtype: torch.dtype | None = None
        self.away, self._convolving = watch.away, watch.convolving[number]
        self._wire = wire
        assert isinstance(whole.padding, tuple), "a workload's padding is in pixels"
        self._stride, self._padding, self._dilation = whole.stride, whole.padding, whole.dilation
        self.weight = nn.Parameter(_held(whole.weight, self.part))
        self.bias = None if whole.bias is None else nn.Parameter(_held(whole.bias, self.part))
        self._calls = 0

    @property
    def part(self) -> KernelRange:
        """This rank's."""
        return self.parts[self._rank]

    def forward(self, features: Tensor) -> Tensor:
        """[batch, channel, height, width] -> all feature maps. The master's alone."""
        kind = features.device.type
        if torch.is_autocast_enabled(kind):
            features = features.to(torch.get_autocast_dtype(kind))
        grows = torch.is_grad_enabled()
        wanted = Wanted(inputs=grows and features.requires_grad, weights=grows and self.weight.requires_grad)
        maps: Tensor = _Split.apply(features, self.weight, self.bias, self, wanted)  # type: ignore[no-untyped-call]  # torch types no Function.apply
        return maps

    def convolved(self, features: Tensor) -> Tensor:
        """This rank's maps of its channels of the input."""
        if not self.part.kernels:
            return features.new_empty(len(features), 0, *self._compute_size(features))
        with self._convolving:
            bias = None if self.bias is None else self.bias.to(features.dtype)
            maps = functional.conv2d(
                features,
                self.weight.to(features.dtype),
                bias,
                self._stride,
                self._padding,
                self._dilation,
                self.part.groups,
            )
        self.dtype = maps.dtype
        return maps

    def input_gradient(self, features: Tensor, gradient: Tensor) -> Tensor:
        """This rank's part of it."""
        if not self.part.kernels:
            return torch.zeros_like(features)
        inputs: Tensor = self._gradients(features, gradient, (True, False, False))[0]
        return inputs

    def weight_gradients(self, features: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        """Compute the gradients of this rank's kernels and, if present, bias."""
        if not self.part.kernels:
            return torch.zeros_like(self.weight), None if self.bias is None else torch.zeros_like(self.bias)
        has_bias = self.bias is not None
        _, weight, bias = self._gradients(features, gradient, (False, True, has_bias))
        return weight.to(self.weight.dtype), bias.to(self.weight.dtype) if has_bias else None

    def ask_forward(self, features: Tensor, wanted: Wanted) -> tuple[int, Arriving]:
        """Have the other ranks make their maps: the number of the call, and what will come."""
        self._calls += 1
        order = ConvRequest(
            verb=Op.FORWARD,
            layer=self.number,
            call=self._calls,
            wants_inputs=wanted.inputs,
            wants_weights=wanted.weights,
        )
        arriving: Arriving = []
        for rank, part in self._others():
            self._wire.give(order, _read_by(part, features), rank)
            shape = (len(features), len(part.kernels), *self._compute_size(features))
            arriving.append((part, self._wire.expect_maps(shape, features.dtype, rank)))
        return self._calls, arriving

    def ask_backward(self, call: int, gradient: Tensor, features: Tensor, wanted: Wanted) -> Arriving:
        """Have the other ranks go back through a call: what will come of the input's gradient."""
        order = ConvRequest(verb=Op.BACKWARD, layer=self.number, call=call)
        arriving: Arriving = []
        for rank, part in self._others():
            self._wire.give(order, _run(gradient, part.kernels), rank)
            if wanted.inputs:
                shape = tuple(_read_by(part, features).shape)
                arriving.append((part, self._wire.expect_maps(shape, features.dtype, rank)))
        return arriving

    def settle(self) -> None:
        """Wait until all that was sent has left."""
        self._wire.settle()

    def _others(self) -> list[tuple[int, KernelRange]]:
        """The ranks that have a share in it, without the master."""
        return [(rank, part) for rank, part in enumerate(self.parts) if rank != MASTER and part.kernels]

    def _compute_size(self, features: Tensor) -> tuple[int, int]:
        """Height and width of the maps."""
        height, width = (
            (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
            for size, padding, dilation, kernel, stride in zip(
                features.shape[2:],
                self._padding,
                self._dilation,
                self.weight.shape[2:],
                self._stride,
                strict=True,
            )
        )
        return height, width

    def _gradients(self, features: Tensor, gradient: Tensor, mask: tuple[bool, bool, bool]) -> Any:
        """Compute the masked gradients of input, kernels and bias, by the function that autograd calls."""
        with self._convolving:
            return torch.ops.aten.convolution_backward(
                gradient,
                features,
                self.weight.to(features.dtype),
                [len(self.part.kernels)],
                self._stride,
                self._padding,
                self._dilation,
                False,  # not transposed
                [0, 0],
                self.part.groups,
                mask,
            )


class _Split(torch.autograd.Function):
    """The master computes its own part while the others' are on their way."""

    @staticmethod
    def forward(
        context: Any,
        features: Tensor,
        _weight: Tensor,
        _bias: Tensor | None,
        layer: SplitConvolution,
        wanted: Wanted,
    ) -> Tensor:
        """All feature maps."""
        context.layer, context.wanted = layer, wanted
        context.save_for_backward(features)
        with layer.away:
            context.call, arriving = layer.ask_forward(features, wanted)
            own = layer.convolved(_read_by(layer.part, features))
            maps = torch.cat([own, *(arrived() for _, arrived in arriving)], 1) if arriving else own
            layer.settle()
        return maps

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the input, and of the master's own kernels and bias."""
        layer, wanted = context.layer, context.wanted
        (features,) = context.saved_tensors
        with layer.away:
            arriving = layer.ask_backward(context.call, gradient, features, wanted)
            read, own = _read_by(layer.part, features), _run(gradient, layer.part.kernels)
            inputs = layer.input_gradient(read, own) if wanted.inputs else None
            weight, bias = layer.weight_gradients(read, own) if wanted.weights else (None, None)
            if inputs is not None and arriving:
                inputs = _sum_parts(
                    [(layer.part, inputs), *((part, arrived()) for part, arrived in arriving)], features
                )
                layer.settle()
        return inputs, weight, bias, None, None


def _sum_parts(parts: Sequence[tuple[KernelRange, Tensor]], features: Tensor) -> Tensor:
    """Each part's gradient is of the channels that it reads."""
    total = torch.zeros_like(features)
    for part, gradient in parts:
        _read_by(part, total).add_(gradient)
    return total


def _read_by(part: KernelRange, features: Tensor) -> Tensor:
    return _run(features, part.channels)


def _run(maps: Tensor, channels: range) -> Tensor:
    return maps.narrow(1, channels.start, len(channels))


def _held(parameter: Tensor, part: KernelRange) -> Tensor:
    return parameter.detach().narrow(0, part.kernels.start, len(part.kernels)).clone()


def serve(layers: Sequence[SplitConvolution], wire: RankChannel) -> None:
    """Convolve for the master until it rests, and accumulate the gradients of this rank's kernels."""
    kept: dict[tuple[int, int], tuple[Tensor, Wanted]] = {}
    while True:
        order, maps = wire.take()
        if maps is None:
            return
        layer, call = layers[order.layer], (order.layer, order.call)
        with torch.no_grad():
            if order.verb == Op.FORWARD:
                wire.send_maps(layer.convolved(maps), MASTER)
                wanted = Wanted(inputs=bool(order.wants_inputs), weights=bool(order.wants_weights))
                if wanted.any:
                    kept[call] = maps, wanted
            else:
                _go_back(layer, *kept[call], gradient=maps, wire=wire)


def _go_back(
    layer: SplitConvolution, features: Tensor, wanted: Wanted, *, gradient: Tensor, wire: RankChannel
) -> None:
    """The input's gradient first: the master waits for it alone."""
    if wanted.inputs:
        wire.send_maps(layer.input_gradient(features, gradient), MASTER)
    if wanted.weights:
        gradients = layer.weight_gradients(features, gradient)
        for parameter, each in zip((layer.weight, layer.bias), gradients, strict=True):
            if parameter is not None and each is not None:
                parameter.grad = each if parameter.grad is None else parameter.grad + each
