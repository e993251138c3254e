"""Pickles of data sets: plain data is read, whoever wrote it; anything else is refused unread."""

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from workloads.data.restricted_pickle import read_npz_member, read_pickle

PYTHON_2 = (  # what Python 2 writes for {"data": array([[1, 2]], dtype=uint8), "labels": [3]} in protocol 2
    b"\x80\x02}q\x00(U\x04dataq\x01cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85U\x01b"
    b"\x87Rq\x04(K\x01K\x01K\x02\x86cnumpy\ndtype\nq\x05U\x02u1K\x00K\x01\x87Rq\x06(K\x03U\x01|NNNJ\xff\xff\xff\xff"
    b"J\xff\xff\xff\xffK\x00tb\x89U\x02\x01\x02tbU\x06labelsq\x07]q\x08K\x03au."
)


class Evil:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (os.system, ("exit 1",))


def test_what_python_2_wrote_is_read() -> None:
    found = read_pickle(io.BytesIO(PYTHON_2), name="old.pickle")
    assert found[b"data"].tolist() == [[1, 2]]
    assert found[b"labels"] == [3]


@pytest.mark.parametrize("protocol", range(5))
def test_plain_data_is_read_in_the_protocols_of_files(protocol: int) -> None:
    value = {"list": [1, 2.5, "three", b"four"], "array": np.arange(6, dtype=np.int64).reshape(2, 3)}
    found = read_pickle(io.BytesIO(pickle.dumps(value, protocol=protocol)), name="new.pickle")
    assert found["list"] == value["list"]
    assert np.array_equal(found["array"], value["array"])


def test_a_pickle_that_would_run_something_is_refused() -> None:
    expected = (
        r"^evil\.pickle cannot be read: the pickle asks for (posix|nt)\.system, expected arrays, bytes, "
    )
    with pytest.raises(ValueError, match=expected):
        read_pickle(io.BytesIO(pickle.dumps(Evil())), name="evil.pickle")


def test_a_pickle_that_asks_for_an_odd_encoding_is_refused() -> None:
    content = b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R."
    with pytest.raises(
        ValueError, match=r"^odd\.pickle cannot be read: .* encoding 'rot13', expected 'latin1'$"
    ):
        read_pickle(io.BytesIO(content), name="odd.pickle")


@pytest.mark.parametrize("content", [b"", b"no pickle at all", PYTHON_2[:60]])
def test_a_broken_pickle_is_shown_in_one_line(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^torn\.pickle cannot be read: [^\n]+$"):
        read_pickle(io.BytesIO(content), name="torn.pickle")


def test_arrays_of_lists_and_plain_arrays_are_read_from_an_npz(tmp_path: Path) -> None:
    ragged = np.array([[1, 2, 3], [4]], dtype=object)
    path = tmp_path / "lists.npz"
    np.savez(path, x=ragged, y=np.array([0, 1]))
    assert read_npz_member(path, "x").tolist() == [[1, 2, 3], [4]]
    assert read_npz_member(path, "y").tolist() == [0, 1]


def test_an_npz_that_would_run_something_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, x=np.array([Evil()], dtype=object))
    with pytest.raises(ValueError, match=r"^x in .*/evil\.npz cannot be read: the pickle asks for "):
        read_npz_member(path, "x")
