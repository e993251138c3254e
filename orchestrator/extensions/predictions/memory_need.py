"""Least memory that a training step takes on one replica, from analytic counts alone. Pure.

At the end of the forward pass a replica holds its weights, the optimizer's slots, and the values that the
backward pass reads. Before the update it holds weights, slots and gradients. The larger of the two is a lower
bound for every framework that keeps what it reads again. Workspaces, the framework's own memory and
fragmentation come on top of it.
"""

import math
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass

from orchestrator.core.device import Device
from orchestrator.core.memory_fit import (
    CONTEXT_BYTES,
    COUNTED,
    DRIVER_SHARE,
    EXCHANGE_BYTES,
    LEAST_CONTEXT_BYTES,
    NOT_COUNTED,
    MemoryDoubt,
    NoFit,
    Verdict,
)
from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings, Recomputation
from orchestrator.train.precision import PRECISIONS
from workloads.layers import Dense, Embedding
from workloads.network import INPUT, Network
from workloads.sequence_layers import Attention
from workloads.shapes import find_shapes, list_parameters, network_parameters
from workloads.spec import ContrastiveDivergence, TokenPrediction, Workload
from workloads.traffic import count_slots, num_weights

LARGER_OR_SMALLER = "a device with more memory, or a smaller network"
_GIB = 2**30
_MOST_OF_DECLARED, _MOST_OF_LANGUAGE = 1.6, 1.85
"""Peak over the least bytes: at most 1.50 of steps of a GiB and more on an H100, where cuDNN searched for no
workspace in free memory (`benchmarks/measured/`), and 1.80 of counted shards of Llama 3 8B, by its logits."""

_MARGIN, _MOST_OF_MOVED = 1.15, 0.4
"""Shares for a job without counted activations: (tensors - least) / moved is 0.05 to 0.34 of `causal_lm`, and
its least bytes get the margin of a count: docs/findings/prediction_accuracy.md."""

