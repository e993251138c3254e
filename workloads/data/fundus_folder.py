"""Folders of graded fundus photographs as Kaggle hands them out: images beside a table of their grades."""

import csv
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workloads.data.dataset import Arrays

_GRADES = ("0", "1", "2", "3", "4")
_TEST_IN = 5
"""One photograph in so many is for testing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Folder layout of a publisher.

    Attributes:
        table: file with a line for each photograph.
        name, grade: names of its columns.
        images: folder.
        suffix: suffix of images.
    """

    table: str
    name: str
    grade: str
    images: str
    suffix: str


_APTOS = _Layout(table="train.csv", name="id_code", grade="diagnosis", images="train_images", suffix=".png")
_EYEPACS = _Layout(table="trainLabels.csv", name="image", grade="level", images="train", suffix=".jpeg")


def identify(folder: Path) -> str:
    """sha256 over the table and over name and size of each photograph in it.

    Raises:
        ValueError: neither layout is there, or a photograph is missing.
    """
    layout = _find_layout(folder)
    rows = list(_rows(folder, layout))
    digest = hashlib.sha256((folder / layout.table).read_bytes())
    for name, _ in rows:
        digest.update(f"\n{name} {_compute_size(folder / name)}".encode())
    return digest.hexdigest()


def read(folder: Path) -> Arrays:
    """Read names and grades; the hash of a patient's name decides about training or testing, and the order.

    Raises:
        ValueError: a table that cannot be used, with the place.
    """
    drawn = sorted((_draw(name), name, grade) for name, grade in _rows(folder, _find_layout(folder)))
    parts = {
        "train": [row for row in drawn if row[0][0] % _TEST_IN],
        "test": [row for row in drawn if not row[0][0] % _TEST_IN],
    }
    arrays: Arrays = {"folder": np.array(os.fsencode(folder))}
    for part, rows in parts.items():
        arrays = {
            **arrays,
            f"x_{part}": np.array([os.fsencode(name) for _, name, _ in rows], dtype=np.bytes_),
            f"y_{part}": np.array([grade for *_, grade in rows], dtype=np.uint8),
        }
    return arrays


def _find_layout(folder: Path) -> _Layout:
    for layout in (_APTOS, _EYEPACS):
        if (folder / layout.table).is_file():
            return layout
    raise ValueError(
        f"{str(folder)!r} holds no graded photographs; expected {_describe(_APTOS)}, or {_describe(_EYEPACS)}"
    )


def _describe(layout: _Layout) -> str:
    return f"{layout.table} with {layout.name} and {layout.grade} beside {layout.images}/*{layout.suffix}"


def _rows(folder: Path, layout: _Layout) -> Iterator[tuple[str, int]]:
    """(path of the image in `folder`, grade) for each line of the table."""
    path = folder / layout.table
    for row in _find_lines(path):
        name, grade = row.get(layout.name), row.get(layout.grade)
        if not name or not name.isprintable() or "/" in name or grade not in _GRADES:
            raise ValueError(
                f"{path}: a line has {layout.name}={name!r} and {layout.grade}={grade!r}, "
                "expected the name of an image and a grade from 0 to 4"
            )
        yield f"{layout.images}/{name}{layout.suffix}", int(grade)


def _find_lines(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as table:
            return list(csv.DictReader(table))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{str(path)!r} is not a table of grades: {error}") from error


def _compute_size(image: Path) -> int:
    try:
        return image.stat().st_size
    except OSError as error:
        raise ValueError(f"graded photograph {str(image)!r} cannot be read: {error.strerror}") from error


def _draw(name: str) -> tuple[int, int]:
    """Numbers that look random: of the patient, one for both eyes, and of the photograph."""
    stem = Path(name).stem
    patient = stem.removesuffix("_left").removesuffix("_right")
    of_patient, of_photograph = (hashlib.sha256(key.encode()).digest() for key in (patient, stem))
    return int.from_bytes(of_patient), int.from_bytes(of_photograph)
