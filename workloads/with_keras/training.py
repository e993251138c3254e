"""The losses of one phase in TensorFlow, on one replica."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from workloads.data.split import IGNORED
from workloads.protocols import compute_losses, trained_by
from workloads.shapes import find_input_shapes, list_parameters
from workloads.spec import Adam, AdamW, Optimizer, Phase, Quality, Sgd, WorkloadSpec
from workloads.with_keras.adam import Adam as PaperAdam
from workloads.with_keras.adam import Scheduled
from workloads.with_keras.network import build, build_variable, copy_state, layer_name, named_variables
from workloads.with_keras.recurrent import fused_recurrent


class Networks:
    """The networks of a workload by name, with the initial weights of a seed, under the global policy."""

    def __init__(self, spec: WorkloadSpec, seed: int) -> None:
        self.specs = spec.networks
        self.models = {name: build(network, seed) for name, network in spec.networks.items()}

    def state(self) -> dict[str, Any]:
        """`<network>.<node index>.<name>` -> array, in canonical layout."""
        return {
            f"{name}.{key}": array
            for name, model in self.models.items()
            for key, array in copy_state(model, self.specs[name]).items()
        }

    def trained_in(self, phase: Phase) -> dict[str, list[Any]]:
        """Return the variables that the phase trains, by network."""
        return {
            name: [
                variable
                for key, variable in named_variables(self.models[name], self.specs[name])
                if trained_by(phase.protocol, name, key)
            ]
            for name in phase.optimizers
        }

    def fused_recurrent(self) -> bool | None:
        """Return whether fused operations compute all recurrent cells; None if there are none."""
        known = [is_fused for is_fused in map(fused_recurrent, self.models.values()) if is_fused is not None]
        return all(known) if known else None

    def losses(self, phase: Phase, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Compute the loss of each network for each sample of the batch."""
        return compute_losses(phase.protocol, _Operations(self), batch)


def build_optimizer(optimizer: Optimizer) -> Any:
    """Keras' optimizer of a declared one.

    Its momentum is v <- momentum v - learning_rate g; w <- w + v: the same for a constant learning rate.
    """
    match optimizer:
        case Sgd():
            return keras.optimizers.SGD(optimizer.learning_rate, momentum=optimizer.momentum)
        case Adam():
            return PaperAdam(
                optimizer.learning_rate, beta_1=optimizer.beta_1, beta_2=optimizer.beta_2, epsilon=1e-8
            )
        case AdamW():
            rate = optimizer.learning_rate
            return PaperAdam(
                Scheduled(rate, optimizer.schedule) if optimizer.schedule else rate,
                beta_1=optimizer.beta_1,
                beta_2=optimizer.beta_2,
                epsilon=1e-8,
                matrix_decay=optimizer.weight_decay,
            )


def evaluated(model: Any, quality: Quality, arrays: Mapping[str, Any]) -> Any:
    """Return what the measure of a quality is given, of one batch."""
    outputs = model(arrays[quality.reads])
    if not quality.of_tokens:
        return outputs
    tokens = arrays["y"]
    hits = tf.equal(tf.argmax(outputs, -1, output_type=tokens.dtype), tokens)
    return tf.stack((_token_losses(outputs, tokens), tf.cast(hits, tf.float32)), -1)


def _token_losses(logits: Any, tokens: Any) -> Any:
    """[batch, step, token], [batch, step] -> [batch, step]; 0 where a token is negative."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(tokens, 0), logits)
    return losses * tf.cast(tf.not_equal(tokens, IGNORED), losses.dtype)


class _Operations:
    """TensorFlow operations that the step protocols need."""

    def __init__(self, networks: Networks) -> None:
        self._models = networks.models
        self._specs = networks.specs
        self._compute_dtype = keras.mixed_precision.dtype_policy().compute_dtype

    def network(self, name: str) -> Any:
        return partial(self._models[name], training=True)

    def frozen(self, name: str) -> Any:
        """The same: a tape is asked for the gradients of chosen variables only."""
        return self.network(name)

    def below(self, name: str, node: int) -> Any:
        model = self._models[name]
        return keras.Model(model.inputs, model.get_layer(layer_name(node)).input)

    def weights(self, name: str, node: int) -> dict[str, Any]:
        network = self._specs[name]
        names = list_parameters(network.nodes[node].layer, find_input_shapes(network)[node])
        layer = self._models[name].get_layer(layer_name(node))
        return {name: tf.convert_to_tensor(build_variable(layer, name)) for name in names}

    def softmax_cross_entropy(self, logits: Any, classes: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits)

    def token_cross_entropy(self, logits: Any, tokens: Any) -> Any:
        counts = tf.math.count_nonzero(tf.not_equal(tokens, IGNORED), 1, dtype=logits.dtype)
        return tf.reduce_sum(_token_losses(logits, tokens), 1) / counts

    def sigmoid_cross_entropy(self, logits: Any, *, target: float) -> Any:
        targets = tf.fill(tf.shape(logits), target)
        return tf.nn.sigmoid_cross_entropy_with_logits(targets, logits)[:, 0]

    def constant(self, value: Any) -> Any:
        return tf.stop_gradient(tf.cast(value, tf.float32))

    def product(self, left: Any, right: Any, *, transposed: bool = False) -> Any:
        dtype = self._compute_dtype
        return tf.cast(
            tf.matmul(tf.cast(left, dtype), tf.cast(right, dtype), transpose_b=transposed), tf.float32
        )

    def sigmoid(self, value: Any) -> Any:
        return tf.sigmoid(value)

    def softplus(self, value: Any) -> Any:
        return tf.nn.softplus(value)

    def row_sum(self, value: Any) -> Any:
        return tf.reduce_sum(value, 1)

    def less(self, left: Any, right: Any) -> Any:
        return tf.cast(left < right, tf.float32)
