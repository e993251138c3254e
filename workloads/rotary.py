"""Angles of rotary positions, in numpy, so that every framework turns by the same ones."""

import numpy as np
import numpy.typing as npt

from workloads.sequence_layers import Attention


def rotary_angles(layer: Attention, steps: int) -> npt.NDArray[np.float32]:
    """Return the angle of every step and pair of units, [step, head_units / 2].

    Su et al. 2021, "RoFormer", section 3.2: step times base^(-2 i / head_units).
    """
    assert layer.rotary_base is not None, "the layer turns nothing"
    rates = layer.rotary_base ** (-np.arange(0, layer.head_units, 2) / layer.head_units)
    return np.outer(np.arange(steps), rates).astype(np.float32)
