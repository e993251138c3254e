"""Blocks of transformers, and the knobs that the bundled ones share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workloads.layers import Activation, Add, Dense, Dropout, Initializer, Layer
from workloads.names import unknown_name
from workloads.network import Draft, Network
from workloads.sequence_layers import Attention, LayerNorm, Product, RmsNorm
from workloads.spec import AdamW, WarmupCosine
from workloads.traffic import num_weights

_TOKENS_PER_WEIGHT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A published size of a transformer, or one for a CPU.

    Attributes:
        hidden: units of the feed-forward layers.
        length: steps of a sequence, or pixels of an image's side.
        vocabulary: token ids; 0 where the input is an image.
        kv_heads: heads of keys and values; None: as many as of queries.
        patch: pixels of a patch's side; 0 where the input is text.
        rotary_base, is_tied: as the size was published, where its family has several.
        learning_rate: highest learning rate that its authors or their followers train it with.
    """

    layers: int
    heads: int
    units: int
    hidden: int
    length: int
    learning_rate: float
    vocabulary: int = 0
    kv_heads: int | None = None
    patch: int = 0
    rotary_base: float = 10_000.0
    is_tied: bool = False

    @property
    def head_units(self) -> int:
        """Units of every head."""
        return self.units // self.heads


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerOptions:
    """Knobs of a transformer and its optimizer, AdamW.

    Attributes:
        size: name of a size; `tiny` suits a CPU.
        dropout: share of the values in front of every residual sum that a training step leaves out;
            attention weights are never left out.
        learning_rate: highest learning rate; 0: that of the size.
        weight_decay: decay of matrices, in learning rates a step.
        warmup_steps: steps in which the learning rate rises.
        decay_steps: step at which the cosine fall to a tenth ends; 0: it does not fall.
    """

    size: str = "tiny"
    dropout: float = 0.0
    learning_rate: float = 0.0
    weight_decay: float = 0.1
    warmup_steps: int = 20
    decay_steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageOptions(TransformerOptions):
    """The same, of a model of token ids.

    Attributes:
        sequence_length: steps of a sequence; 0: that of the size.
    """

    sequence_length: int = 0


def choose_size(name: str, options: TransformerOptions, sizes: Mapping[str, Size]) -> Size:
    """Return the size that the options name.

    Raises:
        ValueError: it is unknown, or another knob is out of range.
    """
    if options.size not in sizes:
        raise unknown_name(f"{name} size", options.size, known=sizes)
    if not 0 <= options.dropout < 1:
        raise ValueError(f"{name} dropout={options.dropout} must lie in [0, 1)")
    for knob in ("learning_rate", "weight_decay"):
        if not 0 <= getattr(options, knob) < math.inf:
            raise ValueError(f"{name} {knob}={getattr(options, knob)} must be at least 0 and finite")
    return sizes[options.size]


def find_length(name: str, options: LanguageOptions, size: Size) -> int:
    """Return the steps of a sequence. Raises ValueError for less than two."""
    length = options.sequence_length or size.length
    if length < 2:
        raise ValueError(f"{name} sequence_length={length} must be at least 2, or 0 for {size.length}")
    return length


def optimal_tokens(network: Network) -> int:
    """Return the tokens of a training that no one states: 20 for each parameter.

    Hoffmann et al. 2022, "Training Compute-Optimal Large Language Models", table 3.
    """
    return _TOKENS_PER_WEIGHT * num_weights(network)


def adamw(options: TransformerOptions, size: Size, *, beta_2: float) -> AdamW:
    """Return the optimizer that the options describe."""
    return AdamW(
        learning_rate=options.learning_rate or size.learning_rate,
        beta_2=beta_2,
        weight_decay=options.weight_decay,
        schedule=WarmupCosine(warmup_steps=options.warmup_steps, decay_steps=options.decay_steps),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of attention and feed-forward layers.

    Attributes:
        gain: factor of the initial deviation in front of every residual sum.
    """

    size: Size
    activation: Literal["gelu", "gelu_tanh"]
    initializer: Initializer
    epsilon: float
    dropout: float
    causal: bool = False
    gain: float = 1.0

    def before(self, draft: Draft) -> None:
        """Append the block with its normalisation before each half, as GPT-2 and ViT have it."""
        with draft.mark_block():
            for half in (self._attention(), self._feed_forward()):
                _residual(draft, LayerNorm(epsilon=self.epsilon), *half)

    def behind(self, draft: Draft) -> None:
        """Append the block with its normalisation behind each sum, as BERT has it."""
        with draft.mark_block():
            for half in (self._attention(), self._feed_forward()):
                _residual(draft, *half)
                draft.add(LayerNorm(epsilon=self.epsilon))

    def _attention(self) -> list[Layer]:
        size = self.size
        queries = Dense(units=3 * size.units, initializer=self.initializer)
        attention = Attention(heads=size.heads, head_units=size.head_units, causal=self.causal)
        return [queries, attention, *self._end()]

    def _feed_forward(self) -> list[Layer]:
        first = Dense(units=self.size.hidden, initializer=self.initializer)
        return [first, Activation(kind=self.activation), *self._end()]

    def _end(self) -> list[Layer]:
        last = Dense(units=self.size.units, initializer=self.initializer, gain=self.gain)
        return [last, *dropped(self.dropout)]


def gated_block(draft: Draft, size: Size, *, dropout: float, epsilon: float) -> None:
    """Append a block as Llama has it: RMS norms, rotary positions, SwiGLU (Shazeer 2020), no bias."""
    attention = Attention(
        heads=size.heads,
        head_units=size.head_units,
        kv_heads=size.kv_heads,
        causal=True,
        rotary_base=size.rotary_base,
    )
    with draft.mark_block():
        start = draft.chain()
        norm = draft.add(RmsNorm(epsilon=epsilon))
        parts = [draft.add(_plain(width), norm) for width in attention.widths]
        draft.add(attention, *parts)
        start = draft.add(Add(), start, draft.chain(_plain(size.units), *dropped(dropout)))
        norm = draft.add(RmsNorm(epsilon=epsilon))
        gate = draft.chain(_plain(size.hidden), Activation(kind="swish"))
        draft.add(Product(), gate, draft.add(_plain(size.hidden), norm))
        draft.add(Add(), start, draft.chain(_plain(size.units), *dropped(dropout)))


def dropped(rate: float) -> list[Layer]:
    """Return a dropout layer, or nothing at a rate of 0."""
    return [Dropout(rate=rate)] if rate else []


def _plain(units: int) -> Dense:
    return Dense(units=units, bias=False, initializer="bert")


def _residual(draft: Draft, *layers: Layer) -> None:
    start = draft.chain()
    draft.add(Add(), start, draft.chain(*layers))
