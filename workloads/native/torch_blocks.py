"""Repeated blocks of a job's model: the parts that are recomputed, or sharded, one at a time."""

from collections import Counter
from collections.abc import Set
from functools import partial

from torch import nn

from workloads.jobs import JobError, TorchJob
from workloads.with_torch.checkpointing import Recomputation, run_checkpointed

_CONTAINERS = (nn.ModuleList, nn.ModuleDict)  # without a forward pass of their own
_LEAST = 2


def find_blocks(model: nn.Module, classes: tuple[type[nn.Module], ...] = ()) -> tuple[nn.Module, ...]:
    """Return the blocks of a model in its order; none where nothing is repeated.

    Args:
        classes: classes of the blocks. None: those of Hugging Face's `_no_split_modules`, else the class of
            modules with parts that is repeated most; of two as frequent ones the outer.

    Raises:
        JobError: the model has no module of a class.
    """
    for kind in classes:
        if not any(isinstance(module, kind) for module in model.modules()):
            raise JobError(f"blocks names {kind.__name__}, and the model has no module of that class")
    if classes:
        return _find_outermost(model, {type(one) for one in model.modules() if isinstance(one, classes)})
    names = {name for part in model.modules() for name in getattr(part, "_no_split_modules", None) or ()}
    counts = Counter(type(part) for part in model.modules() if part is not model and _may_repeat(part))
    unsplit = {kind for kind in counts if kind.__name__ in names}
    tried = (
        _find_outermost(model, kinds) for kinds in (unsplit, *({kind} for kind, _ in counts.most_common()))
    )
    return next((blocks for blocks in tried if len(blocks) >= _LEAST), ())


def recompute_blocks(job: TorchJob, mode: Recomputation) -> None:
    """Compute the blocks again in the backward pass; names and classes stay, in copies of the model too."""
    for block in find_blocks(job.model, job.blocks) if mode != "none" else ():
        block.forward = partial(run_checkpointed, mode, block.forward)


def _may_repeat(part: nn.Module) -> bool:
    has_parts = next(part.children(), None) is not None
    return has_parts and not isinstance(part, _CONTAINERS) and any(True for _ in part.parameters())


def _find_outermost(model: nn.Module, kinds: Set[type[nn.Module]]) -> tuple[nn.Module, ...]:
    """Return the parts of these classes that lie in no other of them."""
    found = ((part,) if type(part) in kinds else _find_outermost(part, kinds) for part in model.children())
    return tuple(dict.fromkeys(block for blocks in found for block in blocks))  # a shared module once
