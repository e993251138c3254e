"""Counts over a model of many equal blocks, from counts over its first few blocks."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

_LEAST = 8  # blocks from which fewer are counted

_OF_EVERY_MODULE = frozenset(nn.Module().__dict__)

Counts = Mapping[str, int]


def find_equal_list(model: nn.Module, blocks: Sequence[nn.Module]) -> nn.ModuleList | None:
    """Return the list of a model's blocks; None unless there are many, and they are equal.

    Equal blocks have parts of the same classes, with the same shapes and attributes. Numbers may count the
    blocks. An attribute that cannot be compared makes blocks unequal.
    """
    lists = (part for part in model.modules() if isinstance(part, nn.ModuleList))
    found = next((part for part in lists if [*part] == [*blocks]), None)
    if found is None or len(found) < _LEAST:
        return None
    values = [dict(_describe_block(block)) for block in found]
    is_equal = all(one.keys() == values[0].keys() for one in values) and all(
        _are_equal([one[name] for one in values]) for name in values[0]
    )
    return found if is_equal else None


def count_all(
    blocks: nn.ModuleList,
    optimizers: Iterable[torch.optim.Optimizer],
    count: Callable[[], Counts],
    *,
    depths: tuple[int, int, int],
) -> Counts:
    """Return the counts over all blocks. Raises ValueError where they do not grow by the same with each.

    The model has fewer blocks from then on, and the optimizers their weights alone. What a step takes at one
    point of it grows by the same with each of equal blocks; so does the most of a part of the step at the
    points of which it grows alike.

    Args:
        count: counts of the model with fewer blocks. A name that is absent with the fewest is not checked.
        depths: numbers of blocks that are counted, each one less than the one before.
    """
    depth, found = len(blocks), []
    for kept in depths:
        _keep(blocks, kept, optimizers)
        found.append(count())
    growth = {name: found[0][name] - found[1][name] for name in found[0]}
    if any(found[1][name] - fewest != growth[name] for name, fewest in found[2].items()):
        raise ValueError("the counts do not grow by the same with each block")
    return {name: most + (depth - depths[0]) * growth[name] for name, most in found[0].items()}


def mark_parts(blocks: nn.ModuleList, mark: Callable[[str], None]) -> None:
    """Call with the name of each part of a step as it begins: of the first, the last and other blocks.

    The memory of a part's points grows alike with the number of blocks. The first block may lack a gradient
    of its input, and the last one is followed by the loss.
    """
    for number, block in enumerate(blocks):
        block.register_forward_pre_hook(partial(_enter, mark, blocks, number), with_kwargs=True)
        block.register_forward_hook(partial(_leave, mark, blocks, number))


def _enter(
    mark: Callable[[str], None],
    blocks: nn.ModuleList,
    number: int,
    _block: nn.Module,
    inputs: Any,
    named: Any,
) -> None:
    mark(f"forward {_name_place(number, len(blocks))}")
    if number == 0:
        _at_gradient((*inputs, *named.values()), partial(mark, "after backward"))


def _leave(
    mark: Callable[[str], None],
    blocks: nn.ModuleList,
    number: int,
    _block: nn.Module,
    _inputs: Any,
    output: Any,
) -> None:
    mark("after forward")
    place = _name_place(number, len(blocks))
    _at_gradient(output if isinstance(output, tuple) else (output,), partial(mark, f"backward {place}"))


def _name_place(number: int, count: int) -> str:
    return "first" if number == 0 else "last" if number == count - 1 else "between"


def _at_gradient(values: Iterable[Any], begin: Callable[[], None]) -> None:
    """Call when the gradient of the first of these tensors that gets one is known."""
    tensors = (value for value in values if isinstance(value, Tensor) and value.requires_grad)
    if (tensor := next(tensors, None)) is not None:
        tensor.register_hook(lambda _: begin())  # type: ignore[no-untyped-call]  # torch's own


def _keep(blocks: nn.ModuleList, kept: int, optimizers: Iterable[torch.optim.Optimizer]) -> None:
    dropped = {weight for block in blocks[kept:] for weight in block.parameters()}
    del blocks[kept:]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["params"] = [weight for weight in group["params"] if weight not in dropped]
        for weight in dropped:
            optimizer.state.pop(weight, None)


def _describe_block(block: nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield all that decides what a block does, by name."""
    for path, part in block.named_modules():
        yield path, type(part)
        tensors = (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False))
        for name, tensor in tensors:
            yield f"{path}.{name}", (tensor.shape, tensor.dtype, tensor.requires_grad)
        for name, value in vars(part).items():
            if name not in _OF_EVERY_MODULE or name == "training":
                yield f"{path}.{name}", _make_comparable(value)


def _make_comparable(value: Any) -> Any:
    """Return plain values for a value; an object that is none is equal to itself alone."""
    if isinstance(value, partial):
        return partial, _make_comparable(value.func), _make_comparable((value.args, value.keywords))
    if isinstance(value, Mapping):
        return type(value), tuple((key, _make_comparable(one)) for key, one in value.items())
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_make_comparable, value))
    if isinstance(value, str):  # names of parts have the number of their block
        return tuple(int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", value))
    if isinstance(value, nn.Module):
        return type(value)
    return getattr(value, "__func__", value)  # the function of a method


def _are_equal(values: Sequence[Any]) -> bool:
    """Return whether values are all the same, but for numbers that count on from the first."""
    if all(type(value) is int for value in values):
        return len({*values}) == 1 or len({value - number for number, value in enumerate(values)}) == 1
    if all(type(value) is tuple and len(value) == len(values[0]) for value in values):
        return all(map(_are_equal, zip(*values, strict=True)))
    try:
        return all(value == values[0] for value in values)
    except (ValueError, RuntimeError):  # arrays and tensors, which compare their elements
        return False
