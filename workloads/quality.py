"""Quality measures in numpy, computed once here so that frameworks agree."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.data.split import IGNORED

Batch = Mapping[str, npt.NDArray[Any]]
Logits = npt.NDArray[np.float32]

_REFERABLE_GRADE = 2
_MOST_NATS = 700.0  # beyond, the exponential is no float


def classification(logits: Logits, held_out: Batch) -> dict[str, float]:
    """Compute accuracy, mean cross-entropy and macro averages over the classes present from [sample, class]
    logits.

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


def graded(logits: Logits, held_out: Batch) -> dict[str, float]:
    """Compute `classification`, quadratic-weighted kappa and AUC of referable samples from [sample, grade]
    logits.

    Referable is grade 2 and above, in truth as in the probability that is ranked.
    """
    score = _softmax(logits)[:, _REFERABLE_GRADE:].sum(1)
    return _of_grades(logits, held_out) | {"auc": _area(score, held_out["y"] >= _REFERABLE_GRADE)}


def referable(logits: Logits, held_out: Batch) -> dict[str, float]:
    """Compute the same of [sample, 2] logits; class 1 is referable."""
    return _of_grades(logits, held_out) | {"auc": _area(_softmax(logits)[:, 1], held_out["y"] == 1)}


def token_prediction(scores: npt.NDArray[np.float32], held_out: Batch) -> dict[str, float]:
    """Compute the mean cross-entropy of tokens, its exponential, and accuracy, from [sample, step, 2] scores.

    Args:
        scores: cross-entropy in nats and 1 for a hit, as in `Quality.of_tokens`.
    """
    losses, hits = scores[held_out["y"] != IGNORED].astype(np.float64).T
    loss = float(losses.mean())
    return {
        "held_out_loss": loss,
        "perplexity": math.exp(min(loss, _MOST_NATS)),
        "accuracy": float(hits.mean()),
    }


def _of_grades(logits: Logits, held_out: Batch) -> dict[str, float]:
    counts = confusion(held_out["y"], logits.argmax(1), num_classes=logits.shape[1])
    return {**classification(logits, held_out), "kappa": _kappa(counts)}


def _kappa(counts: npt.NDArray[np.float64]) -> float:
    """Quadratic-weighted kappa (Cohen 1968) of [true grade, predicted grade] counts.

    NaN where truth and prediction are all of one grade, so that chance alone agrees too.
    """
    grades = np.arange(len(counts))
    weights = (grades[:, None] - grades) ** 2
    by_chance = counts.sum(1)[:, None] * counts.sum(0) / counts.sum()
    expected = float((weights * by_chance).sum())
    return 1 - float((weights * counts).sum()) / expected if expected else math.nan


def _area(score: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve: how often a positive sample scores above a negative one, a tie counting half.

    NaN where all samples are of one kind. (Hanley and McNeil 1982, section "Meaning of the area".)
    """
    negatives = np.sort(score[~positive])
    above = np.searchsorted(negatives, score[positive], side="left")
    above_or_tied = np.searchsorted(negatives, score[positive], side="right")
    return (
        float((above + above_or_tied).mean() / (2 * len(negatives)))
        if 0 < len(negatives) < len(score)
        else math.nan
    )


def confusion(
    classes: npt.NDArray[Any], predicted: npt.NDArray[Any], *, num_classes: int
) -> npt.NDArray[np.float64]:
    """[true class, predicted class] -> number of samples."""
    counts = np.zeros((num_classes, num_classes))
    np.add.at(counts, (classes, predicted), 1)
    return counts


def _softmax(logits: Logits) -> npt.NDArray[np.float64]:
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    probabilities: npt.NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return probabilities


def _cross_entropy(logits: npt.NDArray[np.float64], classes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    picked = np.take_along_axis(shifted, classes[:, None].astype(np.int64), axis=1)[:, 0]
    losses: npt.NDArray[np.float64] = np.log(np.exp(shifted).sum(axis=1)) - picked
    return losses
