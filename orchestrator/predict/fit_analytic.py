"""Measurements -> the coefficients of a sum of parts, and the factor of its interval.

The coefficients are not negative and minimise the mean of (prediction / measured - 1)^2 + 0.03^2 x the sum of
their squares. The interval is a factor to both sides that holds 90% of the measurements of models that were
held out, each of them once; for a kind of GPU without measurements its device is held out with the model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from orchestrator.predict.analytic import COUNTS, Analytic, Measured
from orchestrator.predict.conformal import log_errors, quantile_of
from orchestrator.predict.pairs import Floats

_PULL = 0.03


def fit_analytic(measured: Sequence[Measured], *, for_new_devices: bool, source: str) -> Analytic:
    """Fit to all; the interval is of each model, and for new devices of each device too, held out."""
    rows = _Rows.of(measured)
    errors = np.concatenate(list(held_out_logs(measured, for_new_devices=for_new_devices).values()))
    counts = {name: [float(getattr(each.demand, name)) for each in measured] for name in COUNTS}
    return Analytic(
        coefficients=tuple(_coefficients(rows.parts, rows.step_seconds).tolist()),
        factor=float(np.exp(quantile_of(np.abs(errors)))),
        least={name: min(each) for name, each in counts.items()},
        most={name: max(each) for name, each in counts.items()},
        measurements=len(measured),
        source=source,
    )


def held_out_logs(measured: Sequence[Measured], *, for_new_devices: bool) -> Mapping[tuple[str, str], Floats]:
    """(device, model) -> log(measured / predicted) of its rows by a fit to all other models.

    Args:
        for_new_devices: to other devices' too.
    """
    rows = _Rows.of(measured)
    found = {}
    for device, model in sorted({(each.device, each.model) for each in measured}):
        tested = (rows.devices == device) & (rows.models == model)
        trained = rows.models != model
        if for_new_devices:
            trained &= rows.devices != device
        predicted = rows.parts[tested] @ _coefficients(rows.parts[trained], rows.step_seconds[trained])
        found[device, model] = log_errors(predicted, rows.step_seconds[tested])
    return found


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
