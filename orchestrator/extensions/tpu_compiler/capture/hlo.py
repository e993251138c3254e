"""HLO modules in protocol buffers' wire format: add donations, and split the batch over partitions.

Fields are numbered in XLA's `xla/service/hlo.proto` and `xla/xla_data.proto` (Apache-2.0). A message is its
fields in order, and unknown ones are kept, so that no package of protocol buffers is needed.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass

_COMPUTATIONS, _ENTRY_ID, _ALIASES = 3, 6, 8  # HloModuleProto
_MODULE = 1  # HloProto
_INSTRUCTIONS, _COMPUTATION_ID = 2, 5  # HloComputationProto
_OPCODE, _SHAPE, _PARAMETER_NUMBER, _SHARDING = 2, 3, 9, 40  # HloInstructionProto
_ELEMENT_TYPE, _DIMENSIONS = 2, 3  # ShapeProto
_TYPE, _TILE_DIMENSIONS, _TILE_DEVICES = 1, 3, 4  # OpSharding
_REPLICATED, _OTHER = 0, 3  # OpSharding.Type
_ENTRIES = 1  # HloInputOutputAliasProto
_OUTPUT_INDEX, _PARAMETER, _KIND = 1, 2, 4  # HloInputOutputAliasProto.AliasEntryProto
_MAY_ALIAS = 1
_VARINT, _BYTES = 0, 2  # wire types
_FIXED_SIZES = {1: 8, 5: 4}


class MalformedProgramError(ValueError):
    """Bytes that are no HLO module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a message: its number, and its value as an integer or as bytes."""

    number: int
    value: int | bytes
    wire_type: int


def iterate_fields(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message. Raises MalformedProgramError."""
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        number, wire_type = key >> 3, key & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, position = _read_varint(message, position)
        elif wire_type == _BYTES or wire_type in _FIXED_SIZES:
            size = _FIXED_SIZES.get(wire_type)
            if size is None:
                size, position = _read_varint(message, position)
            value, position = message[position : position + size], position + size
            if position > len(message):
                raise MalformedProgramError("the program is cut off")
        else:
            raise MalformedProgramError(f"the program has a field of unknown wire type {wire_type}")
        yield Field(number=number, value=value, wire_type=wire_type)


def varint(number: int) -> bytes:
    """Encode a non-negative integer in base 128, the lowest digits first."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def encode(field: Field) -> bytes:
    """Encode a field with its key."""
    key = varint(field.number << 3 | field.wire_type)
    if isinstance(field.value, int):
        return key + varint(field.value)
    length = varint(len(field.value)) if field.wire_type == _BYTES else b""
    return key + length + field.value


def message_field(number: int, content: bytes) -> bytes:
    """Encode a message, or packed integers, as a field of another message."""
    return encode(Field(number=number, value=content, wire_type=_BYTES))


def integer_field(number: int, value: int) -> bytes:
    """Encode an integer as a field of a message."""
    return encode(Field(number=number, value=value, wire_type=_VARINT))


def find_module(program: bytes) -> bytes:
    """Return the HloModuleProto; TensorFlow gives an HloProto, of which it is the first field.

    Raises MalformedProgramError.
    """
    for field in iterate_fields(program):
        if field.number == _MODULE and isinstance(field.value, bytes):
            return field.value if _is_module(field.value) else program
    raise MalformedProgramError("the program has no HLO module")


def _is_module(content: bytes) -> bool:
    """A module's first field is its name, which is no message of computations."""
    try:
        return any(field.number == _COMPUTATIONS for field in iterate_fields(content))
    except MalformedProgramError:
        return False


def with_donations(module: bytes, donations: Iterable[tuple[int, int]]) -> bytes:
    """Let outputs take the memory of parameters, as the weights of a step do.

    Args:
        donations: (index in the output tuple, number of the parameter).
    """
    entries = b"".join(
        message_field(
            _ENTRIES,
            message_field(_OUTPUT_INDEX, varint(output))
            + integer_field(_PARAMETER, parameter)
            + integer_field(_KIND, _MAY_ALIAS),
        )
        for output, parameter in donations
    )
    return module + message_field(_ALIASES, entries)


def split_over(module: bytes, parameters: Container[int], *, partitions: int) -> bytes:
    """Divide the leading axis of some entry parameters over the partitions, and replicate all others.

    XLA's partitioner derives everything else from this: which part of each product a device computes, and
    where it has to sum over devices. torch_xla's SPMD mode makes the same annotations.

    Args:
        module: an HloModuleProto.
        parameters: numbers of the parameters that hold a part of the batch.

    Raises:
        MalformedProgramError: no module.
    """
    entry_id = _integer(module, _ENTRY_ID)
    return _map_messages(
        module,
        _COMPUTATIONS,
        lambda computation: (
            _annotated(computation, parameters, partitions)
            if _integer(computation, _COMPUTATION_ID) == entry_id
            else computation
        ),
    )


def _annotated(computation: bytes, parameters: Container[int], partitions: int) -> bytes:
    def with_sharding(instruction: bytes) -> bytes:
        if _text(instruction, _OPCODE) != "parameter":
            return instruction
        is_split = _integer(instruction, _PARAMETER_NUMBER) in parameters
        sharding = _split_sharding(_rank(instruction), partitions) if is_split else _replicated()
        return instruction + message_field(_SHARDING, sharding)

    return _map_messages(computation, _INSTRUCTIONS, with_sharding)


def _split_sharding(rank: int, partitions: int) -> bytes:
    dimensions = varint(partitions) + varint(1) * (rank - 1)
    devices = b"".join(varint(device) for device in range(partitions))
    return (
        integer_field(_TYPE, _OTHER)
        + message_field(_TILE_DIMENSIONS, dimensions)
        + message_field(_TILE_DEVICES, devices)
    )


def _replicated() -> bytes:
    return integer_field(_TYPE, _REPLICATED)


def _rank(instruction: bytes) -> int:
    """Return the number of axes of an instruction's output."""
    shape = _message(instruction, _SHAPE)
    packed = [field.value for field in iterate_fields(shape) if field.number == _DIMENSIONS]
    count = 0
    for value in packed:
        count += 1 if isinstance(value, int) else sum(byte < 128 for byte in value)
    return count


def _map_messages(message: bytes, number: int, change: Callable[[bytes], bytes]) -> bytes:
    parts = []
    for field in iterate_fields(message):
        if field.number == number and isinstance(field.value, bytes):
            parts.append(message_field(number, change(field.value)))
        else:
            parts.append(encode(field))
    return b"".join(parts)


def _integer(message: bytes, number: int) -> int:
    values = (field.value for field in iterate_fields(message) if field.number == number)
    return next((value for value in values if isinstance(value, int)), 0)


def _message(message: bytes, number: int) -> bytes:
    values = (field.value for field in iterate_fields(message) if field.number == number)
    return next((value for value in values if isinstance(value, bytes)), b"")


def _text(message: bytes, number: int) -> str:
    return _message(message, number).decode(errors="replace")


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(message):
        byte = message[position]
        number |= (byte & 127) << shift
        position += 1
        if byte < 128:
            return number, position
        shift += 7
    raise MalformedProgramError("the program is cut off")
