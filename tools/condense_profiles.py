"""Condense published profiles, and print them as CSV in the documented schema.

    python tools/condense_profiles.py $ORCHESTRATOR_DATA/profet > default_profiles.csv

The package reads the file from orchestrator/extensions/profile_transfer/data/.

One row per workload and device, the median of its repeats. Device ops are summed by class under the name of
one op of the class. Host ops are left out, because our transfer method does not use them.
"""

import sys
from collections.abc import Mapping, Sequence

import numpy as np
from latency_tool import print_converted
from published_networks import PUBLISHED_DEVICES

from orchestrator.extensions.profile_transfer.latency_data.table import WORKLOAD, LatencyTable
from orchestrator.extensions.profile_transfer.models.network_counts import COUNTS
from orchestrator.extensions.profile_transfer.models.op_classes import OP_CLASSES, class_seconds
from orchestrator.extensions.profile_transfer.models.pairs import Profiles

REPRESENTATIVES: Mapping[str, str] = {
    "idle": "IDLE",
    "elementwise": "Elementwise",
    "convolution_to_kernel": "Conv2DBackpropFilter",
    "convolution_to_input": "Conv2DBackpropInput",
    "convolution": "Conv2D",
    "product": "MatMul",
    "normalisation": "FusedBatchNormV3",
    "pooling": "MaxPool",
    "update": "ResourceApplyGradientDescent",
    "transfer": "_Send",
}
"""Op class -> name of the op that stands for its sum."""

_MICROSECONDS = 1e6
_DIGITS = 5


def reduce_profiles(table: LatencyTable, *, names: Mapping[str, str]) -> str:
    """Return the condensed table as CSV text.

    Args:
        names: device -> its new name.
    """
    rows = table.rows.loc[table.op_seconds.index]
    classes = class_seconds(
        Profiles(
            ops=tuple(table.op_seconds.columns),
            op_seconds=table.op_seconds.to_numpy(),
            step_seconds=rows["step_seconds"].to_numpy(),
            counts=np.full((len(rows), len(COUNTS)), np.nan),
        )
    )
    columns = {
        f"device_op_microseconds.{REPRESENTATIVES[name]}": classes[:, place]
        for place, name in enumerate(OP_CLASSES)
    }
    renamed = rows["device"].replace(dict(names))
    wide = rows.assign(device=renamed, step_microseconds=rows["step_seconds"], **columns)
    times = ["step_microseconds", *columns]
    middle = wide.groupby(["device", "family", *WORKLOAD], dropna=False)[times].median() * _MICROSECONDS
    rounded = middle.map(lambda value: float(f"{value:.{_DIGITS}g}")).reset_index()
    whole = {"batch_size": "Int64", "image_size": "Int64"}
    text: str = rounded.astype(whole).assign(profiled_steps=1).to_csv(index=False)
    return text


def profiles_text(table: LatencyTable) -> str:
    """Return the condensed table as CSV text, with the lower-case names of the GPUs for the instances."""
    names = {instance: device.gpu.lower() for instance, device in PUBLISHED_DEVICES.items()}
    return reduce_profiles(table, names=names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Return 2 after one line if the data cannot be read."""
    return print_converted(profiles_text, arguments, description=__doc__)


if __name__ == "__main__":
    sys.exit(main())
