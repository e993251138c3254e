"""Names and units of metrics on a server: MLflow folds names by section, and rounds to two decimals. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

_MILLI = 1e3
_GIB = 2.0**-30

TRACKED: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "steady_samples_per_second": ("time/samples_per_second", 1),
        "steady_tokens_per_second": ("time/tokens_per_second", 1),
        "step_seconds_median": ("time/step_ms", _MILLI),
        "step_seconds_low": ("time/step_ms_low", _MILLI),
        "step_seconds_high": ("time/step_ms_high", _MILLI),
        "last_phase_step_seconds": ("time/last_phase_step_ms", _MILLI),
        "epoch_seconds": ("time/epoch_seconds", 1),
        "run_seconds": ("time/run_seconds", 1),
        "launch_seconds": ("time/launch_seconds", 1),
        "setup_seconds": ("time/setup_seconds", 1),
        "first_step_seconds": ("time/first_step_ms", _MILLI),
        "warmup_seconds": ("time/warmup_ms", _MILLI),
        "training_seconds": ("time/training_seconds", 1),
        "resumed_from_step": ("time/resumed_from_step", 1),
        "resumed_seconds": ("time/resumed_seconds", 1),
        "checkpoint_seconds": ("time/checkpoint_ms", _MILLI),
        "evaluation_seconds": ("time/evaluation_ms", _MILLI),
        "pursuit_evaluation_seconds": ("time/pursuit_evaluation_ms", _MILLI),
        "seconds_to_target": ("time/seconds_to_target", 1),
        "steps_to_target": ("time/steps_to_target", 1),
        "data_wait_seconds": ("time/data_wait_ms", _MILLI),
        "pipeline_samples_per_second": ("time/pipeline_samples_per_second", 1),
        "communication_share": ("time/communication_share", 1),
        "flops_per_step": ("time/flops_per_step", 1),
        "mfu": ("time/mfu", 1),
        "mfu_calibrated": ("time/mfu_calibrated", 1),
        "calibrated_flops_per_second": ("time/calibrated_flops_per_second", 1),
        "roofline_fraction": ("time/roofline_fraction", 1),
        "usd_per_million_samples": ("cost/usd_per_million_samples", 1),
        "usd_per_million_tokens": ("cost/usd_per_million_tokens", 1),
        "usd_to_target": ("cost/usd_to_target", 1),
        "attempt_usd": ("cost/usd", 1),
        "billed_node_seconds": ("cost/billed_node_seconds", 1),
        "accelerator_joules": ("cost/accelerator_joules", 1),
        "host_joules": ("cost/host_joules", 1),
        "accelerator_joules_per_sample": ("cost/accelerator_millijoules_per_sample", _MILLI),
        "host_joules_per_sample": ("cost/host_millijoules_per_sample", _MILLI),
        "energy_bound_joules_tdp": ("cost/energy_bound_joules_tdp", 1),
        "final_loss": ("quality/final_training_loss", 1),
        "best_quality": ("quality/best_on_the_way_to_the_target", 1),
        "peak_host_bytes": ("memory/peak_host_gib", _GIB),
        "peak_device_bytes": ("memory/peak_device_gib", _GIB),
        "bytes_per_step": ("memory/traffic_bytes_per_step", 1),
        "cpu_seconds": ("system/cpu_seconds", 1),
        "core_wait_seconds": ("system/core_wait_ms", _MILLI),
        "load_average": ("system/load_average", 1),
    }
)
"""Metric -> its name on the server, and the factor from its unit to that name's."""

_TAKEN = frozenset({"quality/training_loss", *(name for name, _ in TRACKED.values())})
"""Names that no quality of a workload may take: the first is the curve of the loss."""


def in_tracked_units(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics of an attempt under their names on the server, in the units of these names.

    Where two names would become one, that which needs no other change keeps it, and the other ends in `_`.
    """
    found: dict[str, float] = {}
    for name in sorted(metrics, key=lambda name: (not _tracked(name, 0)[0].endswith(f"/{name}"), name)):
        tracked_name, value = _tracked(name, metrics[name])
        while tracked_name in found:
            tracked_name += "_"
        found[tracked_name] = value
    return found


def _tracked(name: str, value: float) -> tuple[str, float]:
    if name in TRACKED:
        tracked_name, factor = TRACKED[name]
        return tracked_name, value * factor
    if name.startswith("phase_seconds."):
        return f"time/{name}", value
    # without the prefix that distinguishes a quality from a number or parameter: the section does that
    plain = f"quality/{name.removeprefix('quality.')}"
    return f"{plain}_at_the_end" if plain in _TAKEN else plain, value
