"""Recurrent layers: one function in PyTorch, in Keras and on XLA devices, at the precision asked for."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from repository import CHILD_PYTHONPATH, ROOT
from trainer_runs import COMPILED_SOON, python_of

from workloads.flops import forward_flops
from workloads.initial import State, initial_weights
from workloads.layers import Dense, Embedding, Recurrent
from workloads.network import Network, sequential
from workloads.registry import workload

torch = pytest.importorskip("torch")
tensorflow = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402 (skipped above where a framework is missing)

from workloads.with_keras import network as keras_network  # noqa: E402 (likewise)
from workloads.with_keras import recurrent as keras_recurrent  # noqa: E402 (likewise)
from workloads.with_torch import network as torch_network  # noqa: E402 (likewise)
from workloads.with_torch import recurrent as torch_recurrent  # noqa: E402 (likewise)
from workloads.with_torch.training import Losses, Networks, build_optimizer  # noqa: E402 (likewise)

BATCH = 6
VOCABULARY = 20
STEPS = 9

every_cell = pytest.mark.parametrize("cell", ["lstm", "gru"])


def stacked(cell: Any) -> Network:
    """Two recurrent layers, the first of which hands on every step."""
    return sequential(
        (STEPS,),
        Embedding(vocabulary=VOCABULARY, units=5),
        Recurrent(cell=cell, units=4, sequences=True),
        Recurrent(cell=cell, units=6),
        Dense(units=2),
    )


def drawn_state(network: Network) -> State:
    """Weights of which no two are alike, biases too."""
    random = np.random.default_rng(3)
    return {
        name: random.normal(scale=0.5, size=array.shape).astype(np.float32)
        for name, array in initial_weights(network, 0).items()
    }


def twins(network: Network) -> tuple[Any, Any]:
    """The network in PyTorch and in Keras, with the same weights."""
    ours, theirs = torch_network.build(network, 0), keras_network.build(network, 0)
    torch_network.load_state(ours, drawn_state(network))
    keras_network.load_state(theirs, network, drawn_state(network))
    return ours, theirs


def tokens_and_classes() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(4)
    return random.integers(0, VOCABULARY, (BATCH, STEPS), dtype=np.int32), random.integers(0, 2, BATCH)


def torch_gradients(model: Any) -> State:
    tokens, classes = map(torch.from_numpy, tokens_and_classes())
    torch.nn.functional.cross_entropy(model(tokens), classes).backward()
    return {
        name: replace(
            weight, tensor=weight.tensor.grad, below=None if weight.below is None else weight.below.grad
        ).array()
        for name, weight in torch_network.named_weights(model).items()
    }


def keras_gradients(model: Any, network: Network, *, jit_compile: bool) -> State:
    tokens, classes = map(tensorflow.constant, tokens_and_classes())
    named = dict(keras_network.named_variables(model, network))

    @tensorflow.function(autograph=False, jit_compile=jit_compile)
    def gradients() -> Any:
        with tensorflow.GradientTape() as tape:
            losses = tensorflow.nn.sparse_softmax_cross_entropy_with_logits(classes, model(tokens))
            loss = tensorflow.reduce_mean(losses)
        return tape.gradient(loss, [variable.value for variable in named.values()])

    return {name: each.numpy() for name, each in zip(named, gradients(), strict=True)}


@every_cell
@pytest.mark.more_cases("lstm")
def test_every_weight_comes_back_from_both_frameworks_in_canonical_layout(cell: str) -> None:
    network = stacked(cell)
    ours, theirs = twins(network)
    for found in (torch_network.copy_state(ours), keras_network.copy_state(theirs, network)):
        assert list(found) == list(drawn_state(network))
        assert all(np.array_equal(found[name], array) for name, array in drawn_state(network).items())


@every_cell
def test_logits_of_drawn_weights_agree_within_1e_4(cell: str) -> None:
    tokens, _ = tokens_and_classes()
    ours, theirs = twins(stacked(cell))
    assert np.abs(ours(torch.from_numpy(tokens)).detach().numpy() - theirs(tokens).numpy()).max() < 1e-4


@pytest.mark.more_except("False-lstm")
@every_cell
@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradients_of_drawn_weights_agree_within_1e_4(cell: str, jit_compile: bool) -> None:
    network = stacked(cell)
    ours, theirs = twins(network)
    expected, found = torch_gradients(ours), keras_gradients(theirs, network, jit_compile=jit_compile)
    for name, gradient in expected.items():
        assert np.abs(gradient - found[name]).max() < 1e-4, name
        assert np.abs(gradient).max() > 1e-4, name


def test_an_lstms_second_bias_in_torch_stays_zero_while_all_else_is_trained() -> None:
    spec = workload("imdb_bilstm", {"vocabulary": VOCABULARY, "sequence_length": STEPS, "layers": 2})
    networks, (phase,) = Networks(spec, 0), spec.phases
    before = networks.state()
    optimizer = build_optimizer(phase.optimizers["model"], networks.train_in(phase)["model"])
    tokens, classes = map(torch.from_numpy, tokens_and_classes())
    Losses(networks, phase)({"x": tokens, "y": classes})["model"].backward()
    optimizer.step()
    silent = [each for name, each in networks.named_parameters() if "bias_hh" in name]
    assert len(silent) == 4
    assert not any(named_parameter.any() or named_parameter.requires_grad for named_parameter in silent)
    assert all((before[name] != array).any() for name, array in networks.state().items())


class Products(TorchDispatchMode):
    """Notes the dtypes in which kernels are multiplied by."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: set[Any] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.overloadpacket.__name__ in ("mkldnn_rnn_layer", "addmm", "mm", "bmm"):
            self.dtypes |= {argument.dtype for argument in args if isinstance(argument, torch.Tensor)}
        return function(*args, **(kwargs or {}))


