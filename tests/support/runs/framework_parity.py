"""A workload's networks in PyTorch and in Keras, on the same weights and the same samples."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from declared_workloads import DECLARED
from uneven_network import uneven_network

from workloads.data.noise import describe_noise
from workloads.data.split import IGNORED
from workloads.initial import State, initial_weights
from workloads.layers import Dropout, Embedding
from workloads.network import Network
from workloads.registry import workload
from workloads.shapes import find_shapes
from workloads.spec import Gan, Phase, WorkloadSpec
from workloads.with_keras import network as keras_network
from workloads.with_keras import training as keras_training
from workloads.with_torch import network as torch_network
from workloads.with_torch import training as torch_training

BATCH = 8

_NARROW: Mapping[str, Any] = {"width": 0.25}
SMALL: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("alexnet", "vgg11", "vgg13", "vgg16", "vgg19"), _NARROW),
    **dict.fromkeys(("mobilenet_v2", "resnet18", "resnet34", "resnet50"), _NARROW),
    "cifar10_cnn": {"kernels": (50, 150)},
    "inception_resnet_v2": {**_NARROW, "image_size": 75},
    "inception_v3": {**_NARROW, "image_size": 107},  # below, its last maps are a pixel: moments of 8 values
    "retinopathy_cnn": {**_NARROW, "network": "efficientnet_b0", "image_size": 32},
    "xception": {**_NARROW, "image_size": 71},
}
"""Options that make a workload's networks cheap; those of any other workload are cheap as they are."""


@dataclass(frozen=True, kw_only=True)
class Twins:
    """The networks of one spec: `ours` in PyTorch, `theirs` in Keras."""

    spec: WorkloadSpec
    ours: torch_training.Networks
    theirs: keras_training.Networks

    def start_over(self, *, seed: int) -> None:
        """Give both the initial weights of a seed."""
        for name, network in self.ours.named():
            state = initial_weights(network.spec, seed)
            torch_network.load_state(network, state)
            keras_network.load_state(self.theirs.models[name], network.spec, state)


NAMES = (*DECLARED, "uneven")


def small_spec(name: str) -> WorkloadSpec:
    """The workload, small, and without what a framework draws by itself: dropout."""
    if name == "uneven":
        return replace(workload("mnist_cnn", {}), name=name, networks={"model": uneven_network()})
    spec = workload(name, SMALL.get(name, {}))
    return replace(spec, networks={key: _without_dropout(each) for key, each in spec.networks.items()})


def _without_dropout(network: Network) -> Network:
    nodes = [
        replace(node, layer=Dropout(rate=0.0)) if isinstance(node.layer, Dropout) else node
        for node in network.nodes
    ]
    return replace(network, nodes=tuple(nodes))


@contextmanager
def keras_policy(name: str) -> Iterator[None]:
    """Build Keras' networks for that precision."""
    keras.mixed_precision.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.mixed_precision.set_dtype_policy("float32")


def twins_of(spec: WorkloadSpec, *, policy: str = "float32") -> Twins:
    """Build both with the initial weights of seed 1; the last layer is in float32 under every policy.

    PyTorch's network is in float32 under a mixed policy, which autocast makes of it when it is run.
    """
    ours = torch_training.Networks(spec, 1)
    with keras_policy(policy):
        theirs = keras_training.Networks(spec, 1)
    if policy == "float64":
        for _, network in ours.named():
            network.double()
            network.nodes[-1].float()
    return Twins(spec=spec, ours=ours, theirs=theirs)


def inputs_of(network: Network) -> np.ndarray:
    """Values in [0, 1), or token ids."""
    random = np.random.default_rng(5)
    shape = (BATCH, *network.input_shape)
    vocabulary = [node.layer.vocabulary for node in network.nodes if isinstance(node.layer, Embedding)]
    if vocabulary:
        return random.integers(0, min(vocabulary), shape, dtype=np.int32)
    return random.random(shape, dtype=np.float32)


def batch_of(spec: WorkloadSpec) -> dict[str, np.ndarray]:
    """Samples, labels and noise for a step of any protocol."""
    judge = "discriminator" if isinstance(spec.phases[-1].protocol, Gan) else spec.quality.network
    network = spec.networks[judge]
    *steps, classes = find_shapes(network)[-1]
    labels = np.random.default_rng(6).integers(0, classes, (BATCH, *steps))
    if steps:
        labels[:, ::3] = IGNORED
    drawn = {item.name: describe_noise(item, np.arange(BATCH), seed=7) for item in spec.noise}
    return {"x": inputs_of(network), "y": labels} | drawn


def outputs_of(twins: Twins) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the outputs of each network and its twin in evaluation."""
    for name, network in twins.ours.named():
        yield output_of_torch(network), output_of_keras(twins.theirs.models[name], network.spec)


def output_of_torch(network: torch_network.TorchNetwork) -> np.ndarray:
    """Compute the output in the precision of the weights."""
    samples = torch.from_numpy(inputs_of(network.spec))
    if samples.is_floating_point():
        samples = samples.to(next(network.parameters()).dtype)
    network.eval()
    with torch.no_grad():
        output: np.ndarray = network(samples).numpy()
    network.train()
    return output


def output_of_keras(model: Any, network: Network) -> np.ndarray:
    """Compute the output in the precision for which the model was built."""
    output: np.ndarray = model(inputs_of(network), training=False).numpy()
    return output


def torch_after(twins: Twins, phase: Phase, *, steps: int) -> State:
    """Train in PyTorch on one batch, again and again: the weights then."""
    trained = twins.ours.train_in(phase)
    optimizers = [
        torch_training.build_optimizer(phase.optimizers[name], each) for name, each in trained.items()
    ]
    losses = torch_training.Losses(twins.ours, phase)
    dtype = next(twins.ours.parameters()).dtype
    batch = {name: torch.from_numpy(array) for name, array in batch_of(twins.spec).items()}
    batch = {name: each.to(dtype) if each.is_floating_point() else each for name, each in batch.items()}
    for _ in range(steps):
        for optimizer in optimizers:
            optimizer.zero_grad()
        torch.autograd.backward(sum(losses(batch).values()))
        for optimizer in optimizers:
            optimizer.step()
    return twins.ours.state()


def keras_after(twins: Twins, phase: Phase, *, steps: int) -> State:
    """The same in Keras."""
    trained = twins.theirs.trained_in(phase)
    optimizers = {name: keras_training.build_optimizer(phase.optimizers[name]) for name in trained}
    batch = {name: tf.constant(array) for name, array in batch_of(twins.spec).items()}
    for _ in range(steps):
        with tf.GradientTape(persistent=True) as tape:
            losses = {name: tf.reduce_mean(each) for name, each in twins.theirs.losses(phase, batch).items()}
        gradients = {name: tape.gradient(losses[name], variables) for name, variables in trained.items()}
        for name, variables in trained.items():
            optimizers[name].apply_gradients(zip(gradients[name], variables, strict=True))
    return twins.theirs.state()
