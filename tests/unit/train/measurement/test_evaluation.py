"""Quality is computed once for all frameworks, in chunks of one shape."""

import math

import numpy as np
import pytest

from orchestrator.train.measurement.evaluation import compute_quality
from workloads.data.arrays import ArraySplit
from workloads.data.batches import Batches
from workloads.data.split import IGNORED, Batch
from workloads.data.tokens import TokenSplit
from workloads.spec import Quality

QUALITY = Quality(measure="workloads.quality:classification", metric="accuracy", target=1.0)


def batches_of(labels: list[int]) -> Batches:
    """Held-out images of 1x1 pixels that hold their own label."""
    array = np.array(labels, np.int32)
    split = ArraySplit(samples=array.astype(np.uint8).reshape(-1, 1, 1, 1), labels=array, image_size=None)
    return Batches(train=split, test=split, order=np.arange(len(labels)), global_batch_size=2)


def found(model: "Constant", labels: list[int], *, limit: int | None, chunk: int) -> dict[str, float]:
    return compute_quality(model, QUALITY, batches_of(labels), limit=limit, chunk=chunk)


class Constant:
    """A model that gives the same logits to every image, and keeps the shapes it was asked with."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = logits
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, arrays: Batch) -> np.ndarray:
        [images] = arrays.values()
        self.shapes.append(images.shape)
        return np.tile(np.array(self.logits, np.float32), (len(images), 1))


def test_three_of_four_right_is_an_accuracy_of_three_quarters() -> None:
    model = Constant([0.0, 1.0])
    assert found(model, [1, 1, 1, 0], limit=None, chunk=4)["accuracy"] == 0.75


def test_undecided_logits_of_two_classes_lose_log_two_and_large_ones_do_not_overflow() -> None:
    told = found(Constant([5.0, 5.0]), [0, 1], limit=None, chunk=2)
    assert told["held_out_loss"] == pytest.approx(math.log(2))
    assert found(Constant([1e30, -1e30]), [0, 1], limit=1, chunk=2)["held_out_loss"] == 0


def test_every_chunk_has_the_same_shape_and_what_fills_the_last_one_does_not_count() -> None:
    model = Constant([0.0, 1.0])
    quality = found(model, [1, 1, 1, 1, 0], limit=None, chunk=4)
    assert model.shapes == [(4, 1, 1, 1), (4, 1, 1, 1)]
    assert quality["accuracy"] == 0.8


def test_a_limit_takes_the_first_samples() -> None:
    model = Constant([0.0, 1.0])
    assert found(model, [1, 1, 0, 0], limit=2, chunk=4)["accuracy"] == 1
    assert len(model.shapes) == 1


def test_losses_of_tokens_are_averaged_over_those_that_count() -> None:
    text = TokenSplit(
        ids=np.arange(2, 62, dtype=np.uint16), vocabulary=100, length=20, is_masked=True, seed=0
    )
    batches = Batches(train=text, test=text, order=np.arange(2), global_batch_size=2)
    quality = Quality(
        measure="workloads.quality:token_prediction", metric="held_out_loss", target=1.0, of_tokens=True
    )

    def scores(arrays: Batch) -> np.ndarray:
        """Lose as many nats as the hidden token says, and hit where it is even."""
        hidden = arrays["y"].astype(np.float32)
        return np.stack((hidden, hidden % 2 == 0), -1)

    metrics = compute_quality(scores, quality, batches, limit=None, chunk=3)
    y = text.take(np.arange(2), epoch=0)["y"]
    hidden = y[y != IGNORED]
    assert metrics["held_out_loss"] == pytest.approx(hidden.mean())
    assert metrics["accuracy"] == np.mean(hidden % 2 == 0)
    assert metrics["perplexity"] == pytest.approx(math.exp(hidden.mean()))