@every_cell
def test_under_bf16_a_torch_cell_multiplies_in_bf16_and_gives_bf16(cell: str) -> None:
    model = torch_network.build(stacked(cell), 0)
    tokens, _ = map(torch.from_numpy, tokens_and_classes())
    with torch.autocast("cpu", dtype=torch.bfloat16), Products() as products:
        output = model.nodes[1](model.nodes[0](tokens))
    assert output.dtype == torch.bfloat16
    assert products.dtypes == {torch.bfloat16}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(tokens).dtype == torch.float32


@pytest.fixture
def bf16_policy() -> Iterator[None]:
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    yield
    keras.mixed_precision.set_dtype_policy("float32")


@every_cell
def test_under_bf16_a_keras_cell_multiplies_in_bf16_in_its_loop_too(cell: str, bf16_policy: None) -> None:
    ours, theirs = twins(stacked(cell))
    tokens, _ = tokens_and_classes()
    graph = tensorflow.function(theirs, autograph=False).get_concrete_function(tokens).graph
    dtypes = [node.attr["T"].type for node in count_nodes(graph) if node.op == "MatMul"]
    assert dtypes.count(tensorflow.float32.as_datatype_enum) == 1  # the logits
    assert set(dtypes) == {tensorflow.float32.as_datatype_enum, tensorflow.bfloat16.as_datatype_enum}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = ours(torch.from_numpy(tokens))
    assert theirs(tokens).dtype == tensorflow.float32
    assert np.abs(logits.detach().numpy() - theirs(tokens).numpy()).max() < 0.05


