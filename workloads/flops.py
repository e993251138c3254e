"""Analytic floating-point operations of a network: one count for every framework.

Counted are the multiply-accumulates of convolutions and dense layers, two operations each; zeros that
padding adds count as data. Not counted are bias, activation, pooling, loss and optimizer, and a clever
algorithm (Winograd, FFT) takes nothing off. The frameworks' own counters disagree by what they add to this.
"""

import math

from workloads.shapes import kernel_shapes_of, shapes_of
from workloads.spec import WorkloadSpec


def forward_flops(spec: WorkloadSpec) -> float:
    """Operations of one forward pass, per sample."""
    return sum(_layer_flops(spec))


def train_step_flops(spec: WorkloadSpec, global_batch_size: int) -> float:
    """Operations of one optimizer step, all replicas together.

    Forward, gradient of the weights and gradient of the input cost the same in each layer, but the first
    layer with weights needs no gradient of its input.
    """
    layers = _layer_flops(spec)
    return global_batch_size * (3 * sum(layers) - layers[0])


def _layer_flops(spec: WorkloadSpec) -> list[float]:
    """Forward operations per sample of each layer with weights: its kernel once for each output position."""
    shapes = shapes_of(spec)
    return [
        2.0 * math.prod(kernel) * math.prod(shapes[index + 1][:-1])
        for index, kernel in kernel_shapes_of(spec).items()
    ]
