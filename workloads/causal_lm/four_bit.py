"""Linear layers with frozen weights of 4 bits: NF4 with scales of 8 bits (Dettmers et al. 2023, "QLoRA").

bitsandbytes packs and unpacks. Its own product is one operation, whose FLOPs and temporary weights a count
does not see; with as many rows as a training has, it unpacks and multiplies too. Its own layer keeps scales
outside of the module's tensors, so that they cannot be counted, moved or sharded.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from workloads.causal_lm.libraries import import_library
from workloads.jobs import JobError

_BLOCK, _BLOCK_OF_SCALES = 64, 256  # weights of a scale, and scales of a scale: those of the paper
_TYPE = "nf4"


class _UnpackedProduct(torch.autograd.Function):
    """A product with weights that are unpacked in both passes, and not kept between them."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, unpack: Callable[[], Tensor]) -> Tensor:
        """Return `inputs @ weights.T`."""
        ctx.unpack = unpack
        return linear(inputs, unpack())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Return the gradient of the inputs; the weights are frozen."""
        return gradients[0] @ ctx.unpack(), None


PARTS = ("weight", "scales", "scale_offset", "scales_of_scales", "codes_of_scales")
"""Tensors of a packed weight, by their names in a layer."""


class FourBitLinear(nn.Linear):
    """A linear layer with a packed weight, two values in a byte.

    Everything is a frozen parameter: a checkpoint of what is trained leaves it out.
    """

    def __init__(self, layer: nn.Linear) -> None:
        nn.Module.__init__(self)  # of the other class only the name is needed: peft puts adapters beside it
        self.in_features, self.out_features = layer.in_features, layer.out_features
        parts = _shape_parts(layer.weight) if layer.weight.is_meta else pack(layer.weight.detach())
        for name, part in zip(PARTS, parts, strict=True):
            setattr(self, name, _freeze(part))
        self.bias = None if layer.bias is None else _freeze(layer.bias.detach())

    def forward(self, inputs: Tensor) -> Tensor:
        """Multiply in the type of autocast, or in that of the inputs."""
        kind = inputs.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else inputs.dtype
        product: Callable[..., Tensor] = _UnpackedProduct.apply
        outputs = product(inputs.to(dtype), lambda: self._unpack(dtype))
        return outputs if self.bias is None else outputs + self.bias.to(dtype)

    def _unpack(self, dtype: torch.dtype) -> Tensor:
        functional = import_library("bitsandbytes.functional")
        scales = functional.QuantState(
            absmax=self.scales_of_scales,
            code=self.codes_of_scales,
            blocksize=_BLOCK_OF_SCALES,
            dtype=torch.float32,
        )
        state = functional.QuantState(
            absmax=self.scales,
            shape=torch.Size((self.out_features, self.in_features)),
            dtype=dtype,
            blocksize=_BLOCK,
            quant_type=_TYPE,
            offset=self.scale_offset,
            state2=scales,
        )
        weights: Tensor = functional.dequantize_4bit(self.weight, state)
        return weights


def pack_linear_layers(model: nn.Module, *, name: str) -> None:
    """Keep the weights of all linear layers but the head in 4 bits.

    Args:
        model: a causal language model of transformers, changed in place.
        name: the model's name in messages.

    Raises:
        JobError: it has no such layer.
    """
    head = model.get_output_embeddings()  # type: ignore[operator]  # transformers' own
    layers = {
        path: part for path, part in model.named_modules() if isinstance(part, nn.Linear) and part is not head
    }
    if not layers:
        raise JobError(
            f"workload.method=qlora: {name} has no torch.nn.Linear in its blocks, so nothing can be kept in "
            "4 bits; choose lora"
        )
    for path, layer in layers.items():
        model.set_submodule(path, FourBitLinear(layer))


def pack(weights: Tensor) -> tuple[Tensor, ...]:
    """Return the `PARTS` of weights: packed, scales, the offset of the scales, theirs, what codes mean."""
    packed, state = import_library("bitsandbytes.functional").quantize_4bit(
        weights, blocksize=_BLOCK, compress_statistics=True, quant_type=_TYPE
    )
    scales = state.state2
    assert scales.blocksize == _BLOCK_OF_SCALES, "a constant of bitsandbytes"
    return packed, state.absmax, state.offset.reshape(1), scales.absmax, scales.code  # FSDP2 shards no scalar


def _shape_parts(weights: Tensor) -> tuple[Tensor, ...]:
    """Return the same without data; bitsandbytes would keep a table without data for all later weights."""
    count = weights.numel()
    scales = ceil(count / _BLOCK)
    return (
        torch.empty(ceil(count / 2), 1, dtype=torch.uint8, device="meta"),
        torch.empty(scales, dtype=torch.uint8, device="meta"),
        torch.empty(1, dtype=torch.float32, device="meta"),
        torch.empty(ceil(scales / _BLOCK_OF_SCALES), dtype=torch.float32, device="meta"),
        torch.empty(256, dtype=torch.float32, device="meta"),
    )


def _freeze(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=False)
