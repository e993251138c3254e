"""How well the class is read that is read worst."""

import numpy as np

from workloads.quality import Batch, Logits, classification


def reading(logits: Logits, held_out: Batch) -> dict[str, float]:
    """[sample, class] logits and the held-out batch -> metric -> value."""
    right = logits.argmax(1) == held_out["y"]
    recalls = [right[held_out["y"] == each].mean() for each in np.unique(held_out["y"])]
    return {**classification(logits, held_out), "worst_recall": float(min(recalls))}
