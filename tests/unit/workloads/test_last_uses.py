"""A PyTorch network drops an output after its last use, and computes the same losses and gradients."""

import gc
import weakref
from collections.abc import Mapping

import pytest

from workloads.layers import Activation, BatchNorm, Conv2d, Dense, Flatten
from workloads.network import INPUT, Draft, Network, sequential
from workloads.registry import workload

torch = pytest.importorskip("torch")

from workloads.with_torch.network import TorchNetwork, build  # noqa: E402 (skipped above without torch)


def test_an_output_that_two_nodes_take_is_dropped_after_the_second() -> None:
    draft = Draft(input_shape=(4,))
    first = draft.add(Dense(units=3))
    draft.add(Activation(kind="relu"), first)
    draft.add(Dense(units=3), first)
    draft.add(Dense(units=2), INPUT)
    assert draft.done().last_uses == (frozenset(), frozenset(), {first}, {INPUT})


def test_a_chain_without_gradients_holds_two_outputs_at_most() -> None:
    model = build(sequential((8,), *(Dense(units=8) for _ in range(6))), seed=0)
    outputs: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []

    def watch(_module: torch.nn.Module, _inputs: object, output: torch.Tensor) -> None:
        outputs.append(weakref.ref(output))
        alive.append(sum(reference() is not None for reference in outputs))

    for module in model.nodes:
        module.register_forward_hook(watch)
    gc.disable()  # nothing waits for the collector
    try:
        with torch.no_grad():
            model(torch.zeros(2, 8))
    finally:
        gc.enable()
    assert max(alive) == 2


def test_a_normalised_output_is_freed_during_the_forward_pass() -> None:
    convolution = Conv2d(filters=4, kernel=3)
    layers = (convolution, BatchNorm(), Activation(kind="relu"), convolution, Flatten())
    model = build(sequential((8, 8, 3), *layers), seed=0)
    normalised: list[weakref.ref[torch.Tensor]] = []
    model.nodes[1].register_forward_hook(lambda _module, _inputs, out: normalised.append(weakref.ref(out)))
    freed: list[bool] = []
    model.nodes[3].register_forward_hook(lambda *_: freed.append(normalised[0]() is None))
    model(torch.randn(2, 8, 8, 3)).sum().backward()
    assert freed == [True]


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "inception_v3"])
def test_loss_and_gradients_are_those_of_a_network_that_holds_everything(name: str) -> None:
    network = workload(name, {}).networks["model"]
    batch = torch.randn(4, *network.input_shape, generator=torch.Generator().manual_seed(0))
    assert_equal(gradients_of(build(network, 0), batch), gradients_of(holding_all(network), batch))


def holding_all(network: Network) -> TorchNetwork:
    """Build the network as it was: every output lives until the forward pass ends."""
    model = build(network, 0)
    model._last_uses = (frozenset(),) * len(network.nodes)
    return model


def gradients_of(model: TorchNetwork, batch: "torch.Tensor") -> Mapping[str, "torch.Tensor"]:
    torch.manual_seed(0)
    loss = model(batch).square().mean()
    loss.backward()
    return {name: p.grad for name, p in model.named_parameters()} | {"loss": loss.detach()}


def assert_equal(left: Mapping[str, "torch.Tensor"], right: Mapping[str, "torch.Tensor"]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name