def count_nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of the graph and of the bodies of its loops."""
    plain = graph.as_graph_def()
    yield from plain.node
    for function in plain.library.function:
        yield from function.node_def


def test_one_kernel_computes_an_lstm_on_a_cpu_in_torch_and_none_a_gru_or_anything_in_keras() -> None:
    (lstm, lstm_in_keras), (gru, gru_in_keras) = twins(stacked("lstm")), twins(stacked("gru"))
    assert torch_recurrent.fused_recurrent(lstm) is True
    assert torch_recurrent.fused_recurrent(gru) is False
    assert torch_recurrent.fused_recurrent(lstm.double()) is False  # oneDNN has none for float64
    assert keras_recurrent.fused_recurrent(lstm_in_keras) is False
    assert keras_recurrent.fused_recurrent(gru_in_keras) is False


def test_a_network_without_recurrent_layers_has_no_fused_kernels() -> None:
    ours, theirs = twins(sequential((3,), Dense(units=2)))
    assert torch_recurrent.fused_recurrent(ours) is None
    assert keras_recurrent.fused_recurrent(theirs) is None


@every_cell
def test_keras_cells_that_xla_is_to_compile_ask_for_no_kernel_of_cudnn(cell: str) -> None:
    _, model = twins(stacked(cell))
    keras_recurrent.let_xla_compile(model)
    cells = [
        flatten_layer
        for flatten_layer in model._flatten_layers()
        if isinstance(flatten_layer, keras.layers.RNN)
    ]
    assert [cell.use_cudnn for cell in cells] == [False] * 4


@every_cell
def test_torchs_counter_finds_the_analytic_operations(cell: str) -> None:
    """Use float64, because the counter ignores fused kernels, such as an LSTM in float32."""
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode(display=False)
    layers = Recurrent(cell=cell, units=4, sequences=True), Recurrent(cell=cell, units=5)
    network = sequential((STEPS, 3), *layers)
    cells = [
        torch_recurrent.BidirectionalCell(each, inputs) for each, inputs in zip(layers, (3, 8), strict=True)
    ]
    model = torch.nn.Sequential(*cells).double()
    with counter:
        output = model(torch.zeros(BATCH, STEPS, 3, dtype=torch.float64, requires_grad=True))
    assert counter.get_total_flops() == BATCH * forward_flops(network)
    with counter:
        output.sum().backward()
    gates = 4 if cell == "lstm" else 3
    of_initial_states = (
        2 * 2 * BATCH * (4 * gates * 4 + 5 * gates * 5)
    )  # two directions; torch leaves them out
    assert counter.get_total_flops() == 2 * BATCH * forward_flops(network) - of_initial_states


@cache
def on_xla(*arguments: str) -> dict[str, Any]:
    """Return the output of `recurrent_on_xla.py` for each cell."""
    python = python_of("torch_xla")
    if not python.exists():
        pytest.skip(f"{python} is absent; get it with: make xla")
    said = subprocess.run(
        [python, ROOT / "tests/support/runs/recurrent_on_xla.py", *arguments],
        env={**os.environ, "PYTHONPATH": CHILD_PYTHONPATH, **COMPILED_SOON},
        check=True,
        timeout=120,
        stdout=subprocess.PIPE,
        text=True,
    )
    return {item["cell"]: item for item in map(json.loads, said.stdout.splitlines())}


ONE_DEVICE, TWO_DEVICES = ("1", "fp32", "bf16"), ("2", "fp32")


@pytest.mark.slow
@every_cell
@pytest.mark.parametrize("devices", [ONE_DEVICE, TWO_DEVICES], ids=["one device", "two devices"])
def test_on_xla_logits_and_gradients_are_torchs_own_within_1e_4(cell: str, devices: tuple[str, ...]) -> None:
    found = on_xla(*devices)[cell]["fp32"]
    assert found["logits"] < 1e-4
    assert found["gradients"] < 1e-4
    assert (found["dtypes"], found["fused"]) == (["torch.float32"], False)


@pytest.mark.slow
@every_cell
def test_on_xla_bf16_is_bf16(cell: str) -> None:
    found = on_xla(*ONE_DEVICE)[cell]["bf16"]
    assert found["dtypes"] == ["torch.bfloat16"]
    assert found["logits"] < 0.05


@pytest.mark.slow
@every_cell
def test_on_xla_the_program_of_80_steps_is_no_longer_than_that_of_8(cell: str) -> None:
    """Unrolled it would be ten times as long, and took 92 s to compile."""
    short, long = on_xla(*ONE_DEVICE)[cell]["lengths"]
    assert short == long
