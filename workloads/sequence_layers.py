"""Layers of transformers: plain values over sequences [batch, step, unit], the same in every framework."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNorm:
    """Normalisation of every step over its units, with gamma and beta (Ba, Kiros, Hinton 2016)."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class RmsNorm:
    """Division of every step by the root of its mean square, with gamma (Zhang and Sennrich 2019)."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEmbedding:
    """Adds a learned vector to every step, one for each place in the sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassToken:
    """Puts a learned vector before the sequence (Devlin et al. 2019; Dosovitskiy et al. 2021)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStep:
    """[batch, step, unit] -> [batch, unit] of the first step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSequence:
    """[batch, height, width, channel] -> [batch, height * width, channel]: patches behind a convolution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Scaled dot-product attention of several heads (Vaswani et al. 2017, section 3.2); it has no weights.

    It takes queries, keys and values as three inputs, or side by side on the last axis of one. The heads of
    each lie side by side in turn.

    Attributes:
        head_units: units of every head.
        kv_heads: heads of keys and values, which groups of queries share (Ainslie et al. 2023); None: as
            many as of queries.
        causal: True if a step attends to itself and to earlier steps only.
        rotary_base: base of the angles by which queries and keys are turned (Su et al. 2021), the first half
            of a head's units with the second; None: they are not turned.
    """

    heads: int
    head_units: int
    kv_heads: int | None = None
    causal: bool = False
    rotary_base: float | None = None

    def __post_init__(self) -> None:
        if min(self.heads, self.key_heads, self.head_units) < 1 or self.heads % self.key_heads:
            raise ValueError(f"Attention: heads={self.heads} must be a multiple of kv_heads={self.kv_heads}")
        if self.rotary_base is not None and self.head_units % 2:
            raise ValueError(f"Attention: head_units={self.head_units} must be even with rotary positions")

    @property
    def key_heads(self) -> int:
        """Number of heads of keys and of values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def widths(self) -> tuple[int, int, int]:
        """Units of queries, keys and values."""
        keys = self.key_heads * self.head_units
        return (self.heads * self.head_units, keys, keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Product of two inputs of one shape, value by value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiedDense:
    """Dense layer with the transposed table of an `Embedding` as its kernel (Press and Wolf 2017).

    Attributes:
        embedding: index of the node of that layer.
        units: its vocabulary.
    """

    embedding: int
    units: int
    bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Float32:
    """The same values in float32: the last layer of a network with logits in the trial's precision."""
