"""Linear layers with packed weights compute with the values that their bits stand for."""

import math

import pytest
import torch
from torch import nn

from workloads.causal_lm.four_bit import FourBitLinear, pack_linear_layers
from workloads.jobs import JobError


def unpack(layer: FourBitLinear) -> torch.Tensor:
    """Return the weights, as the products of the layer with unit vectors."""
    bias = 0 if layer.bias is None else layer.bias
    return (layer(torch.eye(layer.in_features)) - bias).T


@pytest.mark.parametrize(("rows", "columns"), [(64, 96), (7, 33), (300, 512)])
@pytest.mark.parametrize("bias", [False, True])
def test_weights_are_close_and_products_and_gradients_are_those_of_them(
    rows: int, columns: int, bias: bool
) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(columns, rows, bias=bias)
    packed = FourBitLinear(layer)
    weights = unpack(packed).detach()
    error = (weights - layer.weight).norm() / layer.weight.norm()
    assert 0.01 < error < 0.15  # uniform weights: 16 values, denser around 0
    inputs = torch.randn(5, columns, requires_grad=True)
    outputs = packed(inputs)
    torch.testing.assert_close(outputs, nn.functional.linear(inputs, weights, layer.bias))
    [gradient] = torch.autograd.grad(outputs.sum(), inputs)
    torch.testing.assert_close(gradient, weights.sum(0).expand(5, columns))


def test_a_weight_takes_four_bits_and_an_eighth_of_one_for_its_scales() -> None:
    packed = FourBitLinear(nn.Linear(1024, 2048, bias=False))
    bits = 8 * sum(weight.nbytes for weight in packed.parameters()) / (1024 * 2048)
    assert bits == pytest.approx(4 + 8 / 64 + 32 / 64 / 256, abs=0.005)
    assert not list(packed.buffers())


@pytest.mark.parametrize(("rows", "columns"), [(64, 96), (7, 33), (300, 512)])
def test_a_layer_without_data_has_the_shapes_of_one_with_it(rows: int, columns: int) -> None:
    layers = [
        FourBitLinear(nn.Linear(columns, rows, device=device, dtype=torch.bfloat16))
        for device in ("meta", "cpu")
    ]
    shapes = [
        [(name, weight.shape, weight.dtype) for name, weight in layer.named_parameters()] for layer in layers
    ]
    assert shapes[0] == shapes[1]


def test_products_are_of_the_type_of_autocast() -> None:
    packed = FourBitLinear(nn.Linear(64, 64))
    inputs = torch.randn(2, 64, requires_grad=True)
    assert packed(inputs).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        outputs = packed(inputs)
    assert outputs.dtype == torch.bfloat16
    outputs.float().sum().backward()
    assert inputs.grad is not None
    assert math.isfinite(inputs.grad.sum().item())


def test_a_model_without_linear_layers_is_refused() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 4)

        def get_output_embeddings(self) -> nn.Module:
            return self.head

    with pytest.raises(JobError, match=r"workload\.method=qlora: tiny has no torch\.nn\.Linear"):
        pack_linear_layers(Model(), name="tiny")