_WEIGHT_BYTES = 4  # weights, their gradients and slots are float32 at every precision
_LOGIT_BYTES = 8  # of each token and word: its logit in float32 and the gradient, which a loss holds at once


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Least bytes on one replica, predicted by counting, beside what the device has.

    Attributes:
        weight_bytes, gradient_bytes, slot_bytes: those of its shards, where they are sharded.
        gathered_bytes: of shards, weights that are whole at once: those of no block, and of the largest one.
        activation_bytes: values that the backward pass reads, of one pass of one replica.
        sample_bytes: activations of one sample.
        replicas: replicas that share the global batch.
        share: samples of one replica.
        passes: micro batches of a replica; from the second on, gradients are held beside activations.
        capacity_bytes: memory of the device; None: unknown, or a TPU, where the compiler has it.
        added_bytes: least that CUDA's context and the exchange between replicas take beside all of these.
        moved_bytes: of a job without counted activations, what a pass of one replica reads and writes.
        most_share: peak over the least bytes, of known steps at most.
        counted: what `plan` found out about the very step, which decides; None: it was not asked.
    """

    weight_bytes: int
    gradient_bytes: int
    slot_bytes: int
    activation_bytes: int
    sample_bytes: int
    replicas: int
    share: int
    passes: int
    capacity_bytes: float | None
    gathered_bytes: int = 0
    added_bytes: int = 0
    moved_bytes: float = 0.0
    most_share: float = _MOST_OF_DECLARED
    counted: Verdict | NoFit | None = None

    @property
    def least_bytes(self) -> int:
        """Bytes that are held at once in any case."""
        held = self.weight_bytes + self.slot_bytes
        backward = self.activation_bytes + self.gathered_bytes
        if self.passes > 1:
            return held + self.gradient_bytes + backward
        return held + max(backward, self.gradient_bytes)

    @property
    def room_bytes(self) -> float | None:
        """Bytes that the device has at most beside those that are added; None: unknown."""
        return None if self.capacity_bytes is None else self.capacity_bytes - self.added_bytes

    @property
    def fits(self) -> bool | None:
        """Return False where it is sure that the step does not fit; None without a capacity."""
        if isinstance(self.counted, Verdict):
            return self.counted.fits
        return None if self.room_bytes is None else self.least_bytes <= self.room_bytes

    @property
    def is_tight(self) -> bool:
        """Return whether the step may not fit, although the least bytes do."""
        if isinstance(self.counted, Verdict):
            return self.counted.fits and not self.counted.is_sure_to_fit
        added = self.added_bytes - LEAST_CONTEXT_BYTES + CONTEXT_BYTES
        return bool(self.fits) and self.most_bytes + added > DRIVER_SHARE * (self.capacity_bytes or 0)

    @property
    def most_bytes(self) -> float:
        """Bytes that known steps took at most, by what is counted of them."""
        return self.most_share * self.least_bytes + _MOST_OF_MOVED * self.moved_bytes

    @property
    def doubt(self) -> MemoryDoubt:
        """Return why the step may not fit; empty: nothing is known against it."""
        if not self.is_tight:
            return ""
        return "not counted" if self.counted == NOT_COUNTED else "tight"

    def describe_misfit(self, device: str) -> str:
        """Explain that the step surely does not fit; empty where it may fit."""
        return self._describe(device) if self.fits is False else ""

    def describe_doubt(self, device: str) -> str:
        """Explain why a step that is tight may not fit."""
        if isinstance(self.counted, Verdict):
            return self.counted.words(device)
        cure = "; `plan` counts it" if self.doubt == "not counted" else ""
        return f"memory not counted: {self._describe(device)}{cure}"

    def _describe(self, device: str) -> str:
        if isinstance(self.counted, Verdict):
            return self.counted.words(device)
        least, capacity = self.least_bytes / _GIB, (self.capacity_bytes or 0) / _GIB
        return f"a replica needs at least {least:.1f} GiB, {device} has {capacity:.1f} GiB {COUNTED}"

    @property
    def largest_batch(self) -> int | None:
        """Largest global batch of one pass for which the least bytes fit, 0: none; None: unknown."""
        if self.room_bytes is None or not self.sample_bytes:
            return None
        fixed = self.weight_bytes + self.slot_bytes
        if fixed + self.gradient_bytes > self.room_bytes:
            return 0
        fixed += self.gathered_bytes + (self.gradient_bytes if self.passes > 1 else 0)
        return max(0, int((self.room_bytes - fixed) // self.sample_bytes)) * self.replicas

    @property
    def largest_micro_batch(self) -> int | None:
        """Largest part of a share that divides it and has room at least, 0: none; None: unknown."""
        if self.room_bytes is None or not self.sample_bytes:
            return None
        fixed = self.weight_bytes + self.slot_bytes + self.gradient_bytes + self.gathered_bytes
        most = min(int((self.room_bytes - fixed) // self.sample_bytes), self.share // 2)
        return next((size for size in range(most, 0, -1) if self.share % size == 0), 0)


def count_memory_need(
    spec: Workload,
    *,
    device: Device,
    precision: str,
    replicas: int,
    shards: int = 1,
    global_batch_size: int,
    memory_settings: MemorySettings = DEFAULT_MEMORY,
) -> MemoryNeed | None:
    """Count it; None for a script, whose operations are unknown. Activations of a native job do not count."""
    gathered, moved, most_share = 0.0, 0.0, _MARGIN
    if spec.networks:
        phase, names = spec.phases[-1], spec.phases[-1].optimizers
        is_language = isinstance(phase.protocol, TokenPrediction)
        most_share = _MOST_OF_LANGUAGE if is_language else _MOST_OF_DECLARED
        weights = sum(
            math.prod(shape) for name in names for shape in network_parameters(spec.networks[name]).values()
        )
        slots = sum(count_slots(how) * num_weights(spec.networks[name]) for name, how in names.items())
        learns_backwards = not isinstance(phase.protocol, ContrastiveDivergence)
        gradients = sum(num_weights(spec.networks[name]) for name in names) if learns_backwards else 0
        recomputation = memory_settings.activation_checkpointing
        sample_bytes = _sample_bytes(spec, precision, recomputation) if learns_backwards else 0
        gathered = sum(_count_gathered(spec.networks[name]) for name in names)
    elif cost := next(iter(spec.costs.values()), None):
        weights = round(cost.held_bytes / _WEIGHT_BYTES) or cost.num_weights
        gradients = round(cost.trained_bytes / _WEIGHT_BYTES) or cost.num_weights
        slots, sample_bytes = round(cost.slot_bytes / _WEIGHT_BYTES), 0
        moved = cost.step_bytes(1, value_bytes=PRECISIONS[precision].value_bytes) - cost.weight_bytes
        gathered = max(0.0, cost.held_bytes - cost.blocks.weight_bytes) / _WEIGHT_BYTES if cost.blocks else 0
    else:
        return None
    passes = memory_settings.count_passes(global_batch_size // replicas)
    samples = math.ceil(global_batch_size / replicas / passes)
    return MemoryNeed(
        weight_bytes=_WEIGHT_BYTES * weights // shards,
        gradient_bytes=_WEIGHT_BYTES * gradients // shards,
        slot_bytes=_WEIGHT_BYTES * slots // shards,
        activation_bytes=samples * sample_bytes,
        sample_bytes=sample_bytes,
        replicas=replicas,
        share=global_batch_size // replicas,
        passes=passes,
        capacity_bytes=device.memory_bytes,
        gathered_bytes=round(_WEIGHT_BYTES * gathered) if shards > 1 else 0,
        moved_bytes=samples * moved,
        most_share=most_share,
        added_bytes=LEAST_CONTEXT_BYTES + (EXCHANGE_BYTES if replicas > 1 else 0),
    )


def _count_gathered(network: Network) -> int:
    """Count the parameters of no block, and of the largest one."""
    blocks = {index: number for number, block in enumerate(network.blocks) for index in block}
    sizes: Counter[int | None] = Counter()
    for name, shape in network_parameters(network).items():
        sizes[blocks.get(int(name.partition(".")[0]))] += math.prod(shape)
    rest = sizes.pop(None, 0)
    return rest + max(sizes.values(), default=0)


def _sample_bytes(spec: Workload, precision: str, recomputation: Recomputation) -> int:
    """Count what one sample leaves for the backward pass; a generator's step runs both of its networks."""
    phase, value_bytes = spec.phases[-1], PRECISIONS[precision].value_bytes
    output_bytes = _LOGIT_BYTES if isinstance(phase.protocol, TokenPrediction) else value_bytes
    networks = (spec.networks[name] for name in phase.optimizers)
    return sum(_kept_bytes(one, recomputation, value_bytes, output_bytes) for one in networks)


