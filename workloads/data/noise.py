"""Random inputs that belong to a training sample, equal in every framework, batch and rank."""

from zlib import crc32

import numpy as np
import numpy.typing as npt

from workloads.data.need import Noise


def describe_noise(noise: Noise, indices: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.float32]:
    """The noise of the training samples at `indices`: [sample, *noise.shape]."""
    drawn = np.empty((len(indices), *noise.shape), dtype=np.float32)
    for row, index in zip(drawn, indices, strict=True):
        random = np.random.default_rng((seed, crc32(noise.name.encode()), int(index)))
        if noise.kind == "normal":
            random.standard_normal(out=row, dtype=np.float32)
        else:
            random.random(out=row, dtype=np.float32)
    return drawn
