"""Small fundus photographs in the folders in which Kaggle hands them out."""

from pathlib import Path

import numpy as np
from PIL import Image


def photograph(number: int, *, side: int = 40) -> np.ndarray:
    """A disc in a colour of its own, left of the middle of a wide black image; its upper half is brighter."""
    image = np.zeros((side, side * 3 // 2, 3), dtype=np.uint8)
    rows, columns = np.indices(image.shape[:2])
    inside = (rows - side / 2 + 0.5) ** 2 + (columns - side / 2 + 0.5) ** 2 <= (side / 2) ** 2
    image[inside] = (100 + number % 100, 60, 40)
    image[inside & (rows < side // 2)] += 20
    return image


def aptos_folder(folder: Path, *, count: int, side: int = 40) -> Path:
    """`count` photographs `eye0`, `eye1`, ... whose grades are 0, 1, 2, 3, 4, 0, ..."""
    (folder / "train_images").mkdir(parents=True)
    for number in range(count):
        image = Image.fromarray(photograph(number, side=side))
        image.save(folder / "train_images" / f"eye{number}.png")
    lines = [f"eye{number},{number % 5}\n" for number in range(count)]
    (folder / "train.csv").write_text("id_code,diagnosis\n" + "".join(lines))
    return folder
