"""Layers of transformers as PyTorch modules over [batch, step, unit]."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from workloads.layers import Shape
from workloads.rotary import rotary_angles
from workloads.sequence_layers import Attention, LayerNorm, RmsNorm, TiedDense


class LayerNormModule(nn.Module):
    """Normalisation of every step, with gamma and beta."""

    def __init__(self, layer: LayerNorm, units: int) -> None:
        super().__init__()
        self._epsilon = layer.epsilon
        self.gamma = nn.Parameter(torch.ones(units))
        self.beta = nn.Parameter(torch.zeros(units))

    def forward(self, sequence: Tensor) -> Tensor:
        """[…, unit] -> the same."""
        return functional.layer_norm(sequence, self.gamma.shape, self.gamma, self.beta, self._epsilon)


class RmsNormModule(nn.Module):
    """Division of every step by the root of its mean square, with gamma."""

    def __init__(self, layer: RmsNorm, units: int) -> None:
        super().__init__()
        self._epsilon = layer.epsilon
        self.gamma = nn.Parameter(torch.ones(units))

    def forward(self, sequence: Tensor) -> Tensor:
        """[…, unit] -> the same."""
        return functional.rms_norm(sequence, self.gamma.shape, self.gamma, self._epsilon)


class PositionTable(nn.Module):
    """A learned vector for every place of a sequence."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(shape))

    def forward(self, sequence: Tensor) -> Tensor:
        """[batch, step, unit] -> the same."""
        return sequence + self.kernel


class ClassTokenModule(nn.Module):
    """A learned vector before every sequence."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(units))

    def forward(self, sequence: Tensor) -> Tensor:
        """[batch, step, unit] -> [batch, step + 1, unit]."""
        tokens = self.token.to(sequence.dtype).expand(len(sequence), 1, -1)
        return torch.cat((tokens, sequence), 1)


class AttentionModule(nn.Module):
    """Attention by PyTorch's own function, which chooses a fused kernel where there is one."""

    cosines: Tensor | None
    sines: Tensor | None

    def __init__(self, layer: Attention, steps: int) -> None:
        super().__init__()
        self._layer = layer
        angles = None if layer.rotary_base is None else torch.from_numpy(rotary_angles(layer, steps))
        cosines, sines = (None, None) if angles is None else (angles.cos(), angles.sin())
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)

    def forward(self, first: Tensor, *others: Tensor) -> Tensor:
        """Queries, keys and values, as three inputs or one -> [batch, step, query unit]."""
        layer = self._layer
        parts = (first, *others) if others else torch.split(first, list(layer.widths), -1)
        counts = (layer.heads, layer.key_heads, layer.key_heads)
        query, key, value = (
            part.view(*part.shape[:2], count, layer.head_units).transpose(1, 2)
            for part, count in zip(parts, counts, strict=True)
        )
        query, key = self._turned(query), self._turned(key)
        if layer.key_heads < layer.heads:  # repeated here: few fused kernels of CUDA take shared heads
            shared = layer.heads // layer.key_heads
            key, value = (part.repeat_interleave(shared, 1) for part in (key, value))
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=layer.causal)
        return attended.transpose(1, 2).flatten(2)

    def _turned(self, heads: Tensor) -> Tensor:
        """[batch, head, step, unit] -> the same, turned by the angles of every step."""
        if self.cosines is None or self.sines is None:
            return heads
        low, high = heads.chunk(2, -1)
        turned = (low * self.cosines - high * self.sines, high * self.cosines + low * self.sines)
        return torch.cat(turned, -1).to(heads.dtype)


class TiedLogits(nn.Module):
    """Product with a table that another module keeps."""

    def __init__(self, layer: TiedDense) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(layer.units)) if layer.bias else None

    def forward(self, sequence: Tensor, table: Tensor) -> Tensor:
        """[…, unit] by [vocabulary, unit] -> […, vocabulary]."""
        return functional.linear(sequence, table, self.bias)
