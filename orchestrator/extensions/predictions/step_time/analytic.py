"""Parts of a step from analytic counts alone: work of the device, work of the host, exchange of gradients.

    device   = (a flops / peak + b value bytes / bandwidth + c weight bytes / bandwidth
                + time steps x t + recurrent bytes / bandwidth) x replicas^g
    host     = (d 10 us x launched layers + e 1 ms) x launches of the precision + scaling of the loss
    step     = sqrt(device^2 + host^2) + exchange; on a CPU device + host
    exchange = (gradients reduced, then gathered; of shards: reduced, and weights gathered twice) / bandwidth

A host launches the work of a step while the device does the work before. So the longer of the two counts,
and where they are alike, neither hides the other wholly. Of the host nothing shrinks with a device's peak.
A CPU does both, one after the other. The flops are those of the algorithm that a device takes. Frozen weights
are read with c = 1, and unpacked with c / 2. Time steps of recurrent layers wait for each other, which costs
an accelerator t each.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.device import Device, DeviceKind
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.predictions.step_time.roofline import StepCost

COUNTS = ("flops", "value_bytes", "weight_bytes", "layers")
"""Fields of a demand with the size of a step."""

LAUNCH_SECONDS = 1e-5
"""Seconds from one small operation to the next of which the coefficients of the host are multiples."""

_STEP_SECONDS = 1e-3

_WINOGRAD_SAVING = 2.25
"""Multiplications of a 3x3 convolution over those of Winograd's F(2x2, 3x3): Lavin and Gray 2016, "Fast
Algorithms for Convolutional Neural Networks". cuDNN takes it in float32."""

_BEYOND = 2.0  # how far beyond all that was measured a sum of parts is still believed

LAUNCHES: Mapping[str, float] = {"bf16": 1.1, "fp16": 1.2}
"""Precision -> launches over those of fp32: casts of inputs and weights. Of steps of an H100
(benchmarks/measured/, docs/findings/h100.md)."""

LOSS_SCALING_SECONDS = 1.2e-3
"""Seconds of the host in each step of fp16: it scales the loss, and waits until it is known whether all
gradients are finite. Of the same steps."""

LAYERS_OF_A_TIME_STEP: Mapping[str, float] = {"bf16": 0.8}
"""Precision -> layers that cost a host as much as the launches of one time step of a recurrent layer: PyTorch
has no fused cells for bf16. Of two networks on an H100 (docs/findings/recurrent.md)."""

_UNPACKED_OF_TRAINED = 0.5
"""Seconds of a byte of weights that a pass unpacks over those of a byte that an update moves. Of 22 published
steps of QLoRA (docs/findings/prediction_accuracy.md)."""

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
        return self._compute_share(self.device)

    @property
    def host_share(self) -> float:
        """The same for the host's part."""
        return self._compute_share(self.host)

    @property
    def _work(self) -> float:
        return math.hypot(self.device, self.host) if self.overlap else self.device + self.host

    def _compute_share(self, part: float) -> float:
        return part**2 / (self._work * self.seconds) if self.overlap else part / self.seconds

    def times(self, *, device: float, host: float, exchange: float = 1.0) -> "StepParts":
        """Return the parts with other seconds, by such factors."""
        return replace(
            self, device=self.device * device, host=self.host * host, exchange=self.exchange * exchange
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytic:
    """Fitted to published measurements of several kinds of GPU together.

    Attributes:
        coefficients: a to e.
        time_step_seconds: t, from one time step of a recurrent layer to the next, forward and backward:
            measured of GPUs, and an assumption for TPUs.
        replicas_power: g, not negative.
        measurements: number of fitted steps.
        source: on what they were measured.
    """

    coefficients: tuple[float, ...]
    time_step_seconds: float
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
        exchanged = sum(demand.count_exchanges(replicas))
        terms = self.terms(demand, peaks=peaks, precision=precision, num_workers=num_workers)
        if terms is None or (exchanged and peaks.link_bytes_per_second is None):
            return None
        return StepParts(
            device=(float(terms[:3].sum()) + self.sequence_seconds(demand, peaks))
            * replicas**self.replicas_power,
            host=sum(host_seconds(float(terms[3]), float(terms[4]), kind=peaks.kind, precision=precision)),
            exchange=exchanged / peaks.link_bytes_per_second if peaks.link_bytes_per_second else 0.0,
            overlap=peaks.kind != "cpu",
        )

    def sequence_seconds(self, demand: StepCost, peaks: DevicePeaks) -> float:
        """Return the seconds that time steps take beside their arithmetic, one after the other.

        Every replica reads the recurrent kernels. A CPU launches nothing, and its caches hold them: 0.
        """
        if peaks.kind == "cpu" or not demand.time_steps or peaks.memory_bytes_per_second is None:
            return 0.0
        reads = peaks.replicas * demand.recurrent_bytes / peaks.memory_bytes_per_second
        return self.time_step_seconds * demand.time_steps + reads

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
            weight_bytes=num_workers * peaks.replicas * self._weight_bytes_as_trained(demand),
            layers=launched_layers(demand, kind=peaks.kind, precision=precision),
        )
        rates = {"flops_per_second": num_workers * flops, "bytes_per_second": num_workers * memory}
        seconds: NDArray[np.float64] = find_parts(whole, **rates) * np.array(self.coefficients)
        return seconds

    def _weight_bytes_as_trained(self, demand: StepCost) -> float:
        """Return the bytes of trained weights that take as long as all that a step reads and writes."""
        share = _UNPACKED_OF_TRAINED if demand.unpacks else 1 / self.coefficients[2]
        return demand.weight_bytes - (1 - share) * demand.frozen_bytes


def around(likely: float, *, factor: float, source: str) -> Estimate:
    """Return an estimate with an interval of a factor to both sides."""
    return Estimate(low=likely / factor, likely=likely, high=likely * factor, source=source)


def performed_flops(demand: StepCost, *, kind: DeviceKind, precision: str) -> float:
    """Return the operations of the algorithms that a device takes: Winograd's on a GPU in float32."""
    if (kind, precision) != ("gpu", "fp32"):
        return demand.flops
    return demand.flops - (1 - 1 / _WINOGRAD_SAVING) * demand.winograd_flops


def launched_layers(demand: StepCost, *, kind: DeviceKind, precision: str) -> int:
    """Return the layers that a host launches, with those that time steps cost as much as."""
    of_time_step = LAYERS_OF_A_TIME_STEP.get(precision, 0.0) if kind == "gpu" else 0.0
    return demand.layers + round(of_time_step * demand.time_steps)


def find_parts(demand: StepCost, *, flops_per_second: float, bytes_per_second: float) -> NDArray[np.float64]:
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


def host_seconds(
    of_layers: float, of_step: float, *, kind: DeviceKind, precision: str
) -> tuple[float, float]:
    """Return the seconds of the host in all layers, and in the step, by what fp32 takes on a GPU."""
    if kind == "tpu":
        return _COMPILED_LAUNCHES * of_layers, of_step + _PROGRAM_SECONDS
    launches = LAUNCHES.get(precision, 1.0)
    scaling = LOSS_SCALING_SECONDS if precision == "fp16" else 0.0
    return launches * of_layers, launches * of_step + scaling
