"""Builds a network in PyTorch; twin of `with_keras/network.py`."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor, nn

from workloads.initial import Array, State, draw_weights
from workloads.network import INPUT, Network
from workloads.sequence_layers import TiedDense
from workloads.shapes import find_input_shapes
from workloads.with_torch.checkpointing import Recomputation, run_checkpointed
from workloads.with_torch.layers import build_module, list_weights, move_channels_last
from workloads.with_torch.weight import Weight


class TorchNetwork(nn.Module):
    """Images [batch, height, width, channel], vectors or token ids -> the last node's output in float32.

    Images are [batch, channel, height, width] inside, channels_last in memory, and come out as they went in.

    Attributes:
        recomputation: of the repeated blocks, in the backward pass.
        blocks: a module of each repeated block; none before `make_blocks`.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.spec = network
        self.recomputation: Recomputation = "none"
        self._last_uses = network.last_uses
        self._tied = {
            index: node.layer.embedding
            for index, node in enumerate(network.nodes)
            if isinstance(node.layer, TiedDense)
        }
        inputs = find_input_shapes(network)
        self.nodes = nn.ModuleList(
            build_module(node.layer, shape) for node, shape in zip(network.nodes, inputs, strict=True)
        )
        # Beside `nodes`, whose look-ups were a fifth of a small network's time in Python.
        self._computations = [
            (index, module, node.inputs, self._last_uses[index])
            for index, (module, node) in enumerate(zip(self.nodes, network.nodes, strict=True))
        ]
        self.blocks = nn.ModuleList()
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing in torch's types

    def forward(self, inputs: Tensor) -> Tensor:
        """Compute the output of the last node."""
        last, module, sources, _ = self._computations[-1]
        values = self._values(inputs, last)
        device = inputs.device.type
        is_rounded = torch.is_autocast_enabled(device)
        with torch.autocast(device, enabled=False) if is_rounded else nullcontext():  # float32 always
            inputs_of_last = [self._float(values[source]) for source in sources]
            output: Tensor = module(*inputs_of_last, *self._tables(last))
        return move_channels_last(output)

    def below(self, inputs: Tensor, node: int) -> Tensor:
        """Return the first input of the node of that index."""
        return self._values(inputs, node)[self.spec.nodes[node].inputs[0]]

    def make_blocks(self) -> tuple[nn.Module, ...]:
        """Make a module of each repeated block, in the order of the network, which computes it from now on.

        Its parameters keep their names in the network.
        """
        self.blocks.extend(_Block(self, block) for block in self.spec.blocks)
        return tuple(self.blocks)

    def replace_node(self, node: int, module: nn.Module) -> None:
        """Compute a node by another module from now on."""
        self.nodes[node] = module
        index, _, sources, last_used = self._computations[node]
        self._computations[node] = (index, module, sources, last_used)

    def weights(self, node: int) -> Mapping[str, Weight]:
        """Parameters and moving statistics of one node, by name."""
        return list_weights(self.spec.nodes[node].layer, self.nodes[node])

    def _values(self, inputs: Tensor, count: int) -> dict[int, Tensor]:
        """Outputs of the first `count` nodes that node `count` or later ones take; the input is INPUT.

        Autograd keeps what the backward pass needs; nothing else outlives its last use.
        """
        values = {INPUT: inputs.permute(0, 3, 1, 2) if inputs.ndim == 4 else inputs}  # a channels_last view
        start = 0
        for number, block in enumerate(self.spec.blocks if self._is_divided else ()):
            self._compute(range(start, block.start), values)
            compute = self.blocks[number] if self.blocks else partial(self.compute_block, block)
            values[block[-1]] = compute(values[block.start - 1])
            if any(block.start - 1 in self._last_uses[index] for index in block):
                del values[block.start - 1]
            start = block.stop
        self._compute(range(start, count), values)
        return values

    @property
    def _is_divided(self) -> bool:
        return bool(self.blocks) or self.recomputation != "none"

    def compute_block(self, block: range, value: Tensor) -> Tensor:
        """Compute the nodes of a block of the value before it."""
        output: Tensor = run_checkpointed(self.recomputation, self._compute_nodes, block, value)
        return output

    def _compute_nodes(self, block: range, value: Tensor) -> Tensor:
        values = {block.start - 1: value}
        del value
        self._compute(block, values)
        return values[block[-1]]

    def _compute(self, indices: range, values: dict[int, Tensor]) -> None:
        """Add the outputs of nodes to the values that they take, and drop what no later node takes."""
        for index, module, sources, last_used in self._computations[indices.start : indices.stop]:
            taken = [values[source] for source in sources]
            if index in self._tied:
                taken += self._tables(index)
            values[index] = module(*taken)
            del taken
            for source in last_used:
                del values[source]

    def _tables(self, index: int) -> tuple[Tensor, ...]:
        """Return the weights of another node that a node takes."""
        if index not in self._tied:
            return ()
        embedding = self.nodes[self._tied[index]]
        assert isinstance(embedding, nn.Embedding)
        return (embedding.weight,)

    @staticmethod
    def _float(value: Tensor) -> Tensor:
        return value.float() if value.is_floating_point() else value


class _Block(nn.Module):
    """A repeated block of a network as a module of its own."""

    def __init__(self, network: TorchNetwork, block: range) -> None:
        super().__init__()
        self.nodes = nn.ModuleList(network.nodes[index] for index in block)
        self._compute = partial(network.compute_block, block)  # which does not register the network

    def forward(self, value: Tensor) -> Tensor:
        """Compute the block of the value before it."""
        return self._compute(value)


def build(network: Network, seed: int | None) -> TorchNetwork:
    """Make the network on the CPU with the initial weights of `seed`; of None, weights take no memory."""
    if seed is None:
        with torch.device("meta"):
            return TorchNetwork(network)
    model = TorchNetwork(network)
    load_arrays(model, draw_weights(network, seed))
    return model


def named_weights(model: TorchNetwork) -> dict[str, Weight]:
    """Return all parameters and moving statistics, `<node index>.<name>`, in canonical order."""
    return {
        f"{index}.{name}": weight
        for index in range(len(model.nodes))
        for name, weight in model.weights(index).items()
    }


def copy_state(model: TorchNetwork) -> State:
    """Copy them out, in canonical layout (`workloads/initial.py`)."""
    return {name: weight.array() for name, weight in named_weights(model).items()}


def load_state(model: TorchNetwork, state: State) -> None:
    """Overwrite them with a state of canonical names and layout."""
    load_arrays(model, state.items())


def load_arrays(model: TorchNetwork, arrays: Iterable[tuple[str, Array]]) -> None:
    """Overwrite them one after the other, so that arrays that are made meanwhile need not live at once."""
    weights = named_weights(model)
    for name, array in arrays:
        weights.pop(name).load(array)
    assert not weights, f"the state lacks {sorted(weights)}"
