"""Layers that multiply in float8: which ones they are, and what stays as it was."""

import copy
import sys
from collections.abc import Callable

import pytest
import torch
from torch import nn

from workloads.causal_lm.four_bit import FourBitLinear
from workloads.jobs import JobError
from workloads.registry import workload
from workloads.with_torch.checkpointing import Recomputation
from workloads.with_torch.float8 import convert_linear_layers, find_heads, has_float8_layers
from workloads.with_torch.training import Losses, Networks


class Adapted(nn.Module):
    """A layer with an adapter, as peft builds it."""

    adapter_layer_names = ("lora_A", "lora_dropout", "absent")

    def __init__(self) -> None:
        super().__init__()
        self.base_layer = nn.Linear(32, 32)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(32, 16, bias=False)})


class Model(nn.Module):
    """A model with layers of every kind; `named` lets it name its output layer, as Hugging Face's do."""

    def __init__(self, *, named: bool = False) -> None:
        super().__init__()
        self.logits = nn.Linear(32, 48)
        self.plain = nn.Linear(32, 64)
        self.odd_inputs, self.odd_outputs = nn.Linear(40, 64), nn.Linear(64, 40)
        self.packed = FourBitLinear(nn.Linear(64, 32))
        self.adapted = Adapted()
        self.convolution = nn.Conv2d(16, 16, 1)
        self.last = nn.Linear(64, 32)
        if named:
            self.get_output_embeddings: Callable[[], nn.Module] = lambda: self.logits


def list_float8(model: nn.Module) -> list[str]:
    return [name for name, part in model.named_modules() if type(part).__name__ == "Float8Linear"]


@pytest.mark.parametrize(("named", "left_out"), [(True, "last"), (False, "logits")])
def test_plain_layers_of_fit_sizes_are_converted_but_the_output_layer(named: bool, left_out: str) -> None:
    model = Model(named=named)
    before = {name: id(weight) for name, weight in model.named_parameters()}
    assert not has_float8_layers(model)
    convert_linear_layers(model, heads=find_heads(model), emulates=True)
    assert has_float8_layers(model)
    assert sorted(list_float8(model)) == sorted(["adapted.base_layer", "plain", left_out])
    assert {name: id(weight) for name, weight in model.named_parameters()} == before


@pytest.mark.parametrize(
    "model",
    [
        nn.Linear(32, 32),
        nn.Sequential(nn.Linear(32, 40), nn.Linear(40, 32), nn.Linear(32, 32)),
        nn.Sequential(FourBitLinear(nn.Linear(64, 64)), nn.Linear(64, 64)),
    ],
    ids=["output layer alone", "sizes", "4 bits"],
)
def test_a_model_without_such_a_layer_is_refused_in_one_line(model: nn.Module) -> None:
    with pytest.raises(JobError, match=r"^precision=fp8: the model has no .*; choose precision=bf16$"):
        convert_linear_layers(model, heads=find_heads(model), emulates=True)


def test_an_absent_torchao_is_an_error_of_its_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchao.float8", None)
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
    with pytest.raises(ImportError, match="torchao"):
        convert_linear_layers(model, heads=find_heads(model), emulates=True)


@pytest.mark.parametrize("rows", [32, 21])
def test_products_and_gradients_are_rounded_to_three_bits_of_mantissa(rows: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.Linear(48, 16))
    rounded = copy.deepcopy(model)
    convert_linear_layers(rounded, heads=find_heads(rounded), emulates=True)
    inputs = torch.randn(rows, 64)
    outputs = [each[0](inputs) for each in (model, rounded)]
    for output in outputs:
        output.square().sum().backward()
    gradients = [each[0].weight.grad for each in (model, rounded)]
    for exact, coarse in (outputs, gradients):
        error = (coarse - exact).norm() / exact.norm()
        assert 0.005 < error < 0.1


def test_products_have_the_type_of_autocast() -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32))
    convert_linear_layers(model, heads=find_heads(model), emulates=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert model[0](torch.randn(4, 32)).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("name", "num_left"),
    [
        ("llama_style", 7),  # logits, and six of 172 units
        ("gpt2", 0),  # logits are a product with the table of tokens
        ("vit_b16", 1),
    ],
)
def test_a_declared_network_computes_by_its_converted_layers(name: str, num_left: int) -> None:
    networks = Networks(workload(name, {}), 0)
    linear = [part for part in networks.modules() if isinstance(part, nn.Linear)]
    keys = list(networks.state_dict())
    networks.multiply_in_float8(emulates=True)
    converted = list_float8(networks)
    assert len(converted) == len(linear) - num_left
    assert list(networks.state_dict()) == keys
    ((_, network),) = networks.named()
    computed = {id(module) for _, module, _, _ in network._computations}
    assert {id(networks.get_submodule(path)) for path in converted} <= computed


def test_a_network_of_odd_sizes_is_refused() -> None:
    with pytest.raises(JobError, match="precision=fp8: the model has no"):
        Networks(workload("lenet5", {}), 0).multiply_in_float8(emulates=True)


def test_blocks_that_are_computed_again_have_equal_gradients() -> None:
    spec = workload("gpt2", {})
    tokens = torch.arange(2 * spec.networks["model"].input_shape[0]).view(2, -1) % 50
    modes: tuple[Recomputation, ...] = ("none", "full", "selective")
    found = []
    for mode in modes:
        networks = Networks(spec, 0)
        networks.multiply_in_float8(emulates=True)
        networks.recompute_blocks(mode)
        networks.train_in(spec.phases[-1])
        with torch.autocast("cpu", torch.bfloat16):
            (loss,) = Losses(networks, spec.phases[-1])({"x": tokens, "y": tokens}).values()
        loss.backward()
        gradients = (weight.grad for weight in networks.parameters() if weight.grad is not None)
        found.append(torch.cat([gradient.flatten() for gradient in gradients]))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])
