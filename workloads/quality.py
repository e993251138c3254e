"""How good outputs are, in numpy: computed here once, so that frameworks agree."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Batch = Mapping[str, npt.NDArray[Any]]
Logits = npt.NDArray[np.float32]


def classification(logits: Logits, held_out: Batch) -> dict[str, float]:
    """Of [sample, class] logits: accuracy, mean cross-entropy, and macro averages over the classes present.

    A class that was never predicted has precision 0; F1 is the mean of each class's own.
    """
    classes, predicted = held_out["y"], logits.argmax(1)
    counts = confusion(classes, predicted, num_classes=logits.shape[1])
    present = counts.sum(1) > 0
    hits = np.diag(counts)[present]
    precision = hits / np.maximum(counts.sum(0)[present], 1)
    recall = hits / counts.sum(1)[present]
    f1 = 2 * precision * recall / np.maximum(precision + recall, np.finfo(float).tiny)
    return {
        "accuracy": float(np.mean(predicted == classes)),
        "precision": float(precision.mean()),
        "recall": float(recall.mean()),
        "f1": float(f1.mean()),
        "held_out_loss": float(np.mean(_cross_entropy(logits.astype(np.float64), classes))),
    }


def confusion(
    classes: npt.NDArray[Any], predicted: npt.NDArray[Any], *, num_classes: int
) -> npt.NDArray[np.float64]:
    """[true class, predicted class] -> number of samples."""
    counts = np.zeros((num_classes, num_classes))
    np.add.at(counts, (classes, predicted), 1)
    return counts


def _cross_entropy(logits: npt.NDArray[np.float64], classes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    picked = np.take_along_axis(shifted, classes[:, None].astype(np.int64), axis=1)[:, 0]
    losses: npt.NDArray[np.float64] = np.log(np.exp(shifted).sum(axis=1)) - picked
    return losses
