"""Measured figures of the user's device and host, which replace assumed ones in a predicted step. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from orchestrator.core.calibration import DeviceBenchmark
from orchestrator.predict.step_time.analytic import LAUNCH_SECONDS, DevicePeaks, StepParts
from orchestrator.predict.step_time.crossed_effects import EffectsPosterior

PRODUCT_OF_PEAK = 0.85
"""Share of its published peak that a product of large matrices attains: an assumption."""

COPY_OF_PEAK = 0.85
"""Share of its published peak that the copy of a large array attains: an assumption."""

LAUNCHES_OF_A_LAYER = 12.0
"""Launches that a small layer of the benchmark stands for, forward, backward and update: of ResNet50 on an
H100 (docs/findings/h100.md)."""

_LEFT = 0.5
"""Share of the deviation of a machine's effects that is left after their measurement: an assumption."""

_OF_THE_MACHINE = ("balance", "precision", "device", "device at a precision", "machine")
_OF_THE_HOST = ("host",)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCalibration:
    """Measured figures of one host with its accelerator; None, or absent: not measured.

    Attributes:
        launch_seconds: from one small operation of the framework to the next, where the host is the slower.
        flops_per_second: precision -> rate of a product of large matrices, of one device.
        memory_bytes_per_second: read and written by a copy of a large array, of one device.
        exchange_bytes_per_second: sent and received by one replica in an all-reduce of a large array.
    """

    launch_seconds: float | None = None
    flops_per_second: Mapping[str, float] = field(default_factory=dict)
    memory_bytes_per_second: float | None = None
    exchange_bytes_per_second: float | None = None

    def tells_work(self, precision: str) -> bool:
        """Return whether both rates that bound the device's work are measured."""
        return precision in self.flops_per_second and self.memory_bytes_per_second is not None


def calibration_of(benchmark: DeviceBenchmark) -> HostCalibration:
    """Return the figures of a benchmark; launches are those of its steps in fp32."""
    layer = benchmark.layer_seconds.get("fp32")
    return HostCalibration(
        launch_seconds=layer / LAUNCHES_OF_A_LAYER if layer else None,
        flops_per_second=benchmark.flops_per_second,
        memory_bytes_per_second=benchmark.memory_bytes_per_second,
        exchange_bytes_per_second=benchmark.exchange_bytes_per_second,
    )


def calibrated_peaks(peaks: DevicePeaks, calibration: HostCalibration) -> DevicePeaks:
    """Replace published peaks by those that a device with the measured rates would have."""
    measured = {name: rate / PRODUCT_OF_PEAK for name, rate in calibration.flops_per_second.items()}
    memory, link = calibration.memory_bytes_per_second, calibration.exchange_bytes_per_second
    return replace(
        peaks,
        flops_per_second={**peaks.flops_per_second, **measured},
        memory_bytes_per_second=peaks.memory_bytes_per_second if memory is None else memory / COPY_OF_PEAK,
        link_bytes_per_second=link or peaks.link_bytes_per_second,
    )


def calibrated_parts(parts: StepParts, calibration: HostCalibration) -> StepParts:
    """Replace the assumed seconds of a launch by the measured ones."""
    launch = calibration.launch_seconds
    return parts if launch is None else parts.times(device=1.0, host=launch / LAUNCH_SECONDS)


def calibrated_effects(
    posterior: EffectsPosterior,
    *,
    calibration: HostCalibration,
    precision: str,
    deviations: Mapping[str, float],
) -> EffectsPosterior:
    """Narrow what is not known of the machine to what its measurement leaves.

    Args:
        posterior: of a step on a device that nothing was published of.
        deviations: of all effects.
    """
    found = posterior
    if calibration.tells_work(precision):
        known = _known_variance(_OF_THE_MACHINE, deviations, most=found.device_common)
        found = replace(
            found,
            device_variance=found.device_variance - known,
            device_common=found.device_common - known,
        )
    if calibration.launch_seconds is not None:
        known = _known_variance(_OF_THE_HOST, deviations, most=found.host_common)
        found = replace(
            found,
            host=0.0,
            host_variance=found.host_variance - known,
            host_common=found.host_common - known,
            covariance=0.0,
        )
    return found


def _known_variance(names: tuple[str, ...], deviations: Mapping[str, float], *, most: float) -> float:
    return (1 - _LEFT**2) * min(sum(deviations[name] ** 2 for name in names), most)
