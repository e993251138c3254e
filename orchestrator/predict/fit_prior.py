"""Published measurements -> how far devices, workloads and repeats lie apart."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from orchestrator.predict.analytic import Measured
from orchestrator.predict.conformal import quantile_of
from orchestrator.predict.fit_analytic import held_out_logs
from orchestrator.predict.pairs import Floats
from orchestrator.predict.prior import Prior, learned_from


def fit_prior(measured: Sequence[Measured], *, repeat: float) -> Prior:
    """Of at least two models on at least two devices.

    Args:
        repeat: deviation of the logarithms of repeats.
    """
    by_device: dict[str, dict[str, Floats]] = defaultdict(dict)
    for (device, model), found in held_out_logs(measured, for_new_devices=True).items():
        by_device[device][model] = found
    means = {device: np.mean([each.mean() for each in logs.values()]) for device, logs in by_device.items()}
    left = [each - means[device] for device, logs in by_device.items() for each in logs.values()]
    between = float(np.sqrt(np.mean(np.square(list(means.values())))))
    within = float(np.concatenate(left).std())
    freedom = len({each.model for each in measured}) - 1
    one = learned_from([1.0], device=between, workload=within, freedom=freedom)
    errors = [
        np.subtract.outer(asked, one.mean * measured_once).ravel()
        for logs in by_device.values()
        for model, asked in logs.items()
        for other, measured_once in logs.items()
        if other != model
    ]
    return Prior(
        device=between,
        workload=within,
        repeat=repeat,
        freedom=freedom,
        quantile=quantile_of(np.abs(np.concatenate(errors))) / one.deviation,
    )
