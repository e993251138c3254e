"""Activation checkpointing: what is computed again in the backward pass instead of being kept.

Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost". The selective choice is that of torchtitan
for single operations: `_scaled_dot_product_…` and every second matrix product are kept.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)

Recomputation = Literal["none", "full", "selective"]

_aten = torch.ops.aten

PRODUCTS = (_aten.mm.default, _aten.addmm.default)
"""Matrix products; every second one of a block is kept."""

ATTENTIONS = (
    _aten._scaled_dot_product_flash_attention.default,
    _aten._scaled_dot_product_flash_attention_for_cpu.default,
    _aten._scaled_dot_product_efficient_attention.default,
    _aten._scaled_dot_product_cudnn_attention.default,
)
"""Fused kernels of attention; they are kept, unless they draw a dropout."""


def run_checkpointed(mode: Recomputation, function: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    """Call a function whose values are not kept for the backward pass, which computes them again.

    Random draws and autocast are the same both times. `selective` keeps products and attention.
    """
    if mode == "none" or not torch.is_grad_enabled():
        return function(*args, **named)
    chosen: dict[str, Any] = {"context_fn": _make_contexts} if mode == "selective" else {}
    return checkpoint(function, *args, use_reentrant=False, **chosen, **named)


def _make_contexts() -> Any:
    """Return the contexts of the two passes of one call."""
    choose = partial(_choose, Counter())
    return create_selective_checkpoint_contexts(choose)  # type: ignore[no-untyped-call]  # torch's own


def _choose(
    counts: Counter[bool], context: SelectiveCheckpointContext, operation: Any, *args: Any, **named: Any
) -> CheckpointPolicy:
    """Decide on one operation; both passes count their products from the first one on."""
    if operation in PRODUCTS:
        counts[context.is_recompute] += 1
        is_kept = counts[context.is_recompute] % 2 == 1
    else:
        is_kept = operation in ATTENTIONS and not _find_dropout(operation, args, named)
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE


def _find_dropout(operation: Any, args: Sequence[Any], named: Mapping[str, Any]) -> float:
    """Return the dropout of an attention; a kept draw would shift all later ones of the second pass."""
    names = [argument.name for argument in operation._schema.arguments]
    index = names.index("dropout_p")
    return float(args[index] if len(args) > index else named.get("dropout_p", 0.0))
