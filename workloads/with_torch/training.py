"""The losses of one phase as a PyTorch module: what every torch trainer runs, wraps and compiles."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from workloads.data.split import IGNORED
from workloads.protocols import compute_losses, trained_by
from workloads.spec import Adam, AdamW, Optimizer, Phase, Quality, Sgd, WarmupCosine, WorkloadSpec
from workloads.with_torch.checkpointing import Recomputation
from workloads.with_torch.float8 import convert_linear_layers
from workloads.with_torch.network import TorchNetwork, build, copy_state, named_weights


class Networks(nn.ModuleDict):
    """The networks of a workload by name, on the CPU, with the initial weights of a seed, or without any."""

    def __init__(self, spec: WorkloadSpec, seed: int | None) -> None:
        super().__init__({name: build(network, seed) for name, network in spec.networks.items()})

    def named(self) -> Iterator[tuple[str, TorchNetwork]]:
        """Each network."""
        for name, network in self.items():
            assert isinstance(network, TorchNetwork)
            yield name, network

    def recompute_blocks(self, mode: Recomputation) -> None:
        """Compute the repeated blocks again in the backward pass."""
        for _, network in self.named():
            network.recomputation = mode

    def multiply_in_float8(self, *, emulates: bool) -> None:
        """Let linear layers but a network's last one multiply in float8. Raises JobError without any."""
        with_weights = ([one for one in network.nodes if [*one.parameters()]] for _, network in self.named())
        heads = [nodes[-1] for nodes in with_weights]
        convert_linear_layers(self, heads=heads, emulates=emulates)
        for _, network in self.named():
            for node, module in enumerate(network.nodes):
                network.replace_node(node, module)

    def state(self) -> dict[str, Any]:
        """`<network>.<node index>.<name>` -> array, in canonical layout."""
        return {
            f"{name}.{key}": array
            for name, network in self.named()
            for key, array in copy_state(network).items()
        }

    def train_in(self, phase: Phase) -> dict[str, list[nn.Parameter]]:
        """Let gradients reach what the phase trains, and nothing else: its parameters, by network."""
        trained: dict[str, list[nn.Parameter]] = {}
        for name, network in self.named():
            chosen = {
                id(tensor)
                for key, weight in named_weights(network).items()
                if name in phase.optimizers and trained_by(phase.protocol, name, key)
                for tensor in weight.tensors
            }
            for parameter in network.parameters():
                parameter.requires_grad_(id(parameter) in chosen)
            trained[name] = [parameter for parameter in network.parameters() if parameter.requires_grad]
        return {name: trained[name] for name in phase.optimizers}


