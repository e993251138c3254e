"""A network as a value: a graph of layers, each fed by earlier ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from workloads.layers import Embedding, Layer, Shape
from workloads.sequence_layers import TiedDense

INPUT = -1
"""The network's input, where a node's index is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One layer, and the indices of the nodes that are its inputs."""

    layer: Layer
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Nodes in an order in which they can be computed; the last one's output is the network's, in float32.

    Attributes:
        input_shape: without the batch axis.
        block_ends: first node of each repeated block, and the node behind it: nodes inside take the node
            before the block and each other, and the rest of the network takes the last one alone.
    """

    input_shape: Shape
    nodes: tuple[Node, ...]
    block_ends: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for index, node in enumerate(self.nodes):
            if not node.inputs or not all(INPUT <= source < index for source in node.inputs):
                raise ValueError(
                    f"node {index}, {node.layer}, takes {node.inputs}; it may take -1 to {index - 1}"
                )
            if isinstance(node.layer, TiedDense):
                self._require_table(index, node.layer)
        for block in self.blocks:
            self._require_closed(block)

    def _require_table(self, index: int, layer: TiedDense) -> None:
        table = self.nodes[layer.embedding].layer if 0 <= layer.embedding < index else None
        if not isinstance(table, Embedding) or table.vocabulary != layer.units:
            raise ValueError(f"node {index}, {layer}, needs an Embedding of that vocabulary before it")

    @property
    def blocks(self) -> tuple[range, ...]:
        """Indices of the nodes of each repeated block."""
        return tuple(range(*ends) for ends in self.block_ends)

    def _require_closed(self, block: range) -> None:
        """Raise ValueError for a block with an input or an output too many."""
        allowed, hidden = range(block.start - 1, block.stop), block[:-1]
        for index, node in enumerate(self.nodes):
            is_inside = index in block
            is_closed = all(one in allowed if is_inside else one not in hidden for one in node.inputs)
            if not is_closed or (is_inside and isinstance(node.layer, TiedDense)):
                raise ValueError(
                    f"node {index}, {node.layer}, takes {node.inputs}; a block of nodes {block.start} to "
                    f"{block[-1]} takes node {block.start - 1} alone and gives its last one"
                )

    @property
    def last_uses(self) -> tuple[frozenset[int], ...]:
        """Return, for every node, the nodes with outputs that no later node takes."""
        last_user = {source: index for index, node in enumerate(self.nodes) for source in node.inputs}
        return tuple(
            frozenset(source for source in node.inputs if last_user[source] == index)
            for index, node in enumerate(self.nodes)
        )

    @property
    def takes_tokens(self) -> bool:
        """True where the input is int32 token ids instead of float32 values."""
        return any(isinstance(node.layer, Embedding) and INPUT in node.inputs for node in self.nodes)


@dataclass(slots=True, kw_only=True)
class Draft:
    """A network under construction.

    `add` appends a layer and returns its node's index. Without `inputs` it takes the node before it.
    """

    input_shape: Shape
    _nodes: list[Node] = field(default_factory=list)
    _block_ends: list[tuple[int, int]] = field(default_factory=list)

    def add(self, layer: Layer, *inputs: int) -> int:
        """Append a layer that takes the outputs of `inputs`."""
        self._nodes.append(Node(layer=layer, inputs=inputs or (len(self._nodes) - 1,)))
        return len(self._nodes) - 1

    def chain(self, *layers: Layer, start: int | None = None) -> int:
        """Append layers one behind the other, the first behind `start` or the last node: the last index."""
        for layer in layers:
            start = self.add(layer, *(() if start is None else (start,)))
        return len(self._nodes) - 1 if start is None else start

    @contextmanager
    def mark_block(self) -> Iterator[None]:
        """Mark the layers that are appended within as a repeated block (`Network.block_ends`)."""
        start = len(self._nodes)
        yield
        self._block_ends.append((start, len(self._nodes)))

    def done(self) -> Network:
        """Freeze it."""
        return Network(
            input_shape=self.input_shape, nodes=tuple(self._nodes), block_ends=tuple(self._block_ends)
        )


def sequential(input_shape: Shape, *layers: Layer) -> Network:
    """Build a network of layers one behind the other."""
    draft = Draft(input_shape=input_shape)
    draft.chain(*layers)
    return draft.done()
