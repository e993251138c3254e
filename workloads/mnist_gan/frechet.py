"""Fréchet distance between generated and real images, without another network."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_COMPONENTS = 32

Vectors = npt.NDArray[np.float64]


def frechet_distance(drawn: npt.NDArray[np.float32], held_out: Mapping[str, Any]) -> dict[str, float]:
    """Return the distance between Gaussians fitted to generated and held-out real images, in the real images'
    first principal components.

    Heusel et al. 2017, "GANs Trained by a Two Time-Scale Update Rule", eq. 6, with 32 principal components of
    the pixels, in [-1, 1], where they take features of an Inception network: so no figure of theirs compares.
    0 is the same mean and covariance; images all alike, or noise, lie far off.
    """
    real = _flat(2 * held_out["x"] - 1)
    center = real.mean(0)
    components = np.linalg.svd(real - center, full_matrices=False)[2][:_COMPONENTS].T
    ours, theirs = (_flat(drawn) - center) @ components, (real - center) @ components
    distance = np.square(ours.mean(0) - theirs.mean(0)).sum() + _spread(np.cov(ours.T), np.cov(theirs.T))
    return {"frechet_distance": float(max(distance, 0.0))}


def _flat(images: npt.NDArray[Any]) -> Vectors:
    return images.reshape(len(images), -1).astype(np.float64)


def _spread(ours: Vectors, theirs: Vectors) -> float:
    """Trace of A + B - 2 (A B)^(1/2); A B has the eigenvalues of the symmetric B^(1/2) A B^(1/2)."""
    values, vectors = np.linalg.eigh(theirs)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    middle = np.linalg.eigvalsh(root @ ours @ root)
    return float(np.trace(ours + theirs) - 2 * np.sqrt(np.maximum(middle, 0)).sum())
