"""Download caches of Keras, torchvision and TensorFlow Datasets."""

import os
from pathlib import Path


def keras(*parts: str) -> Path:
    """A file in Keras' folder of data sets; `$KERAS_HOME` moves it."""
    home = os.environ.get("KERAS_HOME")
    return (Path(home) if home else Path.home() / ".keras").joinpath("datasets", *parts)


def torchvision(*parts: str) -> Path:
    """A file below `data/` in the working directory, the folder that torchvision's examples use."""
    return Path("data").joinpath(*parts)


def tensorflow_datasets(name: str) -> tuple[Path, ...]:
    """Find downloads of TensorFlow Datasets with `name` in their names; `$TFDS_DATA_DIR` moves its folder.

    It puts an abbreviated address before and a hash behind the name of a file.
    """
    home = os.environ.get("TFDS_DATA_DIR")
    downloads = (Path(home) if home else Path.home() / "tensorflow_datasets") / "downloads"
    return tuple(sorted(path for path in downloads.glob(f"**/*{name}*") if path.suffix != ".INFO"))
