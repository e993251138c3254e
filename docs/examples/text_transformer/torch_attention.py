"""Self-attention in PyTorch; twin of `keras_attention.py`."""

import math

import torch
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """x + attention(normalised x + position): [batch, step, unit] -> the same."""

    def __init__(self, *, length: int, units: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.gamma = nn.Parameter(torch.ones(units))
        self.beta = nn.Parameter(torch.zeros(units))
        self.position = nn.Parameter(torch.zeros(length, units))
        self.query_kernel = nn.Parameter(torch.zeros(units, units))
        self.key_kernel = nn.Parameter(torch.zeros(units, units))
        self.value_kernel = nn.Parameter(torch.zeros(units, units))
        self.output_kernel = nn.Parameter(torch.zeros(units, units))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).square().mean(-1, keepdim=True)
        normal = (x - mean) / torch.sqrt(variance + 1e-5) * self.gamma + self.beta + self.position
        query, key, value = (
            self.by_head(normal @ kernel)
            for kernel in (self.query_kernel, self.key_kernel, self.value_kernel)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        mixed = torch.softmax(scores, -1) @ value
        return x + mixed.transpose(1, 2).reshape(x.shape) @ self.output_kernel

    def by_head(self, x: Tensor) -> Tensor:
        """[batch, step, unit] -> [batch, head, step, unit / heads]."""
        batch, length, units = x.shape
        return x.reshape(batch, length, self.heads, units // self.heads).transpose(1, 2)
