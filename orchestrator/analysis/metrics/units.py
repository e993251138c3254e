"""Units of the metrics in MLflow, whose pages round to two decimals. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

_THOUSAND = 1000.0

TRACKED_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "step_seconds_median": "step_ms",
        "step_seconds_low": "step_ms_low",
        "step_seconds_high": "step_ms_high",
        "first_step_seconds": "first_step_ms",
        "warmup_seconds": "warmup_ms",
        "checkpoint_seconds": "checkpoint_ms",
        "evaluation_seconds": "evaluation_ms",
        "pursuit_evaluation_seconds": "pursuit_evaluation_ms",
        "data_wait_seconds": "data_wait_ms",
        "accelerator_joules_per_sample": "accelerator_millijoules_per_sample",
        "host_joules_per_sample": "host_millijoules_per_sample",
        "usd_per_million_samples": "usd_per_billion_samples",
        "usd_to_target": "millidollars_to_target",
        "attempt_usd": "attempt_millidollars",
    }
)
"""Metric -> its name in MLflow, where its value is a thousand times larger."""


def in_tracked_units(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics of an attempt under their names in MLflow and in the units of these names."""
    return {
        TRACKED_NAMES.get(name, name): value * _THOUSAND if name in TRACKED_NAMES else value
        for name, value in metrics.items()
    }
