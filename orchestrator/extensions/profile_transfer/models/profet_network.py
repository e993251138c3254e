"""PROFET's neural network: 128-64-32-16-1, trained for mean absolute percentage error; several side by side.

Training as published (arXiv 2208.05130 and its code): ReLU, Adam with a rate of 1e-3 x 0.9^(step / 1000),
batches of 16, at most 200 epochs, stopped after 5 epochs in which the training loss was not the lowest yet.
Weights begin as in Keras: Glorot's uniform ones, biases zero. Adam: Kingma and Ba 2015, with Keras' epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from orchestrator.extensions.profile_transfer.models.pairs import Floats

_HIDDEN = (128, 64, 32, 16)
_BATCH = 16
_MOST_EPOCHS = 200
_PATIENCE = 5
_RATE, _DECAY, _DECAY_STEPS = 1e-3, 0.9, 1000.0
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-7

_Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfetNetwork:
    """Kernels [input, unit] and biases [1, unit] of each layer."""

    kernels: tuple[_Singles, ...]
    biases: tuple[_Singles, ...]

    def predict(self, features: Floats) -> Floats:
        """[row, feature] -> [row]."""
        values = features.astype(np.float32)
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1], strict=True):
            values = np.maximum(values @ kernel + bias, 0.0)
        outputs: Floats = (values @ self.kernels[-1] + self.biases[-1])[:, 0].astype(np.float64)
        return outputs


def fit_networks(
    features: Sequence[Floats], targets: Sequence[Floats], *, seed: int
) -> tuple[ProfetNetwork, ...]:
    """Train a network on each of several data sets, all of them in the same products of matrices.

    A set with fewer features gets columns of zeros, which change nothing; one with fewer rows sees some of
    them twice an epoch.

    Args:
        features: one array [row, feature] per set.
        targets: one array [row] per set, above 0.
    """
    random = np.random.default_rng(seed)
    width, rows = max(feature.shape[1] for feature in features), max(len(target) for target in targets)
    inputs = np.zeros((len(features), rows, width), dtype=np.float32)
    outputs = np.zeros((len(features), rows, 1), dtype=np.float32)
    for index, (columns, target) in enumerate(zip(features, targets, strict=True)):
        order = np.resize(np.arange(len(target)), rows)
        inputs[index, :, : columns.shape[1]] = columns[order]
        outputs[index, :, 0] = target[order]
    kernels, biases = _initial([feature.shape[1] for feature in features], width=width, random=random)
    stopped = _train(kernels + biases, inputs, outputs, random=random)
    layers = len(kernels)
    return tuple(
        ProfetNetwork(
            kernels=(parts[0][: columns.shape[1]], *parts[1:layers]),
            biases=tuple(parts[layers:]),
        )
        for columns, parts in zip(features, stopped, strict=True)
    )


def _initial(
    widths: Sequence[int], *, width: int, random: np.random.Generator
) -> tuple[list[_Singles], list[_Singles]]:
    """[network, input, unit] and [network, 1, unit] of each layer."""
    kernels, biases = [], []
    sizes = (width, *_HIDDEN, 1)
    for layer, (num_in, num_out) in enumerate(pairwise(sizes)):
        fan_in = np.array(widths if layer == 0 else [num_in] * len(widths))
        limit = np.sqrt(6 / (fan_in + num_out))[:, None, None]
        drawn = random.uniform(-1, 1, (len(widths), num_in, num_out))
        kernels.append((limit * drawn).astype(np.float32))
        biases.append(np.zeros((len(widths), 1, num_out), dtype=np.float32))
    return kernels, biases


def _train(
    parts: list[_Singles], inputs: _Singles, outputs: _Singles, *, random: np.random.Generator
) -> list[list[_Singles]]:
    """Return the parts of each network when it stopped; only networks that go on are computed further."""
    num_networks, rows = outputs.shape[:2]
    active = np.arange(num_networks)
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]
    order = np.tile(np.arange(rows), (num_networks, 1))
    stopped: list[list[_Singles]] = [[]] * num_networks
    best, waited = np.full(num_networks, np.inf), np.zeros(num_networks, dtype=int)
    step = 0
    for epoch in range(_MOST_EPOCHS):
        order = random.permuted(order, axis=1)
        losses = np.zeros(len(active))
        for start in range(0, rows, _BATCH):
            chosen = order[active, start : start + _BATCH]
            batch = inputs[active[:, None], chosen], outputs[active[:, None], chosen]
            loss, gradients = _gradients(parts, *batch)
            step += 1
            losses += loss
            _adam(parts, gradients, moments, step=step)
        waited = np.where(losses < best, 0, waited + 1)
        best = np.minimum(best, losses)
        ends = (waited >= _PATIENCE) | (epoch == _MOST_EPOCHS - 1)
        for index in np.flatnonzero(ends):
            stopped[active[index]] = [part[index].copy() for part in parts]
        if ends.all():
            break
        if ends.any():
            active, best, waited = active[~ends], best[~ends], waited[~ends]
            parts = [part[~ends] for part in parts]
            moments = [(first[~ends], second[~ends]) for first, second in moments]
    return stopped


def _gradients(
    parts: list[_Singles], inputs: _Singles, outputs: _Singles
) -> tuple[NDArray[np.float64], list[_Singles]]:
    """Sum over the batch of |prediction / output - 1| of each network, and 100 times its mean's gradients."""
    layers = len(parts) // 2
    values = [inputs]
    for layer in range(layers):
        summed = values[-1] @ parts[layer] + parts[layers + layer]
        values.append(np.maximum(summed, 0.0) if layer < layers - 1 else summed)
    errors = (values[-1] - outputs) / outputs
    flowing = 100 * np.sign(errors) / outputs / outputs.shape[1]
    gradients: list[_Singles] = [np.empty(0, dtype=np.float32)] * len(parts)
    for layer in reversed(range(layers)):
        gradients[layer] = values[layer].transpose(0, 2, 1) @ flowing
        gradients[layers + layer] = flowing.sum(axis=1, keepdims=True)
        if layer:
            flowing = (flowing @ parts[layer].transpose(0, 2, 1)) * (values[layer] > 0)
    return np.abs(errors).sum(axis=(1, 2)).astype(np.float64), gradients


def _adam(
    parts: list[_Singles],
    gradients: list[_Singles],
    moments: list[tuple[_Singles, _Singles]],
    *,
    step: int,
) -> None:
    """Change the parts and their moments in place."""
    rate = _RATE * _DECAY ** ((step - 1) / _DECAY_STEPS)
    rate *= float(np.sqrt(1 - _BETA_2**step) / (1 - _BETA_1**step))
    for part, gradient, (first, second) in zip(parts, gradients, moments, strict=True):
        first += (1 - _BETA_1) * (gradient - first)
        second += (1 - _BETA_2) * (gradient * gradient - second)
        part -= rate * first / (np.sqrt(second) + _EPSILON)
