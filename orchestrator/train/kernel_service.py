"""What a rank does that is not the master: it convolves with its kernels when it is asked to."""

from collections.abc import Sequence

import torch
from torch import Tensor

from orchestrator.train.kernel_wire import MASTER, Verb, Wire
from orchestrator.train.split_convolution import SplitConvolution, Wanted


def serve(layers: Sequence[SplitConvolution], wire: Wire) -> None:
    """Convolve for the master until it rests, and add up the gradients of what this rank holds."""
    kept: dict[tuple[int, int], tuple[Tensor, Wanted]] = {}
    while True:
        order, maps = wire.take()
        if maps is None:
            return
        layer, call = layers[order.layer], (order.layer, order.call)
        with torch.no_grad():
            if order.verb == Verb.FORWARD:
                wire.send_maps(layer.convolved(maps), MASTER)
                wanted = Wanted(inputs=bool(order.wants_inputs), weights=bool(order.wants_weights))
                if wanted.any:
                    kept[call] = maps, wanted
            else:
                _go_back(layer, *kept[call], gradient=maps, wire=wire)


def _go_back(
    layer: SplitConvolution, features: Tensor, wanted: Wanted, *, gradient: Tensor, wire: Wire
) -> None:
    """The input's gradient first: the master waits for it alone."""
    if wanted.inputs:
        wire.send_maps(layer.input_gradient(features, gradient), MASTER)
    if wanted.weights:
        gradients = layer.weight_gradients(features, gradient)
        for parameter, each in zip((layer.weight, layer.bias), gradients, strict=True):
            if parameter is not None and each is not None:
                parameter.grad = each if parameter.grad is None else parameter.grad + each
