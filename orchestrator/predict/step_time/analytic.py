"""Parts of a step from analytic counts alone: work of the device, work of the host, exchange of gradients.

    device   = (a flops / peak + b value bytes / bandwidth + c weight bytes / bandwidth) x replicas^g
    host     = (d 10 us x layers + e 1 ms) x launches of the precision
    step     = sqrt(device^2 + host^2) + exchange; on a CPU device + host

A host launches the work of a step while the device does the work before. So the longer of the two counts,
and where they are alike, neither hides the other wholly. Of the host nothing shrinks with a device's peak.
A CPU does both, one after the other. The flops are those of the algorithm that a device takes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.device import Device, DeviceKind
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.predict.step_time.roofline import StepCost

COUNTS = ("flops", "value_bytes", "weight_bytes", "layers")
"""Fields of a demand that say how large a step is."""

LAUNCH_SECONDS = 1e-5
"""Seconds from one small operation to the next of which the coefficients of the host are multiples."""

_STEP_SECONDS = 1e-3

_WINOGRAD_SAVING = 2.25
"""Multiplications of a 3x3 convolution over those of Winograd's F(2x2, 3x3): Lavin and Gray 2016, "Fast
Algorithms for Convolutional Neural Networks". cuDNN takes it in float32."""

_BEYOND = 2.0  # how far beyond all that was measured a sum of parts is still believed

LAUNCHES: Mapping[str, float] = {"bf16": 1.1, "fp16": 1.45}
"""Precision -> launches over those of fp32: casts of inputs and weights, and for fp16 the scaling of the loss
and the check of all gradients. Medians of an H100 (benchmarks/measured/, docs/findings/h100.md)."""

_COMPILED_LAUNCHES = 0.2
"""Share of the host's work in each layer that is left where the whole step is one program, and cast in it: an
assumption, for TPUs."""

_PROGRAM_SECONDS = 2e-3
"""Seconds of the host until such a program has its inputs and runs on all cores: an assumption."""

