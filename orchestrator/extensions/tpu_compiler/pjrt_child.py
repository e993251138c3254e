"""Compile an HLO module for a TPU that is not here, through the C interface of the package `libtpu`.

A script of the standard library alone, for a Python that has only `libtpu`. It reads one JSON line from
standard input, and it ends when its standard input does. Structures: XLA's `xla/pjrt/c/pjrt_c_api.h`
(Apache-2.0), which keeps offsets and adds new fields at the end.
"""

import ctypes
import importlib.util
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_FIRST_FUNCTION = 40  # bytes from the start of PJRT_Api: its size, an extension, and the version's structure
_SLOTS = {
    "error_message": 1,
    "plugin_initialize": 3,
    "topology_create": 82,
    "compile": 89,
}
"""Position of a function in PJRT_Api."""

_STRING_VALUE = 0  # PJRT_NamedValue_Type


def _structure(*fields: tuple[str, Any]) -> type[Any]:
    head = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p)]
    return type("Arguments", (ctypes.Structure,), {"_fields_": [*head, *fields]})


_Pointer, _Size = ctypes.c_void_p, ctypes.c_size_t
_Message = _structure(("error", _Pointer), ("message", _Pointer), ("message_size", _Size))
_NamedValue = _structure(
    ("name", ctypes.c_char_p), ("name_size", _Size), ("type", ctypes.c_int), ("value", _Pointer),
    ("value_size", _Size),
)  # fmt: skip
_Topology = _structure(
    ("name", ctypes.c_char_p), ("name_size", _Size), ("options", _Pointer), ("num_options", _Size),
    ("topology", _Pointer),
)  # fmt: skip
_Program = _structure(("code", _Pointer), ("code_size", _Size), ("format", _Pointer), ("format_size", _Size))
_Compile = _structure(
    ("topology", _Pointer), ("program", _Pointer), ("options", _Pointer), ("options_size", _Size),
    ("client", _Pointer), ("executable", _Pointer),
)  # fmt: skip


class CompilerError(Exception):
    """The compiler's own words on why it refuses."""


class Plugin:
    """The functions of `libtpu.so`."""

    def __init__(self, library: str) -> None:
        loaded = ctypes.CDLL(library)
        loaded.GetPjrtApi.restype = ctypes.c_void_p
        self._api = loaded.GetPjrtApi()

    def call(self, function: str, kind: type[Any], /, **values: Any) -> Any:
        """Call a function with a structure of arguments, and return it. Raises CompilerError."""
        arguments = _made(kind, **values)
        error = self._function(function)(ctypes.addressof(arguments))
        if error:
            message = _made(_Message, error=error)
            self._function("error_message")(ctypes.addressof(message))
            raise CompilerError(
                ctypes.string_at(message.message, message.message_size).decode(errors="replace")
            )
        return arguments

    def _function(self, name: str) -> Callable[[int], Any]:
        address = ctypes.c_void_p.from_address(self._api + _FIRST_FUNCTION + 8 * _SLOTS[name]).value
        assert address is not None
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)


def _made(kind: type[Any], /, **values: Any) -> Any:
    arguments = kind(**values)
    arguments.struct_size = ctypes.sizeof(kind)
    return arguments


def compile_options(partitions: int) -> bytes:
    """Encode a CompileOptionsProto: one replica, and so many partitions on devices 0, 1, ...

    Fields of its ExecutableBuildOptionsProto (3): device_ordinal 1, num_replicas 4, num_partitions 5,
    use_spmd_partitioning 6, device_assignment 9.
    """
    devices = b"".join(_message(3, _message(1, _varint(device))) for device in range(partitions))
    assignment = _number(1, 1) + _number(2, partitions) + devices
    any_device = _varint(1 << 3) + b"\xff" * 9 + b"\x01"  # -1
    build = any_device + _number(4, 1) + _number(5, partitions) + _number(6, 1) + _message(9, assignment)
    return _message(3, build)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def compile_module(
    plugin: Plugin, module: bytes, *, topology: str, chip_config: str | None, partitions: int
) -> None:
    """Compile for a topology. Raises CompilerError, for example where the program takes too much memory."""
    plugin.call("plugin_initialize", _structure())
    name, value = topology.encode(), (chip_config or "").encode()
    option = _made(
        _NamedValue,
        name=b"chip_config_name",
        name_size=len(b"chip_config_name"),
        type=_STRING_VALUE,
        value=ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p),
        value_size=len(value),
    )
    created = plugin.call(
        "topology_create",
        _Topology,
        name=name,
        name_size=len(name),
        options=ctypes.addressof(option) if value else None,
        num_options=1 if value else 0,
    )
    code, form = ctypes.create_string_buffer(module, len(module)), ctypes.create_string_buffer(b"hlo", 3)
    program = _made(
        _Program,
        code=ctypes.addressof(code),
        code_size=len(module),
        format=ctypes.addressof(form),
        format_size=3,
    )
    encoded = compile_options(partitions)
    options = ctypes.create_string_buffer(encoded, len(encoded))
    plugin.call(
        "compile",
        _Compile,
        topology=created.topology,
        program=ctypes.addressof(program),
        options=ctypes.addressof(options),
        options_size=len(encoded),
    )


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Answer one request: `{"error": ...}`, or nothing for a program that compiles."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    found = importlib.util.find_spec("libtpu")
    assert found is not None
    assert found.origin is not None
    library = Path(found.origin).parent / "libtpu.so"
    try:
        compile_module(
            Plugin(str(library)),
            Path(request["module"]).read_bytes(),
            topology=request["topology"],
            chip_config=request["chip_config"],
            partitions=request["partitions"],
        )
    except CompilerError as error:
        sys.stdout.write(f"{json.dumps({'error': str(error)})}\n")
        sys.stdout.flush()
    os._exit(0)  # libtpu has threads that do not end


if __name__ == "__main__":
    main()
