"""The step protocols: the losses of a batch, defined once over the few operations that frameworks share."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from workloads.shapes import is_trained
from workloads.spec import ContrastiveDivergence, Gan, Supervised, TokenPrediction
from workloads.spec import Protocol as StepProtocol

Forward = Callable[[Any], Any]
"""A network, or a part of one, in training."""


class Operations(Protocol):
    """Operations that a framework offers to the protocols; values are its tensors, in float32."""

    def network(self, name: str) -> Forward:
        """A network with weights that get gradients."""

    def frozen(self, name: str) -> Forward:
        """A network through which gradients flow, while its own weights get none of them."""

    def below(self, name: str, node: int) -> Forward:
        """The part of a network that makes the first input of a node."""

    def weights(self, name: str, node: int) -> Mapping[str, Any]:
        """Parameters of a node, in canonical layout."""

    def softmax_cross_entropy(self, logits: Any, classes: Any) -> Any:
        """[batch, class], [batch] -> [batch]."""

    def token_cross_entropy(self, logits: Any, tokens: Any) -> Any:
        """[batch, step, token], [batch, step] -> [batch], the mean over tokens that are not negative."""

    def sigmoid_cross_entropy(self, logits: Any, *, target: float) -> Any:
        """[batch, 1] -> [batch], against one target for all."""

    def constant(self, value: Any) -> Any:
        """A value through which no gradient flows."""

    def product(self, left: Any, right: Any, *, transposed: bool = False) -> Any:
        """[batch, n] by [n, m], or by [m, n] that is `transposed`."""

    def sigmoid(self, value: Any) -> Any:
        """1 / (1 + exp(-value))."""

    def softplus(self, value: Any) -> Any:
        """log(1 + exp(value))."""

    def row_sum(self, value: Any) -> Any:
        """[batch, n] -> [batch]."""

    def less(self, left: Any, right: Any) -> Any:
        """1.0 where left < right, else 0.0."""


def compute_losses(protocol: StepProtocol, ops: Operations, batch: Mapping[str, Any]) -> dict[str, Any]:
    """Network -> its loss for each sample, [batch]: the gradient of a loss is for that network alone."""
    match protocol:
        case Supervised(network=name):
            return {name: ops.softmax_cross_entropy(ops.network(name)(batch["x"]), batch["y"])}
        case TokenPrediction(network=name):
            return {name: ops.token_cross_entropy(ops.network(name)(batch["x"]), batch["y"])}
        case Gan():
            return _gan(ops, batch)
        case ContrastiveDivergence():
            return {protocol.network: _contrastive_divergence(protocol, ops, batch)}


def trained_by(protocol: StepProtocol, network: str, name: str) -> bool:
    """Return whether a step of this protocol changes a network's parameter, `<node index>.<name>`."""
    match protocol:
        case Supervised() | TokenPrediction():
            return network == protocol.network and is_trained(name) and not name.endswith("visible_bias")
        case Gan():
            return is_trained(name)
        case ContrastiveDivergence():
            return network == protocol.network and name.startswith(f"{protocol.node}.")


def _gan(ops: Operations, batch: Mapping[str, Any]) -> dict[str, Any]:
    generated = ops.network("generator")(batch["latent"])
    judge, real = ops.network("discriminator"), 2 * batch["x"] - 1
    seen = ops.sigmoid_cross_entropy(judge(real), target=1.0)
    unseen = ops.sigmoid_cross_entropy(judge(ops.constant(generated)), target=0.0)
    fooled = ops.sigmoid_cross_entropy(ops.frozen("discriminator")(generated), target=1.0)
    return {"generator": fooled, "discriminator": seen + unseen}


def _contrastive_divergence(
    protocol: ContrastiveDivergence, ops: Operations, batch: Mapping[str, Any]
) -> Any:
    """Free energy of the data less that of the chain's end: its gradient is the CD-k update.

    Both ends are constants, and F(v) = -v a - sum softplus(v W + b) (Hinton 2010, section 16.1).
    """
    weights = ops.weights(protocol.network, protocol.node)
    data = ops.constant(ops.below(protocol.network, protocol.node)(batch["x"]))
    visible = data
    for step in range(protocol.k):
        visible = _gibbs(ops, weights, visible, thresholds=batch[f"uniform_{protocol.node}"][:, step])
    return _free_energy(ops, weights, data) - _free_energy(ops, weights, ops.constant(visible))


def _gibbs(ops: Operations, weights: Mapping[str, Any], visible: Any, *, thresholds: Any) -> Any:
    """One step of the chain: binary hidden states, then the visible units' probabilities."""
    hidden = ops.sigmoid(ops.product(visible, weights["kernel"]) + weights["bias"])
    states = ops.less(thresholds, hidden)
    return ops.sigmoid(ops.product(states, weights["kernel"], transposed=True) + weights["visible_bias"])


def _free_energy(ops: Operations, weights: Mapping[str, Any], visible: Any) -> Any:
    inputs = ops.product(visible, weights["kernel"]) + weights["bias"]
    return -ops.row_sum(visible * weights["visible_bias"]) - ops.row_sum(ops.softplus(inputs))
