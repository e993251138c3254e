"""One fundus photograph as a network sees it: the disc of the eye fills a square, black around it."""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

_DARK = 16
"""Grey levels up to here are the black around the eye."""

_FORMATS = ("JPEG", "PNG")
"""That photographs come in. Others make Pillow start programs, as Ghostscript."""

_LONGEST_SIDE = 10_000
"""In pixels, of which the square takes 0.3 GB: twice what fundus cameras have."""

Pixels = npt.NDArray[np.uint8]
"""[row, column, colour]."""


def read_disc(path: Path, size: int) -> Pixels:
    """Decode a photograph and cut out the eye, `size` pixels wide; each pixel is the mean of what it covers.

    Raises:
        ValueError: the file is not a whole image.
    """
    try:
        with Image.open(path, formats=_FORMATS) as image:
            image.draft("RGB", (2 * size, 2 * size))  # lets a JPEG be decoded at a fraction of its size
            photograph = image.convert("RGB")
    except Exception as error:  # a broken image raises almost anything
        raise ValueError(f"image {str(path)!r} cannot be decoded: {error}") from error
    if max(photograph.size) > _LONGEST_SIDE:
        raise ValueError(
            f"image {str(path)!r} has {photograph.size} pixels; a side has at most {_LONGEST_SIDE}"
        )
    square = photograph.crop(_square_around_eye(photograph))
    disc = np.array(square.resize((size, size), Image.Resampling.BOX))
    disc[~disc_mask(size)] = 0
    return disc


@cache
def disc_mask(size: int) -> npt.NDArray[np.bool_]:
    """[row, column]: whether a pixel lies in the circle that fills the square."""
    from_middle = 2 * np.arange(size) - (size - 1)
    inside: npt.NDArray[np.bool_] = from_middle[:, np.newaxis] ** 2 + from_middle**2 <= size**2
    return inside


def _square_around_eye(photograph: Image.Image) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of the square around what is not dark; it may reach beyond the image."""
    bright = photograph.convert("L").point(lambda level: 255 * (level > _DARK))
    left, top, right, bottom = bright.getbbox() or (0, 0, *photograph.size)
    side = max(right - left, bottom - top)
    left, top = (left + right - side) // 2, (top + bottom - side) // 2
    return left, top, left + side, top + side
