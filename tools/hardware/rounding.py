"""Rounding of float32 products and convolutions under a precision, against float64."""

import numpy as np
import torch

from orchestrator.core.device import DeviceKind
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import set_float32_rounding


def errors_of(precision: str, kind: DeviceKind) -> dict[str, float]:
    """Return the largest error of a 512 x 512 product and of a 3 x 3 convolution of 32 channels."""
    device = torch.device("cuda", 0) if kind == "gpu" else torch.device("cpu")
    rng = np.random.default_rng(0)
    left, right = (torch.from_numpy(rng.standard_normal((512, 512))) for _ in range(2))
    images = torch.from_numpy(rng.standard_normal((8, 32, 32, 32)))
    kernels = torch.from_numpy(rng.standard_normal((64, 32, 3, 3)))
    set_float32_rounding(PRECISIONS[precision], device)
    product = left.float().to(device) @ right.float().to(device)
    maps = torch.nn.functional.conv2d(
        images.float().to(device, memory_format=torch.channels_last), kernels.float().to(device)
    )
    exact_maps = torch.nn.functional.conv2d(images, kernels)
    return {
        "product": float((product.cpu().double() - left @ right).abs().max()),
        "convolution": float((maps.cpu().double() - exact_maps).abs().max()),
    }