class Losses(nn.Module):
    """batch -> mean loss of each network over this process's samples."""

    def __init__(self, networks: Networks, phase: Phase) -> None:
        super().__init__()
        self.networks = networks
        self._operations = _Operations(networks)
        self._protocol = phase.protocol

    def forward(self, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Scalars, by network."""
        losses = compute_losses(self._protocol, self._operations, batch)
        return {name: loss.mean() for name, loss in losses.items()}


def split_batch(batch: Mapping[str, Tensor], passes: int) -> list[dict[str, Tensor]]:
    """Split a batch into micro batches of equal size, in the order of its samples."""
    if passes == 1:
        return [dict(batch)]
    chunks = {name: tensor.chunk(passes) for name, tensor in batch.items()}
    return [{name: parts[number] for name, parts in chunks.items()} for number in range(passes)]


def build_optimizer(optimizer: Optimizer, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """PyTorch's optimizer of a declared one."""
    match optimizer:
        case Sgd():
            return torch.optim.SGD(parameters, lr=optimizer.learning_rate, momentum=optimizer.momentum)
        case Adam():
            betas = (optimizer.beta_1, optimizer.beta_2)
            return torch.optim.Adam(parameters, lr=optimizer.learning_rate, betas=betas)
        case AdamW():
            return _adamw(optimizer, parameters)


def _adamw(optimizer: AdamW, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    groups = [
        {"params": [one for one in parameters if (one.ndim > 1) == decays], "weight_decay": weight_decay}
        for decays, weight_decay in ((True, optimizer.weight_decay), (False, 0.0))
    ]
    made = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=optimizer.learning_rate,
        betas=(optimizer.beta_1, optimizer.beta_2),
    )
    if optimizer.schedule is not None:
        made.register_step_pre_hook(_Schedule(optimizer.schedule, optimizer.learning_rate))
    return made


class _Schedule:
    """Sets the learning rate of every step of an optimizer; it goes on from the steps of a restored state."""

    def __init__(self, schedule: WarmupCosine, learning_rate: float) -> None:
        self._schedule, self._learning_rate = schedule, learning_rate
        self._step: int | None = None

    def __call__(self, optimizer: torch.optim.Optimizer, _arguments: Any, _options: Any) -> None:
        if self._step is None:
            self._step = next((int(slots["step"]) for slots in optimizer.state.values() if slots), 0)
        for group in optimizer.param_groups:
            group["lr"] = self._learning_rate * self._schedule.share_at(self._step)
        self._step += 1


def evaluated(network: nn.Module, quality: Quality, arrays: Mapping[str, Tensor]) -> Tensor:
    """Return what the measure of a quality is given, of one batch on the network's device."""
    outputs: Tensor = network(arrays[quality.reads])
    if not quality.of_tokens:
        return outputs
    tokens = arrays["y"].long()
    losses = _token_losses(outputs, tokens)
    return torch.stack((losses, (outputs.argmax(-1) == tokens).to(losses.dtype)), -1)


def _token_losses(logits: Tensor, tokens: Tensor) -> Tensor:
    """[batch, step, token], [batch, step] -> [batch, step]; 0 where a token is negative."""
    losses = functional.cross_entropy(
        logits.flatten(0, 1), tokens.flatten(), ignore_index=IGNORED, reduction="none"
    )
    return losses.view_as(tokens)


class _Operations:
    """PyTorch operations that the step protocols need."""

    def __init__(self, networks: Networks) -> None:
        self._networks = dict(networks.named())

    def network(self, name: str) -> Callable[[Tensor], Tensor]:
        return self._networks[name]

    def frozen(self, name: str) -> Callable[[Tensor], Tensor]:
        model = self._networks[name]
        weights = {key: parameter.detach() for key, parameter in model.named_parameters()}
        return partial(torch.func.functional_call, model, weights)

    def below(self, name: str, node: int) -> Callable[[Tensor], Tensor]:
        return partial(self._networks[name].below, node=node)

    def weights(self, name: str, node: int) -> Mapping[str, Tensor]:
        return {key: weight.canonical() for key, weight in self._networks[name].weights(node).items()}

    def softmax_cross_entropy(self, logits: Tensor, classes: Tensor) -> Tensor:
        return functional.cross_entropy(logits, classes, reduction="none")

    def token_cross_entropy(self, logits: Tensor, tokens: Tensor) -> Tensor:
        losses = _token_losses(logits, tokens)
        return losses.sum(1) / (tokens != IGNORED).sum(1)

    def sigmoid_cross_entropy(self, logits: Tensor, *, target: float) -> Tensor:
        targets = torch.full_like(logits, target)
        return functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")[:, 0]

    def constant(self, value: Tensor) -> Tensor:
        return value.detach()

    def product(self, left: Tensor, right: Tensor, *, transposed: bool = False) -> Tensor:
        return (left @ (right.t() if transposed else right)).float()

    def sigmoid(self, value: Tensor) -> Tensor:
        return torch.sigmoid(value)

    def softplus(self, value: Tensor) -> Tensor:
        return functional.softplus(value)

    def row_sum(self, value: Tensor) -> Tensor:
        return value.sum(1)

    def less(self, left: Tensor, right: Tensor) -> Tensor:
        return (left < right).float()