_PASSES: Mapping[str, float] = {"tpu_default": 1.0, "fp32": 6.0}
"""Precision -> passes of bfloat16 in which a TPU multiplies, as XLA documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePeaks:
    """Peaks of a device, as they bound its work.

    Attributes:
        replicas: data-parallel replicas of one device.
        flops_per_second: precision -> peak of the whole device.
        memory_bytes_per_second: peak of its own memory; None: unknown.
        link_bytes_per_second: most that one of its chips exchanges with others; None: unknown.
    """

    name: str
    kind: DeviceKind
    replicas: int
    flops_per_second: Mapping[str, float]
    memory_bytes_per_second: float | None
    link_bytes_per_second: float | None


def peaks_at_work(device: Device) -> DevicePeaks:
    """Return the peaks of a device, on TPUs those of products in several passes too."""
    peaks = dict(device.peak_flops_per_second)
    if device.kind == "tpu" and "bf16" in peaks:
        peaks |= {name: peaks["bf16"] / passes for name, passes in _PASSES.items() if name not in peaks}
    return DevicePeaks(
        name=device.name,
        kind=device.kind,
        replicas=device.replicas,
        flops_per_second=peaks,
        memory_bytes_per_second=device.memory_bytes_per_second,
        link_bytes_per_second=device.link_bytes_per_second,
    )


def beyond(demand: StepCost, *, least: Mapping[str, float], most: Mapping[str, float]) -> Refusal | None:
    """Explain why steps this small or large are unknown; None where measured steps resemble it."""
    for name in COUNTS:
        amount = getattr(demand, name)
        if not least[name] / _BEYOND <= amount <= most[name] * _BEYOND:
            return Refusal(
                reason=f"{name.replace('_', ' ')} {amount:.2g}, measured were {least[name]:.2g} "
                f"to {most[name]:.2g}",
                to_measure="this point",
            )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts:
    """Seconds of the parts of one step.

    Attributes:
        overlap: False on a CPU, which does the work of device and host itself.
    """

    device: float
    host: float
    exchange: float
    overlap: bool = True

    @property
    def seconds(self) -> float:
        """Seconds of the step."""
        return self._work + self.exchange

    @property
    def device_share(self) -> float:
        """Share of a change of the device's part, in logarithms, that the step takes over."""
        return self._share_of(self.device)

    @property
    def host_share(self) -> float:
        """The same for the host's part."""
        return self._share_of(self.host)

    @property
    def _work(self) -> float:
        return math.hypot(self.device, self.host) if self.overlap else self.device + self.host

    def _share_of(self, part: float) -> float:
        return part**2 / (self._work * self.seconds) if self.overlap else part / self.seconds

    def times(self, *, device: float, host: float) -> "StepParts":
        """Return the parts with other seconds of device and host, by such factors."""
        return replace(self, device=self.device * device, host=self.host * host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytic:
    """Fitted to published measurements of several kinds of GPU together.

    Attributes:
        coefficients: a to e.
        replicas_power: g, not negative.
        measurements: number of fitted steps.
        source: on what they were measured.
    """

    coefficients: tuple[float, ...]
    replicas_power: float
    measurements: int
    source: str

    def parts(
        self, demand: StepCost, *, peaks: DevicePeaks, precision: str, num_workers: int
    ) -> StepParts | None:
        """Return the parts of a step on so many devices; None where a peak is unknown.

        Args:
            demand: of all devices together.
        """
        replicas = num_workers * peaks.replicas
        exchanged = 2 * (replicas - 1) / replicas * demand.gradient_bytes
        terms = self.terms(demand, peaks=peaks, precision=precision, num_workers=num_workers)
        if terms is None or (exchanged and peaks.link_bytes_per_second is None):
            return None
        return StepParts(
            device=float(terms[:3].sum()) * replicas**self.replicas_power,
            host=_host_seconds(float(terms[3]), float(terms[4]), kind=peaks.kind, precision=precision),
            exchange=exchanged / peaks.link_bytes_per_second if peaks.link_bytes_per_second else 0.0,
            overlap=peaks.kind != "cpu",
        )

    def terms(
        self, demand: StepCost, *, peaks: DevicePeaks, precision: str, num_workers: int
    ) -> NDArray[np.float64] | None:
        """Return the seconds of every coefficient's term, before what replicas, kinds and precisions change.

        None where a peak is unknown.
        """
        flops, memory = peaks.flops_per_second.get(precision), peaks.memory_bytes_per_second
        if flops is None or memory is None:
            return None
        whole = replace(
            demand,
            flops=performed_flops(demand, kind=peaks.kind, precision=precision),
            weight_bytes=num_workers * peaks.replicas * demand.weight_bytes,
        )
        rates = {"flops_per_second": num_workers * flops, "bytes_per_second": num_workers * memory}
        seconds: NDArray[np.float64] = parts_of(whole, **rates) * np.array(self.coefficients)
        return seconds


def around(likely: float, *, factor: float, source: str) -> Estimate:
    """Return an estimate whose interval is a factor to both sides."""
    return Estimate(low=likely / factor, likely=likely, high=likely * factor, source=source)


def performed_flops(demand: StepCost, *, kind: DeviceKind, precision: str) -> float:
    """Return the operations of the algorithms that a device takes: Winograd's on a GPU in float32."""
    if (kind, precision) != ("gpu", "fp32"):
        return demand.flops
    return demand.flops - (1 - 1 / _WINOGRAD_SAVING) * demand.winograd_flops


def parts_of(demand: StepCost, *, flops_per_second: float, bytes_per_second: float) -> NDArray[np.float64]:
    """[part] seconds before the coefficients."""
    return np.array(
        (
            demand.flops / flops_per_second,
            demand.value_bytes / bytes_per_second,
            demand.weight_bytes / bytes_per_second,
            demand.layers * LAUNCH_SECONDS,
            _STEP_SECONDS,
        )
    )


def _host_seconds(of_layers: float, of_step: float, *, kind: DeviceKind, precision: str) -> float:
    if kind == "tpu":
        return _COMPILED_LAUNCHES * of_layers + of_step + _PROGRAM_SECONDS
    return (of_layers + of_step) * LAUNCHES.get(precision, 1.0)