def _kept_bytes(network: Network, recomputation: Recomputation, value_bytes: int, output_bytes: int) -> int:
    """Count the distinct arrays that layers with weights and attention take, and the network's output.

    Other layers may work in place, or need a mask of their output alone. Ids of tokens are left out. Of
    blocks that are computed again their inputs are kept, and the most is held before or in the last one.
    """
    shapes = find_shapes(network)

    def find_shape(index: int) -> tuple[int, ...]:
        return network.input_shape if index == INPUT else shapes[index]

    output = len(network.nodes) - 1
    kept = {output}
    for node in network.nodes:
        if isinstance(node.layer, Embedding):
            continue
        if isinstance(node.layer, Attention) or list_parameters(node.layer, find_shape(node.inputs[0])):
            kept.update(node.inputs)
    held = kept if recomputation == "none" else _find_held(network, kept, recomputation)
    end = network.blocks[-1].stop if network.blocks else len(network.nodes)
    last = kept.intersection(network.blocks[-1]) if network.blocks else set()

    def count(indices: Set[int]) -> int:
        return sum(
            (output_bytes if index == output else value_bytes) * math.prod(find_shape(index))
            for index in indices
        )

    return max(count(held), count(last.union(index for index in held if index < end)))


def _find_held(network: Network, kept: Set[int], recomputation: Recomputation) -> set[int]:
    """Return the nodes with outputs that live until the backward pass of blocks that are computed again."""
    held = set(kept) - {index for block in network.blocks for index in block[:-1]}
    held |= {block.start - 1 for block in network.blocks}
    if recomputation == "selective":
        for block in network.blocks:
            products = [index for index in block if isinstance(network.nodes[index].layer, Dense)]
            attention = [index for index in block if isinstance(network.nodes[index].layer, Attention)]
            held.update(products[::2], attention)
    return held
