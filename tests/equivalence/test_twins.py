"""The PyTorch and Keras networks of one spec are one function, with the same gradients and the same cost."""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from workloads.flops import forward_flops, train_step_flops
from workloads.initial import initial_weights
from workloads.registry import workload, workload_names
from workloads.spec import Conv2d, Dense, Flatten, MaxPool2d, Sgd, WorkloadSpec

torch = pytest.importorskip("torch")
tensorflow = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from workloads import sequential_keras, sequential_torch  # noqa: E402 (skipped above where a framework is missing)

BATCH = 16


def uneven() -> WorkloadSpec:
    """What frameworks do differently unless told: stride with padding, a border that pooling drops."""
    layers = (
        Conv2d(filters=4, kernel=3, stride=2, padding=1, activation="relu"),
        Conv2d(filters=5, kernel=2, padding=1),
        MaxPool2d(size=2),
        Flatten(),
        Dense(units=6, activation="relu"),
        Dense(units=3),
    )
    return replace(
        workload("mnist_cnn", {}), name="uneven", layers=layers, input_shape=(11, 14, 3), num_classes=3
    )


SPECS = [pytest.param(workload(name, {}), id=name) for name in workload_names()]
SPECS.append(pytest.param(uneven(), id="uneven"))
every_spec = pytest.mark.parametrize("spec", SPECS)


def batch_of(spec: WorkloadSpec) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    images = random.random((BATCH, *spec.input_shape), dtype=np.float32)
    return images, random.integers(0, spec.num_classes, BATCH)


def torch_state_after(spec: WorkloadSpec, optimizer: Sgd, *, steps: int) -> dict[str, np.ndarray]:
    model = sequential_torch.build(spec, 1)
    images, labels = map(torch.from_numpy, batch_of(spec))
    sgd = torch.optim.SGD(model.parameters(), lr=optimizer.learning_rate, momentum=optimizer.momentum)
    for _ in range(steps):
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        sgd.step()
    return sequential_torch.state_of(model)


def keras_state_after(spec: WorkloadSpec, optimizer: Sgd, *, steps: int) -> dict[str, np.ndarray]:
    model = sequential_keras.build(spec, 1)
    images, labels = batch_of(spec)
    sgd = keras.optimizers.SGD(optimizer.learning_rate, optimizer.momentum)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for _ in range(steps):
        with tensorflow.GradientTape() as tape:
            loss = loss_of(labels, model(images))
        sgd.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
    return sequential_keras.state_of(model)


@every_spec
@pytest.mark.parametrize("twin", [sequential_torch, sequential_keras])
def test_a_network_starts_from_the_initial_weights_of_its_seed(spec: WorkloadSpec, twin: ModuleType) -> None:
    expected, found = initial_weights(spec, 9), twin.state_of(twin.build(spec, 9))
    assert list(found) == list(expected)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@every_spec
@pytest.mark.parametrize("twin", [sequential_torch, sequential_keras])
def test_a_state_that_is_loaded_is_a_copy_and_comes_back(spec: WorkloadSpec, twin: ModuleType) -> None:
    model = twin.build(spec, 1)
    before, other = twin.state_of(model), initial_weights(spec, 2)
    twin.load_state(model, other)
    assert all(np.array_equal(each, other[name]) for name, each in twin.state_of(model).items())
    assert all(np.array_equal(each, initial_weights(spec, 1)[name]) for name, each in before.items())


@every_spec
def test_logits_agree_within_1e_4(spec: WorkloadSpec) -> None:
    images, _ = batch_of(spec)
    with torch.no_grad():
        ours = sequential_torch.build(spec, 1)(torch.from_numpy(images)).numpy()
    theirs = sequential_keras.build(spec, 1)(images).numpy()
    assert ours.shape == theirs.shape == (BATCH, spec.num_classes)
    assert np.abs(ours - theirs).max() < 1e-4


@every_spec
def test_gradients_agree_within_1e_4(spec: WorkloadSpec) -> None:
    """One step of plain descent at rate 1 takes the gradient off the weights."""
    plain, start = Sgd(learning_rate=1.0, momentum=0.0), initial_weights(spec, 1)
    ours, theirs = torch_state_after(spec, plain, steps=1), keras_state_after(spec, plain, steps=1)
    for name in start:
        assert np.abs(ours[name] - theirs[name]).max() < 1e-4
        assert np.abs(ours[name] - start[name]).max() > 1e-4


@every_spec
def test_four_steps_of_the_specs_optimizer_agree_within_1e_4(spec: WorkloadSpec) -> None:
    ours = torch_state_after(spec, spec.optimizer, steps=4)
    theirs = keras_state_after(spec, spec.optimizer, steps=4)
    assert max(np.abs(ours[name] - theirs[name]).max() for name in ours) < 1e-4


@pytest.fixture
def bf16_policy() -> Iterator[None]:
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    yield
    keras.mixed_precision.set_dtype_policy("float32")


@every_spec
def test_under_bf16_hidden_layers_are_bf16_and_logits_float32(spec: WorkloadSpec, bf16_policy: None) -> None:
    images, _ = batch_of(spec)
    ours, theirs = sequential_torch.build(spec, 1), sequential_keras.build(spec, 1)
    dtypes: list[Any] = []
    for module in list(ours.children())[:-1]:
        module.register_forward_hook(lambda _module, _inputs, output: dtypes.append(output.dtype))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        logits = ours(torch.from_numpy(images))
    assert set(dtypes) == {torch.bfloat16}
    assert {layer.compute_dtype for layer in theirs.layers[:-1]} == {"bfloat16"}
    assert (logits.dtype, theirs(images).dtype) == (torch.float32, tensorflow.float32)
    assert np.abs(logits.numpy() - theirs(images).numpy()).max() < 0.05


@every_spec
def test_torchs_counter_finds_the_analytic_operations(spec: WorkloadSpec) -> None:
    counter = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode(display=False)
    images, labels = map(torch.from_numpy, batch_of(spec))
    model = sequential_torch.build(spec, 1)
    with counter:
        model(images)
    assert counter.get_total_flops() == BATCH * forward_flops(spec)
    with counter:
        torch.nn.functional.cross_entropy(model(images), labels).backward()
    assert counter.get_total_flops() == train_step_flops(spec, BATCH)
