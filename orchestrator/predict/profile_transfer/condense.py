"""A latency table -> a small one in the documented schema, from which our own method learns the same.

One row a workload and device, the median of its repeats. Device ops are summed by class, each under the name
of one op of that class; host ops are left out, for the method does not see them.
"""

from collections.abc import Mapping

from orchestrator.predict.latency_data.table import WORKLOAD, LatencyTable
from orchestrator.predict.profile_transfer.op_classes import OP_CLASSES, class_seconds
from orchestrator.predict.profile_transfer.pairs import Profiles

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
"""Class -> the op that its sum is written as."""

_MICROSECONDS = 1e6
_DIGITS = 5


def reduce_profiles(table: LatencyTable, *, names: Mapping[str, str]) -> str:
    """The CSV text.

    Args:
        names: device -> the name that it is to have.
    """
    rows = table.rows.loc[table.op_seconds.index]
    classes = class_seconds(
        Profiles(
            ops=tuple(table.op_seconds.columns),
            op_seconds=table.op_seconds.to_numpy(),
            step_seconds=rows["step_seconds"].to_numpy(),
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
