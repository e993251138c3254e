"""HLO modules as bytes: donations and shardings are added, everything else stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.tpu_compiler.capture.hlo import (
    Field,
    MalformedProgramError,
    encode,
    find_module,
    integer_field,
    iterate_fields,
    message_field,
    split_over,
    varint,
    with_donations,
)

ENTRY, OTHER = 7, 9


def shape(*dimensions: int) -> bytes:
    """ShapeProto: element type F32 and its dimensions."""
    return integer_field(2, 11) + message_field(3, b"".join(varint(size) for size in dimensions))


def parameter(number: int, *dimensions: int) -> bytes:
    """Encode a HloInstructionProto; number 0 is absent, as protocol buffers leave zeros out."""
    head = message_field(1, b"p") + message_field(2, b"parameter") + message_field(3, shape(*dimensions))
    return head + (integer_field(9, number) if number else b"")


def module(*instructions: bytes) -> bytes:
    def computation(identity: int) -> bytes:
        body = b"".join(message_field(2, instruction) for instruction in instructions)
        return message_field(3, body + integer_field(5, identity))

    return message_field(1, b"step") + computation(OTHER) + computation(ENTRY) + integer_field(6, ENTRY)


def shardings_of(program: bytes, computation: int) -> list[bytes | None]:
    """Return the sharding of every instruction of a computation; None where it has none."""
    shardings: list[bytes | None] = []
    for one in (field.value for field in iterate_fields(program) if field.number == 3):
        assert isinstance(one, bytes)
        fields = list(iterate_fields(one))
        if integer_field(5, computation) != encode(fields[-1]):
            continue
        for instruction in (field.value for field in fields if field.number == 2):
            assert isinstance(instruction, bytes)
            values = [field.value for field in iterate_fields(instruction) if field.number == 40]
            shardings.append(values[0] if values else None)  # type: ignore[arg-type]
    return shardings


def test_batch_parameters_are_split_on_their_first_axis_and_weights_are_replicated():
    split = split_over(
        module(parameter(0, 32), parameter(1, 5, 5), parameter(2, 32, 8, 8, 3)), {0, 2}, partitions=4
    )
    # the bytes that torch_xla 2.9 writes for the same arrays under SPMD: OTHER, tile dimensions, devices
    vector = bytes.fromhex("08031a0104220400010203")
    image = bytes.fromhex("08031a0404010101220400010203")
    assert shardings_of(split, ENTRY) == [vector, integer_field(1, 0), image]


def test_computations_other_than_the_entry_are_left_alone():
    before = module(parameter(0, 32))
    assert shardings_of(split_over(before, {0}, partitions=2), OTHER) == [None]


def test_instructions_that_are_no_parameters_are_left_alone():
    addition = message_field(2, b"add") + message_field(3, shape(2))
    assert shardings_of(split_over(module(addition), {0}, partitions=2), ENTRY) == [None]


def test_a_donation_names_its_output_and_its_parameter():
    donated = with_donations(b"", [(3, 300)])
    (aliases,) = iterate_fields(donated)
    assert aliases.number == 8
    assert aliases.value == bytes.fromhex("0a08" + "0a0103" + "10ac02" + "2001")


def test_a_module_is_found_in_what_tensorflow_gives():
    plain = module(parameter(0, 2))
    assert find_module(plain) == plain
    assert find_module(message_field(1, plain)) == plain


@pytest.mark.parametrize("program", [b"", b"\x0a", b"\x0a\xff\x01", b"\x0b", b"not a program at all"])
def test_other_bytes_are_refused(program: bytes):
    with pytest.raises(MalformedProgramError):
        find_module(program)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes):
    try:
        fields = list(iterate_fields(content))
    except MalformedProgramError:
        return
    assert all(isinstance(field, Field) for field in fields)


@given(st.lists(st.tuples(st.integers(1, 500), st.one_of(st.integers(0, 2**63), st.binary(max_size=9)))))
def test_fields_survive_reading_and_writing(values: list[tuple[int, int | bytes]]):
    message = b"".join(
        integer_field(number, value) if isinstance(value, int) else message_field(number, value)
        for number, value in values
    )
    assert b"".join(encode(field) for field in iterate_fields(message)) == message
    assert [(field.number, field.value) for field in iterate_fields(message)] == values
