"""Analytic floating-point operations of a network: one count for every framework.

Counted are the multiply-accumulates of convolutions, dense and recurrent layers and of attention, two
operations each; zeros that padding adds count as data, and so do the steps that causal attention masks
(Chowdhery et al. 2022, "PaLM", appendix B). Not counted are bias, activation, normalisation, pooling, loss
and optimizer, and a clever algorithm (Winograd, FFT) takes nothing off. The frameworks' own counters disagree
by what they add to this.
"""

import math
from collections.abc import Callable

from workloads.layers import (
    Conv2d,
    ConvTranspose2d,
    Custom,
    Dense,
    DepthwiseConv2d,
    Layer,
    Rbm,
    Recurrent,
    Shape,
)
from workloads.network import INPUT, Network
from workloads.sequence_layers import Attention, TiedDense
from workloads.shapes import find_input_shapes, find_shapes, list_parameters
from workloads.spec import (
    ContrastiveDivergence,
    Gan,
    Phase,
    Supervised,
    TokenPrediction,
    WorkloadSpec,
)


def forward_flops(network: Network) -> float:
    """Operations of one forward pass, per sample."""
    return sum(_layer_flops(network, _is_any))


def block_flops(network: Network) -> tuple[float, float]:
    """Operations of one forward pass of the repeated blocks, per sample, and those without attention."""
    products = _layer_flops(network, lambda layer: not isinstance(layer, Attention))
    inside = [index for block in network.blocks for index in block]
    everything = _layer_flops(network, _is_any)
    return sum(everything[index] for index in inside), sum(products[index] for index in inside)


def train_step_flops(spec: WorkloadSpec, global_batch_size: int) -> float:
    """Operations of one optimizer step of the phase that is timed, all replicas together."""
    return global_batch_size * _phase_flops(spec, spec.phases[-1])


def winograd_flops(spec: WorkloadSpec) -> float:
    """Operations per sample of the timed phase in 3x3 convolutions of all channels at every position."""
    return _phase_flops(spec, spec.phases[-1], of=_is_winograd)


def _is_winograd(layer: Layer) -> bool:
    return isinstance(layer, Conv2d) and layer.kernel in (3, (3, 3)) and layer.stride == 1


def _is_any(_layer: Layer) -> bool:
    return True


def _phase_flops(spec: WorkloadSpec, phase: Phase, *, of: Callable[[Layer], bool] = _is_any) -> float:
    """Per sample, of some layers."""
    match phase.protocol:
        case Supervised(network=name) | TokenPrediction(network=name):
            return _trained(spec.networks[name], of)
        case Gan():
            generator, judge = spec.networks["generator"], spec.networks["discriminator"]
            # The judge sees real and generated images, and once more, frozen, for the generator's gradient.
            return _trained(generator, of) + 2 * _trained(judge, of) + 2 * sum(_layer_flops(judge, of))
        case ContrastiveDivergence(node=node, k=k):
            layers = _layer_flops(spec.networks[phase.protocol.network], of)
            # A step of the chain is a product up and one down; the energies of both ends one each, and
            # again for their gradients of the weights.
            return sum(layers[:node]) + (2 * k + 4) * layers[node]


def _trained(network: Network, of: Callable[[Layer], bool]) -> float:
    """Forward, gradient of the weights and gradient of the input cost the same in each layer.

    Nothing needs the gradient of an input that no weights have made.
    """
    layers = zip(_layer_flops(network, of), _takes_made_inputs(network), strict=True)
    return sum((3 if is_made else 2) * flops for flops, is_made in layers)


def _takes_made_inputs(network: Network) -> list[bool]:
    """Return per node whether its input depends on weights below it."""
    made: dict[int, bool] = {INPUT: False}
    takes: list[bool] = []
    for index, (node, inputs) in enumerate(zip(network.nodes, find_input_shapes(network), strict=True)):
        takes.append(any(made[source] for source in node.inputs))
        made[index] = takes[-1] or bool(list_parameters(node.layer, inputs))
    return takes


def _layer_flops(network: Network, of: Callable[[Layer], bool]) -> list[float]:
    """Forward operations per sample of each node; 0 for other layers."""
    shapes = zip(find_input_shapes(network), find_shapes(network), strict=True)
    return [
        _forward(node.layer, inputs, outputs) if of(node.layer) else 0.0
        for node, (inputs, outputs) in zip(network.nodes, shapes, strict=True)
    ]


def _forward(layer: Layer, inputs: Shape, outputs: Shape) -> float:
    match layer:
        case Conv2d() | DepthwiseConv2d() | Dense() | Rbm():  # the kernel at each output position
            return 2.0 * math.prod(list_parameters(layer, inputs)["kernel"]) * math.prod(outputs[:-1])
        case ConvTranspose2d():  # the kernel at each input position
            return 2.0 * math.prod(list_parameters(layer, inputs)["kernel"]) * math.prod(inputs[:-1])
        case Recurrent():  # both kernels of both directions at each step
            shapes = list_parameters(layer, inputs)
            kernels = sum(math.prod(shape) for name, shape in shapes.items() if name.endswith("kernel"))
            return 2.0 * kernels * inputs[0]
        case TiedDense():
            return 2.0 * inputs[-1] * math.prod(outputs)
        case Attention():  # queries by keys, and weights by values
            return 4.0 * outputs[0] * math.prod(outputs)
        case Custom():
            return layer.forward_flops
        case _:
            return 0.0
