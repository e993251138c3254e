"""Graded fundus photographs painted by a program: the lesions of each grade on one real photograph of an eye.

Learnable, and no substitute for patients: all eyes are the same healthy one, turned, cut and tinted.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from workloads.data.dataset import Arrays, Published, PublishedFile
from workloads.data.fundus_image import read_disc

SIDE = 256
"""Side of a painted photograph in pixels."""

Pixels = npt.NDArray[np.float32]
"""[row, column, colour] in 0..255."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesion:
    """One kind of lesion.

    Attributes:
        colour: red, green, blue in 0..255.
        radius: smallest and largest, in pixels.
        counts: counts of each grade from 0 to 4, smallest and largest.
    """

    colour: tuple[int, int, int]
    radius: tuple[float, float]
    counts: tuple[tuple[int, int], ...]


_LESIONS = (
    _Lesion(  # microaneurysms
        colour=(90, 15, 10), radius=(1.5, 2.5), counts=((0, 0), (4, 8), (8, 14), (14, 20), (14, 20))
    ),
    _Lesion(  # haemorrhages
        colour=(70, 5, 5), radius=(4, 7), counts=((0, 0), (0, 0), (2, 4), (8, 12), (8, 12))
    ),
    _Lesion(  # hard exudates
        colour=(250, 240, 150), radius=(2, 4), counts=((0, 0), (0, 0), (4, 8), (8, 16), (8, 16))
    ),
    _Lesion(  # bleeding before the retina
        colour=(60, 0, 0), radius=(20, 30), counts=((0, 0), (0, 0), (0, 0), (0, 0), (1, 2))
    ),
)


def _in_scikit_image() -> tuple[Path, ...]:
    package = find_spec("skimage")
    if package is None or package.origin is None:
        return ()
    return (Path(package.origin).parent / "data" / "retina.jpg",)


def _read_retina(paths: Sequence[Path]) -> Arrays:
    return {"retina": read_disc(paths[0], SIDE)}


RETINA = Published(
    description="photograph of a healthy retina, on which graded lesions are painted",
    files=(
        PublishedFile(
            name="retina.jpg",
            digest="sha256:38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
            places=_in_scikit_image,
        ),
    ),
    cure="pip install scikit-image==0.26.0",
    read=_read_retina,
)


def paint(folder: Path, retina: npt.NDArray[np.uint8], *, count: int) -> None:
    """Paint `count` photographs of all grades in turn into `folder`, in APTOS' layout; always the same.

    Args:
        retina: [SIDE, SIDE, 3].
    """
    images = folder / "train_images"
    images.mkdir()
    with (folder / "train.csv").open("w", newline="") as table:
        lines = csv.writer(table)
        lines.writerow(("id_code", "diagnosis"))
        for number in range(count):
            name, grade = f"painted_{number:04}", number % 5
            pixels = _photograph(retina, grade, np.random.default_rng((5, number)))
            Image.fromarray(pixels).save(images / f"{name}.png", compress_level=1)
            lines.writerow((name, grade))


def _photograph(
    retina: npt.NDArray[np.uint8], grade: int, random: np.random.Generator
) -> npt.NDArray[np.uint8]:
    eye = _turned(retina, random)
    inside = eye.max(axis=2, keepdims=True) > 0
    painted = eye.astype(np.float32) * random.uniform(0.85, 1.15, 3).astype(np.float32)
    for lesion in _LESIONS:
        low, high = lesion.counts[grade]
        for _ in range(random.integers(low, high + 1)):
            _dab(painted, lesion, random)
    return np.where(inside, np.clip(painted, 0, 255), 0).astype(np.uint8)


def _turned(retina: npt.NDArray[np.uint8], random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The eye turned by any angle, perhaps mirrored, and cut a little."""
    image = Image.fromarray(retina[:, :: int(random.choice((-1, 1)))])
    margin = float(random.uniform(0, 0.1)) * SIDE
    turned = image.rotate(float(random.uniform(0, 360)), Image.Resampling.BILINEAR)
    box = (margin, margin, SIDE - margin, SIDE - margin)
    return np.array(turned.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=box))


def _dab(painted: Pixels, lesion: _Lesion, random: np.random.Generator) -> None:
    """Paint one lesion with a soft edge somewhere well inside the eye."""
    angle, distance = random.uniform(0, 2 * np.pi), random.uniform(0.1, 0.7) * SIDE / 2
    radius, strength = random.uniform(*lesion.radius), random.uniform(0.6, 0.9)
    top, left = SIDE / 2 + distance * np.array([np.sin(angle), np.cos(angle)]) - radius - 1
    window = painted[int(top) : int(top + 2 * radius) + 3, int(left) : int(left + 2 * radius) + 3]
    rows, columns = np.indices(window.shape[:2])
    away = np.hypot(rows - (top % 1) - radius - 1, columns - (left % 1) - radius - 1)
    cover = (strength * np.clip(radius + 0.5 - away, 0, 1))[..., np.newaxis].astype(np.float32)
    window += cover * (np.array(lesion.colour, dtype=np.float32) - window)
