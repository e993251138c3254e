"""PROFET's scalers: a latency at a batch or image size between two sizes at which it is known, on one device.

A model's curve over the sizes is scaled to [0, 1] between its ends. One polynomial of second order, shared by
all models of a device, gives the scaled curve (arXiv 2208.05130).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable
from orchestrator.extensions.profile_transfer.models.pairs import Floats

AXES = ("batch_size", "image_size")
_ORDER = 2
_LEAST_POINTS = 3  # of a curve: the ends, and one to predict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Latencies of one model on one device over one axis, while the other axis stands still.

    Attributes:
        sizes, step_seconds: [point] in order of the size.
    """

    model: str
    sizes: Floats
    step_seconds: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaler:
    """Scaler of one device and axis.

    Attributes:
        coefficients: polynomial of the scaled latency in size / largest size, highest power first.
        largest: size.
    """

    coefficients: Floats
    largest: float

    def step_seconds(self, sizes: Floats, *, at_smallest: float, at_largest: float) -> Floats:
        """[point] latencies at sizes between the smallest and the largest, from those at these two."""
        scaled: Floats = np.polyval(self.coefficients, sizes / self.largest).astype(np.float64)
        return scaled * (at_largest - at_smallest) + at_smallest


def fit_scaler(curves: Sequence[Curve]) -> Scaler:
    """Least squares over the points of all curves."""
    largest = max(float(curve.sizes[-1]) for curve in curves)
    sizes = np.concatenate([curve.sizes for curve in curves]) / largest
    scaled = np.concatenate([_scaled(curve.step_seconds) for curve in curves])
    return Scaler(coefficients=np.polyfit(sizes, scaled, _ORDER), largest=largest)


def build_curves(table: LatencyTable, *, device: str, axis: str) -> Iterator[Curve]:
    """The curves from the axis' smallest size on the device to its largest; repeats by their median."""
    other = next(other for other in AXES if other != axis)
    rows = table.rows[table.rows["device"] == device].dropna(subset=[axis])
    if rows.empty:
        return
    ends = {rows[axis].min(), rows[axis].max()}
    for (model, _), of_model in rows.groupby(["model", other], dropna=False):
        middle = of_model.groupby(axis)["step_seconds"].median()
        if len(middle) >= _LEAST_POINTS and ends <= set(middle.index):
            yield Curve(
                model=str(model), sizes=middle.index.to_numpy(dtype=float), step_seconds=middle.to_numpy()
            )


def held_out_errors(curves: Sequence[Curve]) -> Floats:
    """[point] |predicted / measured - 1| between the measured ends, by a scaler of the other models."""
    errors = []
    for curve in curves:
        others = [other for other in curves if other.model != curve.model]
        if others:
            ends = {"at_smallest": float(curve.step_seconds[0]), "at_largest": float(curve.step_seconds[-1])}
            predicted = fit_scaler(others).step_seconds(curve.sizes[1:-1], **ends)
            errors.append(np.abs(predicted / curve.step_seconds[1:-1] - 1))
    return np.concatenate(errors) if errors else np.empty(0)


def _scaled(step_seconds: Floats) -> Floats:
    """0 at the smallest size, 1 at the largest."""
    scaled: Floats = (step_seconds - step_seconds[0]) / (step_seconds[-1] - step_seconds[0])
    return scaled
