"""Op names -> a few classes of ops that speed up alike from one device to another."""

import re

import numpy as np

from orchestrator.extensions.profile_transfer.latency_data.table import DEVICE_OP
from orchestrator.extensions.profile_transfer.models.pairs import Floats, Profiles

_RULES = (
    ("idle", r"^idle$"),
    ("elementwise", r"depthwise"),  # before the convolutions: bound by memory as elementwise ops are
    ("convolution_to_kernel", r"conv.*backprop_?filter"),
    ("convolution_to_input", r"conv.*backprop_?input|convolution_backward"),
    ("convolution", r"conv"),
    ("product", r"matmul|gemm|addmm|::b?mm$"),
    ("normalisation", r"norm"),
    ("pooling", r"pool"),
    ("update", r"^resourceapply"),
    ("transfer", r"send$|recv$|memcpy"),
)
"""(class, part of the name of one of its ops in upper or lower case), the first that fits: TensorFlow's and
PyTorch's names."""

IDLE = "idle"
_OTHERS = "elementwise"
OP_CLASSES = tuple(dict.fromkeys((*(name for name, _ in _RULES), _OTHERS)))


def find_op_class(op: str) -> str:
    """Return the class of a device op's name without `Device_`; unknown ops are elementwise."""
    return next((name for name, has in _RULES if re.search(has, op, re.IGNORECASE)), _OTHERS)


def class_seconds(profiles: Profiles) -> Floats:
    """[row, class of OP_CLASSES] of one step; what the host did is left out."""
    sums = np.zeros((len(profiles.step_seconds), len(OP_CLASSES)))
    for column, op in enumerate(profiles.ops):
        if op.startswith(DEVICE_OP):
            place = OP_CLASSES.index(find_op_class(op.removeprefix(DEVICE_OP)))
            sums[:, place] += profiles.op_seconds[:, column]
    return sums


_LEAST_SECONDS = 1e-9  # of a device's ops, so that a logarithm exists


_LAYER_SECONDS = 1e-5  # of launches


def compute_features(profiles: Profiles, *, is_counted: bool) -> Floats:
    """[row, feature]: logarithm of the latency, of the busy time, busy share, share of each op class.

    Shares are of the latency.

    Args:
        is_counted: add the physics of the step: logarithms of operations, bytes of feature maps and bytes of
            weights over the latency, of launches over it, of operations over bytes, of the images, and of the
            pixels of an image. The rows have counts.
    """
    if is_counted:
        step = profiles.step_seconds
        flops, values, weights, layers, samples, pixels = profiles.counts.T
        rates = (flops / step, values / step, weights / step, _LAYER_SECONDS * layers / step)
        intensities = (flops / values, flops / (values + weights))
        logs: Floats = np.log(np.column_stack((*rates, *intensities, samples, pixels / samples)))
        return np.column_stack((_of_profile(profiles), logs))
    return _of_profile(profiles)


def _of_profile(profiles: Profiles) -> Floats:
    classes, step = class_seconds(profiles), profiles.step_seconds
    busy = classes.sum(axis=1) - classes[:, OP_CLASSES.index(IDLE)]
    shares = classes / step[:, None]
    return np.column_stack((np.log(step), np.log(np.maximum(busy, _LEAST_SECONDS)), busy / step, shares))
