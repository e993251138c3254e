"""(text of a compiled TPU program) -> its cycles, and the bytes of what has none. Pure.

libtpu writes the text after it has made machine code. An instruction's cycles are in its `backend_config`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_COMPUTATION = re.compile(r"^(ENTRY )?%(\S+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%(\S+) = (.*)$")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,]*)\]")
_OPERAND = re.compile(r"%([\w.\-]+)(?:#(\d+))?")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_CALLED = re.compile(r"\b(condition|body|to_apply|true_computation|false_computation)=%([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_CONSTANT = re.compile(r"constant\((\d+)\)")

_FREE = frozenset(
    {
        "parameter", "constant", "bitcast", "tuple", "get-tuple-element", "after-all", "partition-id",
        "replica-id", "opt-barrier", "iota",
        "copy-start", "copy-done", "slice-start", "slice-done", "async-start", "async-update", "async-done",
        "all-reduce-done", "all-gather-done", "collective-permute-done",
    }
)  # fmt: skip
"""Operations that take no time of their own: names, and the copies that run beside other operations."""

_SUMS = frozenset(
    {
        "all-reduce", "all-reduce-start", "reduce-scatter", "all-gather", "all-gather-start", "all-to-all",
        "collective-permute", "collective-permute-start",
    }
)  # fmt: skip


class UnpricedProgramError(Exception):
    """A program without a sum of cycles, with the reason in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCost:
    """Cycles and bytes of one run of a program on one device.

    Attributes:
        cycles: sum of the compiler's estimates; those of a loop's body count once for each trip.
        unpriced_bytes: operation -> bytes that its instructions without cycles read and write.
        exchanged_bytes: results of exchanges between devices.
    """

    cycles: int = 0
    unpriced_bytes: Mapping[str, int] = field(default_factory=dict)
    exchanged_bytes: int = 0

    def plus(self, other: "ProgramCost", *, times: int = 1) -> "ProgramCost":
        """Add another cost so many times."""
        operations = {*self.unpriced_bytes, *other.unpriced_bytes}
        return ProgramCost(
            cycles=self.cycles + times * other.cycles,
            unpriced_bytes={
                name: self.unpriced_bytes.get(name, 0) + times * other.unpriced_bytes.get(name, 0)
                for name in sorted(operations)
            },
            exchanged_bytes=self.exchanged_bytes + times * other.exchanged_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instruction:
    """One line of a computation.

    Attributes:
        shapes: bytes of the result, one for each element of a tuple.
    """

    name: str
    operation: str
    shapes: tuple[int, ...]
    operands: tuple[tuple[str, int | None], ...]
    text: str


def program_cost(text: str) -> ProgramCost:
    """Sum the costs of a program's entry computation.

    Raises:
        UnpricedProgramError: no entry, no cycles at all, or a loop with an unknown number of trips.
    """
    computations = dict(_computations(text))
    if "ENTRY" not in computations:
        raise UnpricedProgramError("the compiler's text has no entry computation")
    cost = _compute_cost(computations["ENTRY"], computations)
    if not cost.cycles:
        raise UnpricedProgramError("the compiler's text has no cycles")
    return cost


def _computations(text: str) -> Iterator[tuple[str, tuple[_Instruction, ...]]]:
    name, lines = "", list[_Instruction]()
    for line in text.splitlines():
        if started := _COMPUTATION.match(line):
            name, lines = "ENTRY" if started[1] else started[2], []
        elif line.startswith("}") and name:
            yield name, tuple(lines)
            name = ""
        elif name and (found := _INSTRUCTION.match(line)):
            lines.append(_instruction(found[1], found[2]))


def _instruction(name: str, rest: str) -> _Instruction:
    end = _end_of_type(rest)
    operation, _, tail = rest[end:].lstrip().partition("(")
    operands = tail[: _end_of_group(tail)]
    return _Instruction(
        name=name,
        operation=operation,
        shapes=tuple(_count_bytes(kind, dims) for kind, dims in _SHAPE.findall(rest[:end])),
        operands=tuple((one, int(index) if index else None) for one, index in _OPERAND.findall(operands)),
        text=rest,
    )


def _end_of_type(rest: str) -> int:
    """Return where the type ends: a tuple in parentheses, or one word."""
    if rest.startswith("("):
        return 2 + _end_of_group(rest[1:])
    return rest.find(" ")


def _end_of_group(text: str) -> int:
    """Return the index of the parenthesis that closes a group opened before the text."""
    depth = 1
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth:
            return index
    return len(text)


def _count_bytes(kind: str, dims: str) -> int:
    bits = 8 if kind == "pred" else int(next(iter(re.findall(r"\d+", kind)), "8"))
    return math.prod(int(side) for side in dims.split(",") if side) * max(bits, 8) // 8


def _compute_cost(
    computation: tuple[_Instruction, ...], computations: Mapping[str, tuple[_Instruction, ...]]
) -> ProgramCost:
    shapes = {instruction.name: instruction.shapes for instruction in computation}
    total = ProgramCost()
    for instruction in computation:
        total = total.plus(_one(instruction, shapes, computations))
    return total


def _one(
    instruction: _Instruction,
    shapes: Mapping[str, tuple[int, ...]],
    computations: Mapping[str, tuple[_Instruction, ...]],
) -> ProgramCost:
    if instruction.operation in _FREE:
        return ProgramCost()
    if priced := _CYCLES.search(instruction.text):
        return ProgramCost(cycles=int(priced[1]))
    if 'ConcatBitcast"' in instruction.text:  # names for parts that were copied beside other operations
        return ProgramCost()
    called = dict(_CALLED.findall(instruction.text))
    match instruction.operation:
        case "while":
            body = _compute_cost(computations[called["body"]], computations)
            return ProgramCost().plus(body, times=_trips(computations[called["condition"]]))
        case "conditional":
            return _dearest(instruction, called, computations)
        case "call":
            return _compute_cost(computations[called["to_apply"]], computations)
    if instruction.operation in _SUMS:
        return ProgramCost(exchanged_bytes=sum(instruction.shapes))
    read = sum(_compute_size(shapes.get(name, ()), index) for name, index in instruction.operands)
    return ProgramCost(unpriced_bytes={instruction.operation: read + sum(instruction.shapes)})


def _compute_size(shapes: tuple[int, ...], index: int | None) -> int:
    return sum(shapes) if index is None or index >= len(shapes) else shapes[index]


def _dearest(
    instruction: _Instruction,
    called: Mapping[str, str],
    computations: Mapping[str, tuple[_Instruction, ...]],
) -> ProgramCost:
    """Return the branch with the most cycles."""
    branches = _BRANCHES.search(instruction.text)
    names = [name for name, _ in _OPERAND.findall(branches[1])] if branches else [*called.values()]
    return max(
        (_compute_cost(computations[name], computations) for name in names), key=lambda cost: cost.cycles
    )


def _trips(condition: tuple[_Instruction, ...]) -> int:
    """Return the bound that a loop's counter is compared with; XLA counts from 0 in steps of 1."""
    constants = {
        instruction.name: int(found[1])
        for instruction in condition
        if (found := _CONSTANT.search(instruction.text))
    }
    bounds = {
        constants[instruction.operands[1][0]]
        for instruction in condition
        if instruction.operation == "compare"
        and "direction=LT" in instruction.text
        and instruction.operands[1][0] in constants
    } - {0}
    if len(bounds) != 1:
        raise UnpricedProgramError("the program has a loop whose number of trips is not known")
    return bounds.pop()
