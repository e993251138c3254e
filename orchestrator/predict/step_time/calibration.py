"""Measured figures of the user's device and host, which replace assumed ones in a predicted step. Pure."""

from dataclasses import replace

from orchestrator.core.calibration import DeviceBenchmark
from orchestrator.predict.step_time.analytic import DevicePeaks, StepParts

PRODUCT_OF_PEAK = 0.85
"""Share of its published peak that a product of large matrices attains: an assumption."""

COPY_OF_PEAK = 0.85
"""Share of its published peak that the copy of a large array attains: an assumption."""

SMALL_LAYERS_OF_A_LAYER = 1.67
"""Small layers of the benchmark that a layer costs the host as much as: of ResNet50 on an H100
(docs/findings/h100.md)."""


def calibrated_peaks(peaks: DevicePeaks, benchmark: DeviceBenchmark) -> DevicePeaks:
    """Replace published peaks by those that a device with the measured rates would have."""
    measured = {name: rate / PRODUCT_OF_PEAK for name, rate in benchmark.flops_per_second.items()}
    memory, link = benchmark.memory_bytes_per_second, benchmark.exchange_bytes_per_second
    return replace(
        peaks,
        flops_per_second={**peaks.flops_per_second, **measured},
        memory_bytes_per_second=peaks.memory_bytes_per_second if memory is None else memory / COPY_OF_PEAK,
        link_bytes_per_second=link or peaks.link_bytes_per_second,
    )


def calibrated_parts(
    parts: StepParts, benchmark: DeviceBenchmark, *, precision: str, layers: int
) -> StepParts:
    """Replace the assumed work of the host by the measured one."""
    layer = benchmark.layer_seconds.get(precision)
    if layer is None:
        return parts
    host = SMALL_LAYERS_OF_A_LAYER * layer * layers + benchmark.step_seconds.get(precision, 0.0)
    return replace(parts, host=host)
