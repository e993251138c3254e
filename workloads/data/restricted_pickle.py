"""Pickles of data sets, read without the power to run anything: arrays, bytes, text, dicts and lists."""

import pickle
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt


class _Reader(pickle.Unpickler):
    """Unpickler with the three names that rebuild an array of any version of NumPy."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return np.empty(0).__reduce__()[0]
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):
            return _encode
        raise ValueError(
            f"the pickle asks for {module}.{name}, expected arrays, bytes, strings, dicts and lists"
        )


def _encode(text: str, encoding: str) -> bytes:
    """Return the bytes that Python 3 pickles as latin-1 text in old protocols; refuse any other encoding."""
    if encoding != "latin1":
        raise ValueError(f"the pickle asks for the encoding {encoding!r}, expected 'latin1'")
    return text.encode("latin1")


def read_pickle(file: IO[bytes], *, name: str) -> Any:
    """The value in an open pickle; strings of Python 2 come as bytes.

    Raises:
        ValueError: it is broken or asks for anything but plain data; names it by `name`.
    """
    try:
        return _Reader(file, encoding="bytes").load()
    except Exception as error:  # a broken pickle raises almost anything
        raise ValueError(f"{name} cannot be read: {error}") from error


def read_npz_member(path: Path, member: str) -> npt.NDArray[Any]:
    """One array of an `.npz`, of Python objects too.

    Raises:
        ValueError: as `read_pickle`.
    """
    with ZipFile(path) as archive, archive.open(f"{member}.npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read_header(file)
        if dtype.hasobject:
            array: npt.NDArray[Any] = read_pickle(file, name=f"{member} in {path}")
            return array
        return np.frombuffer(file.read(), dtype=dtype).reshape(shape)
