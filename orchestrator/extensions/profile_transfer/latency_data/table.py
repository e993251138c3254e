"""Measured step latencies of models on devices, with op profiles: what predictors learn from."""

import re
from dataclasses import dataclass

import pandas as pd

KEYS = ("device", "model", "batch_size", "image_size", "repeat")
"""Columns in which measurements differ. `image_size` is NaN for a model without images."""

WORKLOAD = ("model", "batch_size", "image_size")
"""Columns of the computed step, on any device."""

DEVICE_OP = "Device_"
HOST_OP = "Host_"
"""Prefixes of the names of ops that the accelerator computes, and the host beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyTable:
    """Measurements, one a row.

    Attributes:
        rows: columns KEYS, `family` (models that are built alike), `step_seconds` (one optimizer step) and
            `usd_per_hour` (of the device with its host; NaN: unknown).
        op_seconds: column per op, `Device_Conv2D` or `Host_IDLE`; time in it during one step. Only rows of
            `rows` that were profiled, by the same index.
        source: path of the file, for messages.
    """

    rows: pd.DataFrame
    op_seconds: pd.DataFrame
    source: str

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices in alphabetical order."""
        return tuple(sorted(self.rows["device"].unique()))

    @property
    def profiled_devices(self) -> tuple[str, ...]:
        """Devices from which others can be predicted."""
        return tuple(sorted(self.rows.loc[self.op_seconds.index, "device"].unique()))

    def usd_per_hour(self, device: str) -> float | None:
        """Return the device's dollars per hour; None where it is unknown."""
        prices = self.rows.loc[self.rows["device"] == device, "usd_per_hour"].dropna()
        return float(prices.iloc[0]) if len(prices) else None


def device_ops(op_seconds: pd.DataFrame) -> list[str]:
    """Columns of ops on the accelerator, including its idle time."""
    return [column for column in op_seconds.columns if column.startswith(DEVICE_OP)]


_TOYS = "toy"

_BY_BEGINNING = {
    "alexnet": "alexnet",
    "cifar": _TOYS,
    "densenet": "densenet",
    "efficientnet": "efficientnet",
    "inception": "inception",
    "lenet": _TOYS,
    "mnist": _TOYS,
    "mobilenet": "mobilenet",
    "nasnet": "nasnet",
    "resnet": "resnet",
    "vgg": "vgg",
    "xception": "xception",
}
"""Prefix of a lower-case name -> family. A network of a few layers for small images is a toy."""


def find_family(model: str) -> str:
    """Find the family of a name; of an unknown name, the letters with which it begins."""
    name = model.lower()
    for beginning, family in _BY_BEGINNING.items():
        if name.startswith(beginning):
            return family
    letters = re.match(r"[^\W\d_]+", name)
    return letters.group() if letters else name
