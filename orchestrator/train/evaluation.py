"""Quality on held-out data from a framework's logits: computed here once, so that frameworks agree."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workloads.data.batches import Batches, Images

Logits = npt.NDArray[np.float32]

Predict = Callable[[Images], Logits]
"""images: [chunk, height, width, channel] float32 -> logits: [chunk, class] float32."""


def quality_of(predict: Predict, batches: Batches, *, limit: int | None, chunk: int) -> dict[str, float]:
    """Accuracy and mean cross-entropy on the first `limit` held-out samples, or on all.

    Args:
        chunk: samples given to `predict` at a time. The last chunk is filled up with zeros, for a compiler
            would compile again for another shape.
    """
    images, labels = batches.test_images[:limit], batches.test_labels[:limit]
    logits = np.concatenate(
        [_padded(predict, images[start : start + chunk], chunk) for start in range(0, len(images), chunk)]
    )
    return {
        "accuracy": float(np.mean(logits.argmax(axis=1) == labels)),
        "held_out_loss": float(np.mean(_cross_entropy(logits.astype(np.float64), labels))),
    }


def _padded(predict: Predict, images: Images, chunk: int) -> Logits:
    missing = chunk - len(images)
    filled = np.pad(images, ((0, missing), (0, 0), (0, 0), (0, 0))) if missing else images
    return predict(filled)[: len(images)]


def _cross_entropy(logits: npt.NDArray[np.float64], labels: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    picked = np.take_along_axis(shifted, labels[:, None].astype(np.int64), axis=1)[:, 0]
    losses: npt.NDArray[np.float64] = np.log(np.exp(shifted).sum(axis=1)) - picked
    return losses
