"""The PyTorch and Keras networks of one spec are one function, with the same gradients and the same cost."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from workloads.flops import forward_flops, train_step_flops
from workloads.initial import initial_weights
from workloads.layers import BatchNorm, Conv2d, ConvTranspose2d, Dense, DepthwiseConv2d, Rbm, Recurrent
from workloads.shapes import find_input_shapes, is_trained, list_parameters
from workloads.spec import Phase, Sgd, WorkloadSpec

torch = pytest.importorskip("torch")
pytest.importorskip("tensorflow")

from framework_parity import (  # noqa: E402 (skipped above where a framework is missing)
    BATCH,
    NAMES,
    Twins,
    batch_of,
    keras_after,
    output_of_torch,
    outputs_of,
    small_spec,
    torch_after,
    twins_of,
)
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402 (likewise)

from workloads.with_keras import network as keras_network  # noqa: E402 (likewise)
from workloads.with_torch import network as torch_network  # noqa: E402 (likewise)
from workloads.with_torch import training as torch_training  # noqa: E402 (likewise)

pytestmark = [
    pytest.mark.more_except("mnist_cnn", "resnet18", "gpt2", "uneven"),
    pytest.mark.slow_cases(
        "inception_resnet_v2", "retinopathy_cnn", "imdb_bigru", "resnet34", "xception", "inception_v3"
    ),
]

TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def twins(name: str) -> Twins:
    return twins_of(small_spec(name))


@pytest.fixture(scope="module")
def precise(name: str) -> Twins:
    """Build the twins in float64 where a network is deep enough to be chaotic in float32.

    With moments of few samples, rounding errors grow a thousandfold on the way through it, and one that turns
    a ReLU off changes a gradient for good.
    """
    spec = small_spec(name)
    return twins_of(spec, policy="float64" if is_deep(spec) else "float32")


def is_deep(spec: WorkloadSpec) -> bool:
    layers = [node.layer for network in spec.networks.values() for node in network.nodes]
    return len(layers) > 20 and any(isinstance(layer, BatchNorm) for layer in layers)


def largest(differences: Mapping[str, np.ndarray]) -> float:
    return max(float(np.abs(difference).max()) for difference in differences.values())


def test_a_network_starts_from_the_initial_weights_of_its_seed(twins: Twins) -> None:
    twins.start_over(seed=9)
    for key, network in twins.spec.networks.items():
        expected = initial_weights(network, 9)
        ours = torch_network.copy_state(twins.ours[key])
        theirs = keras_network.copy_state(twins.theirs.models[key], network)
        assert list(ours) == list(theirs) == list(expected)
        assert all(np.array_equal(ours[item], expected[item]) for item in expected)
        assert all(np.array_equal(theirs[item], expected[item]) for item in expected)


def test_a_state_is_a_copy(twins: Twins) -> None:
    twins.start_over(seed=1)
    states = twins.ours.state(), twins.theirs.state()
    twins.start_over(seed=2)
    for key, network in twins.spec.networks.items():
        for name, array in initial_weights(network, 1).items():
            assert all(np.array_equal(state[f"{key}.{name}"], array) for state in states)


def test_layers_have_as_many_parameters(twins: Twins) -> None:
    """Counted by each framework; PyTorch keeps a second bias in its recurrent layers."""
    for key, network in twins.spec.networks.items():
        for index, (node, inputs) in enumerate(zip(network.nodes, find_input_shapes(network), strict=True)):
            expected = sum(int(np.prod(shape)) for shape in list_parameters(node.layer, inputs).values())
            module = twins.ours[key].nodes[index]
            layer = twins.theirs.models[key].get_layer(keras_network.layer_name(index))
            assert layer.count_params() == expected
            if not isinstance(node.layer, Recurrent):
                assert sum(tensor.numel() for tensor in module.state_dict().values()) == expected


def test_outputs_agree_within_1e_5_of_the_largest(twins: Twins) -> None:
    """Compare with the largest output: at initial moving statistics a residual network's features double per
    block.
    """
    twins.start_over(seed=1)
    for ours, theirs in outputs_of(twins):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype == np.float32
        assert np.abs(ours - theirs).max() < 1e-5 * np.abs(ours).max()


def test_gradients_agree_within_1e_4(precise: Twins) -> None:
    """One step of plain descent at rate 1 takes the gradient off the weights."""
    for phase in precise.spec.phases:
        precise.start_over(seed=1)
        start = precise.ours.state()
        plain = replace(phase, optimizers=dict.fromkeys(phase.optimizers, Sgd(learning_rate=1.0)))
        ours, theirs = torch_after(precise, plain, steps=1), keras_after(precise, plain, steps=1)
        assert largest({name: ours[name] - theirs[name] for name in start}) < TOLERANCE
        assert largest({name: ours[name] - start[name] for name in start if is_trained(name)}) > 1e-2


@pytest.mark.parametrize("name", NAMES, indirect=True)
@pytest.mark.more_cases("resnet18")
def test_four_steps_agree_within_1e_4_and_so_do_the_outputs_of_trained_weights(precise: Twins) -> None:
    precise.start_over(seed=1)
    for phase in precise.spec.phases:
        ours, theirs = (after(precise, gentle(phase), steps=4) for after in (torch_after, keras_after))
        assert largest({name: ours[name] - theirs[name] for name in ours}) < TOLERANCE
    for ours, theirs in outputs_of(precise):
        assert np.abs(ours - theirs).max() < TOLERANCE


def gentle(phase: Phase) -> Phase:
    """A hundredth of the rate: on eight samples a step of its own would throw a deep network far off."""
    optimizers = {
        name: replace(each, learning_rate=each.learning_rate / 100) for name, each in phase.optimizers.items()
    }
    return replace(phase, optimizers=optimizers)


PRODUCTS = (Conv2d, ConvTranspose2d, Dense, DepthwiseConv2d, Rbm, Recurrent)


def test_under_bf16_hidden_layers_are_bf16_and_outputs_float32(name: str) -> None:
    """Allow 10% of the outputs' norm: fifty layers in bf16 add up to 4.5%, by the processor's kernels."""
    twins = twins_of(small_spec(name), policy="mixed_bfloat16")
    dtypes: set[object] = set()
    for key, network in twins.ours.named():
        for node, module in list(zip(network.spec.nodes, network.nodes, strict=True))[:-1]:
            if isinstance(node.layer, PRODUCTS):
                module.register_forward_hook(lambda _module, _inputs, output: dtypes.add(output.dtype))
        *hidden, last = twins.theirs.models[key].layers[1:]
        assert {layer.compute_dtype for layer in hidden} == {"bfloat16"}
        assert last.compute_dtype == "float32"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs = list(outputs_of(twins))
    assert dtypes == {torch.bfloat16}
    for ours, theirs in outputs:
        assert ours.dtype == theirs.dtype == np.float32
        assert np.linalg.norm(ours - theirs) < 0.1 * np.linalg.norm(ours)


def test_torchs_counter_finds_the_analytic_operations(twins: Twins) -> None:
    """Allow for the counter: it sees no operations in recurrent layers and in fused attention, and too many
    in a depthwise gradient.
    """
    layers = [node.layer for network in twins.spec.networks.values() for node in network.nodes]
    if any(isinstance(layer, Recurrent) for layer in layers):
        pytest.skip("PyTorch's counter does not know recurrent layers")
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode(display=False)
    for _, network in twins.ours.named():
        with counter, sdpa_kernel(SDPBackend.MATH):
            output_of_torch(network)
        assert counter.get_total_flops() == BATCH * forward_flops(network.spec)
    if any(isinstance(layer, DepthwiseConv2d) for layer in layers):
        return
    phase = twins.spec.phases[-1]
    twins.ours.train_in(phase)
    losses = torch_training.Losses(twins.ours, phase)
    batch = {key: torch.from_numpy(array) for key, array in batch_of(twins.spec).items()}
    with counter, sdpa_kernel(SDPBackend.MATH):
        torch.autograd.backward(sum(losses(batch).values()))
    assert counter.get_total_flops() == train_step_flops(twins.spec, BATCH)
