"""A small world of devices whose steps are sums of op times: latencies of known make, in both layouts."""

from pathlib import Path

import pandas as pd

from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable
from orchestrator.extensions.profile_transfer.models.pairs import Pair, build_pair

MODELS = {
    "VGG11": (8.0, 1.0, 1.0),
    "VGG16": (14.0, 1.0, 1.5),
    "ResNet18": (5.0, 0.1, 4.0),
    "ResNet50": (8.0, 0.1, 9.0),
    "AlexNet": (3.0, 4.0, 0.5),
    "LeNet5": (0.2, 0.1, 0.2),
}
"""Milliseconds of convolution, matrix product and all else on the slow device, batch 16, 64 x 64 pixels."""

SLOW, FAST = "g4dn.xlarge", "p3.2xlarge"
SPEED_UPS = (3.0, 4.0, 2.5)
"""Of those three kinds of ops, from the slow device to the fast one."""

BATCHES = (16, 64)
SIZES = (32, 64)
LAUNCH_MS = 2.0
"""What a step takes on either device beside its ops."""


def workloads():
    """(model, batch, pixels, milliseconds of the three kinds of ops on the slow device)."""
    for model, parts in MODELS.items():
        for batch in BATCHES:
            for pixels in SIZES:
                scale = batch / 16 * (pixels / 64) ** 2
                yield model, batch, pixels, [part * scale for part in parts]


def step_ms(parts, *, on=SLOW):
    """Milliseconds of a step of such parts."""
    speed_ups = SPEED_UPS if on == FAST else (1.0, 1.0, 1.0)
    return LAUNCH_MS + sum(part / factor for part, factor in zip(parts, speed_ups, strict=True))


def published_frame(anchor=SLOW):
    """Build an anchor's file of the published data: seconds, and microseconds of two steps and of the
    target.
    """
    target = FAST if anchor == SLOW else SLOW
    speed_ups = SPEED_UPS if anchor == FAST else (1.0, 1.0, 1.0)
    rows = []
    for repeat in ("exp01", "exp02"):
        for model, batch, pixels, parts in workloads():
            conv, dense, rest = (2e3 * part / factor for part, factor in zip(parts, speed_ups, strict=True))
            rows.append(
                {
                    "Device_Conv2D": conv,
                    "Device_MatMul": dense,
                    "Device_Relu": rest,
                    "Device_IDLE": 2e3 * LAUNCH_MS,
                    "Host_IDLE": 9e3,
                    "exp_name": repeat,
                    "instance_name": anchor,
                    "dataset": f"{pixels}dataset",
                    "model": model,
                    "optimizer": "SGD",
                    "batchsize": batch,
                    "epoch_latency": 10.0,
                    "batch_latency": step_ms(parts, on=anchor) / 1e3,
                    target: step_ms(parts, on=target) * 1e3,
                }
            )
    return pd.DataFrame(rows)


def schema_frame():
    """The slow device of the same world in the documented schema."""
    published = published_frame()
    return pd.DataFrame(
        {
            "device": "t4",
            "model": published["model"],
            "batch_size": published["batchsize"],
            "image_size": published["dataset"].str.removesuffix("dataset").astype(int),
            "repeat": published["exp_name"],
            "step_milliseconds": published["batch_latency"] * 1e3,
            "profiled_steps": 2,
            "device_op_microseconds.Conv2D": published["Device_Conv2D"],
            "device_op_microseconds.IDLE": published["Device_IDLE"],
            "host_op_microseconds.IDLE": published["Host_IDLE"],
        }
    )


def both_ways(folder: Path) -> LatencyTable:
    """The whole world, each device as anchor of the other."""
    for anchor in (SLOW, FAST):
        published_frame(anchor).to_csv(folder / f"anchor_{anchor}.csv", index=False)
    return read_latencies(folder)


def known_pair(folder: Path) -> Pair:
    """Build a pair from the slow device to the fast one."""
    return build_pair(both_ways(folder), anchor=SLOW, target=FAST)
