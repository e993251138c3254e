"""A profile -> what the learned members of our predictor see."""

import numpy as np

from orchestrator.predict.op_classes import IDLE, OP_CLASSES, class_seconds
from orchestrator.predict.pairs import Floats, Profiles

_LEAST_SECONDS = 1e-9  # of a device's ops, so that a logarithm exists


def features_of(profiles: Profiles) -> Floats:
    """[row, feature]: logarithm of the latency, of the busy time, busy share, share of each op class.

    Shares are of the latency. Sizes of batch and image are in them already and changed nothing.
    """
    classes, step = class_seconds(profiles), profiles.step_seconds
    busy = classes.sum(axis=1) - classes[:, OP_CLASSES.index(IDLE)]
    shares = classes / step[:, None]
    return np.column_stack((np.log(step), np.log(np.maximum(busy, _LEAST_SECONDS)), busy / step, shares))
