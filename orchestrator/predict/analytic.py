"""A step of an image classifier on a GPU from analytic counts alone: a sum of parts, fitted to measurements.

step = a flops / peak + b value bytes / bandwidth + c weight bytes / bandwidth + d 10 us x layers + e 1 ms

The coefficients are not negative and minimise the mean of (prediction / measured - 1)^2 + 0.03^2 x the sum of
their squares. The interval is a factor to both sides that holds 90% of the measurements of models that were
held out, each of them once; for a kind of GPU without measurements its device is held out with the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.predict.conformal import log_errors, quantile_of
from orchestrator.predict.demand import Demand
from orchestrator.predict.pairs import Floats

_LAYER_SECONDS, _STEP_SECONDS = 1e-5, 1e-3
_PULL = 0.03
_BEYOND = 2.0  # how far beyond all that was measured a sum of parts is still believed
_COUNTS = ("flops", "value_bytes", "weight_bytes", "layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytic:
    """Fitted to one kind of GPU, or to several together.

    Attributes:
        coefficients: a to e.
        factor: of the interval to both sides.
        least, most: of each count of `Demand` but the last that was fitted, by its name.
        measurements: how many workloads it was fitted to.
        source: on what they were measured.
    """

    coefficients: tuple[float, ...]
    factor: float
    least: dict[str, float]
    most: dict[str, float]
    measurements: int
    source: str

    def step_seconds(
        self, demand: Demand, *, flops_per_second: float, bytes_per_second: float
    ) -> Estimate | Refusal:
        """On a GPU with such peaks; refused for a step far smaller or larger than all that were fitted."""
        for name in _COUNTS:
            asked = getattr(demand, name)
            if not self.least[name] / _BEYOND <= asked <= self.most[name] * _BEYOND:
                return Refusal(
                    reason=f"{name.replace('_', ' ')} {asked:.2g}, measured were {self.least[name]:.2g} "
                    f"to {self.most[name]:.2g}",
                    to_measure="this workload there",
                )
        parts = parts_of(demand, flops_per_second=flops_per_second, bytes_per_second=bytes_per_second)
        likely = float(parts @ np.array(self.coefficients))
        return Estimate(
            low=likely / self.factor, likely=likely, high=likely * self.factor, source=self.source
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One workload on one device: what it asks for, what the device could do, and what it took."""

    device: str
    model: str
    demand: Demand
    parts: tuple[float, ...]
    step_seconds: float


def parts_of(demand: Demand, *, flops_per_second: float, bytes_per_second: float) -> Floats:
    """[part] seconds before the coefficients."""
    return np.array(
        (
            demand.flops / flops_per_second,
            demand.value_bytes / bytes_per_second,
            demand.weight_bytes / bytes_per_second,
            demand.layers * _LAYER_SECONDS,
            _STEP_SECONDS,
        )
    )


def fit_analytic(measured: Sequence[Measured], *, for_new_devices: bool, source: str) -> Analytic:
    """Fit to all; the interval is of each model, and for new devices of each device too, held out."""
    rows = _Rows.of(measured)
    errors = []
    for device, model in sorted({(each.device, each.model) for each in measured}):
        tested = (rows.devices == device) & (rows.models == model)
        trained = rows.models != model
        if for_new_devices:
            trained &= rows.devices != device
        predicted = rows.parts[tested] @ _coefficients(rows.parts[trained], rows.step_seconds[trained])
        errors.append(np.abs(log_errors(predicted, rows.step_seconds[tested])))
    counts = {name: [float(getattr(each.demand, name)) for each in measured] for name in _COUNTS}
    return Analytic(
        coefficients=tuple(_coefficients(rows.parts, rows.step_seconds).tolist()),
        factor=float(np.exp(quantile_of(np.concatenate(errors)))),
        least={name: min(each) for name, each in counts.items()},
        most={name: max(each) for name, each in counts.items()},
        measurements=len(measured),
        source=source,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Measurements as arrays."""

    devices: NDArray[np.str_]
    models: NDArray[np.str_]
    parts: Floats
    step_seconds: Floats

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> "_Rows":
        return cls(
            devices=np.array([each.device for each in measured]),
            models=np.array([each.model for each in measured]),
            parts=np.array([each.parts for each in measured]),
            step_seconds=np.array([each.step_seconds for each in measured]),
        )


def _coefficients(parts: Floats, step_seconds: Floats) -> Floats:
    """Non-negative least squares of relative errors: Lawson and Hanson 1974."""
    size = parts.shape[1]
    pull = _PULL * np.sqrt(len(step_seconds)) * np.eye(size)
    rows = np.vstack((parts / step_seconds[:, None], pull))
    found: Floats = nnls(rows, np.concatenate((np.ones(len(step_seconds)), np.zeros(size))))[0]
    return found
