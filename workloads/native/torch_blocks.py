"""Repeated blocks of a job's model: the parts that are recomputed, or sharded, one at a time."""

from collections import Counter
from collections.abc import Set

from torch import nn

from workloads.jobs import JobError

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
    counts = Counter(type(part) for part in model.modules() if _may_repeat(part))
    repeated = {kind for kind, count in counts.items() if count >= _LEAST}
    unsplit = {kind for kind in repeated if kind.__name__ in names}
    return _find_outermost(model, unsplit or {kind for kind, _ in counts.most_common(1)} & repeated)


def _may_repeat(part: nn.Module) -> bool:
    has_parts = next(part.children(), None) is not None
    return has_parts and not isinstance(part, _CONTAINERS) and any(True for _ in part.parameters())


def _find_outermost(part: nn.Module, kinds: Set[type[nn.Module]]) -> tuple[nn.Module, ...]:
    """Return the modules of these classes that lie in no other of them."""
    if type(part) in kinds:
        return (part,)
    found = (block for child in part.children() for block in _find_outermost(child, kinds))
    return tuple(dict.fromkeys(found))  # a shared module once
