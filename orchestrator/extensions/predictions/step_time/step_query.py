"""Query for the time of a step: its counts, its family, and the labels of its effects. Pure."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.core.device import Device
from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings, Recomputation
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.memory_need import MemoryNeed, count_memory_need
from orchestrator.extensions.predictions.step_time.analytic import (
    Analytic,
    DevicePeaks,
    StepParts,
    launched_layers,
    peaks_at_work,
)
from orchestrator.extensions.predictions.step_time.crossed_effects import Family, StepLabels
from orchestrator.extensions.predictions.step_time.roofline import (
    Roofline,
    StepCost,
    build_roofline,
    count_step_cost,
)
from orchestrator.train.precision import PRECISIONS
from workloads.cost import find_cost
from workloads.layers import Custom, Embedding, Rbm, Recurrent
from workloads.sequence_layers import Attention
from workloads.spec import Supervised, TokenPrediction, Workload

PRODUCT_OF_PEAK = 0.85
"""Share of its published peak that a product of large matrices attains: an assumption."""

COPY_OF_PEAK = 0.85
"""Share of its published peak that the copy of a large array attains: an assumption."""

SMALL_LAYERS_OF_A_LAYER = 1.67
"""Small layers of the benchmark that a layer costs the host as much as: of ResNet50 on an H100
(docs/findings/h100.md)."""


_UNLIKE_ALL = (Custom, Rbm)
_LANGUAGE_JOB = "causal_lm"
_HALF = ("bf16", "fp16", "fp8")
_DEVICES_OF_HOST = 8  # where it is not said over how many hosts they are
FASTEST_PCIE = 1e11  # bytes a second in both directions, above those of 16 lanes of its fourth version
LEAST_NVLINK = 4e11  # the slowest between shards of transformers in published steps
PCIE_SECONDS = 3.8  # of an exchange over those at its bandwidth: mean of four machines with 1.5 to 9.4
_FLOAT8_SAVING = 0.29  # of the time of linear layers, with the casts: mean of 13 published pairs
_STEPS_OF_DOUBLING = 4
_REFERENCE_BALANCE = 1.57e13 / 9e11  # operations per byte of a V100 in fp32


@dataclass(frozen=True, kw_only=True)
class StepQuery:
    """Query for the time of a step.

    Attributes:
        spec: spec of the workload with its options.
        calibration: what was measured of the user's own device; None: nothing.
        host_cpu: model and number of cores of the host if its CPU computes; None: an accelerator does.
        network_gbps: bandwidth between a host and the others, in each direction; None: unknown.
        is_compiled: True if a compiler fuses casts to float8 with what is before them.
    """

    spec: Workload
    device: Device
    precision: str
    num_workers: int
    global_batch_size: int
    num_hosts: int = 1
    memory_settings: MemorySettings = DEFAULT_MEMORY
    calibration: DeviceBenchmark | None = None
    host_cpu: str | None = None
    network_gbps: float | None = None
    is_compiled: bool = False

    @property
    def family(self) -> Family | None:
        """Family of measured networks that its layers resemble; None if they resemble none."""
        if self.spec.name == _LANGUAGE_JOB:
            return _find_family_of_job(self.spec)
        protocol = self.spec.phases[-1].protocol
        if not self.spec.networks or not isinstance(protocol, (Supervised, TokenPrediction)):
            return None
        layers = [node.layer for node in self.spec.networks[protocol.network].nodes]
        if any(isinstance(layer, _UNLIKE_ALL) for layer in layers):
            return None
        has_attention = any(isinstance(layer, Attention) for layer in layers)
        if any(isinstance(layer, Recurrent) for layer in layers):
            return None if has_attention else "recurrent"
        if has_attention:
            return "transformer"
        return None if any(isinstance(layer, Embedding) for layer in layers) else "classifier"

    @property
    def is_transformer(self) -> bool:
        """True if published steps of its family have micro batches, shards and blocks computed again."""
        return self.family in ("transformer", "adapters")

    @property
    def passes(self) -> int:
        """Micro batches of a replica in a step, one after the other."""
        return self.memory_settings.count_passes(self.global_batch_size // self.replicas)

    def demand_in(self, precision: str) -> StepCost:
        """Return the cost of one pass of the step on all devices in that precision."""
        return count_step_cost(
            self.spec,
            global_batch_size=self.global_batch_size // self.passes,
            value_bytes=PRECISIONS[precision].value_bytes,
            recomputation=self.recomputation,
            shards=self.shards,
            update_share=self.update_share,
        )

    @property
    def shards(self) -> int:
        """Replicas over which the weights are sharded; 1: each has all of them."""
        return self.memory_settings.count_shards(self.replicas, self.hosts)

    @property
    def hosts(self) -> int:
        """Hosts of the replicas; of GPUs that train a transformer, at most eight on each."""
        is_spread = self.is_transformer and self.device.kind == "gpu"
        return max(self.num_hosts, is_spread * math.ceil(self.num_workers / _DEVICES_OF_HOST))

    @property
    def is_over_network(self) -> bool:
        """True if replicas exchange between hosts, over a network of known bandwidth."""
        return self.hosts > 1 and self.network_gbps is not None

    @property
    def crosses_pcie(self) -> bool:
        """True if shards are exchanged over PCIe, and its bandwidth was not measured here."""
        return self.exchanges_shards and (self.device.link_bytes_per_second or math.inf) < FASTEST_PCIE

    @property
    def has_unpublished_link(self) -> bool:
        """True if shards are exchanged over a link between PCIe and the slowest published NVLink."""
        link = self.device.link_bytes_per_second or math.inf
        return self.exchanges_shards and FASTEST_PCIE <= link < LEAST_NVLINK

    @property
    def exchanges_shards(self) -> bool:
        """True if a transformer's shards are exchanged, over a link that was not measured here."""
        is_measured = self.calibration is not None and bool(self.calibration.exchange_bytes_per_second)
        return self.is_transformer and self.shards > 1 and not is_measured

    def _find_link(self, link: float | None) -> float | None:
        """Return the bandwidth of a replica's exchange, over its link or the network of its host."""
        if not self.is_over_network or link is None:
            return link
        network = 2 * (self.network_gbps or 0) * 1e9 / 8  # both directions, as of a link
        among, between = self.demand.count_exchanges(self.replicas)
        of_host = self.replicas / self.hosts  # gather shards once together; each sums its own
        slowest = link if 1 < self.shards <= of_host else min(link, network)
        seconds = among / slowest + between * of_host / network
        return (among + between) / seconds if seconds else link

    @property
    def arithmetic(self) -> str:
        """Precision of the steps that this one resembles: float8 is bf16 with faster linear layers."""
        return "bf16" if PRECISIONS[self.precision].float8 else self.precision

    @property
    def is_unpublished_float8(self) -> bool:
        """True for float8 that no published step is like: casts are fused, and all weights trained."""
        is_published = self.is_compiled and self.family == "transformer"
        return PRECISIONS[self.precision].float8 and not is_published

    @property
    def _device_share(self) -> float:
        """Share of the device's work that is left in float8."""
        cost = find_cost(self.spec) if self.arithmetic != self.precision else None
        if cost is None or cost.blocks is None:
            return 1.0
        linear = 3 * cost.blocks.product_flops_per_sample / cost.flops_per_sample  # forward, twice backward
        return 1 - _FLOAT8_SAVING * linear

    @property
    def update_share(self) -> float:
        """Share of the weights that a replica updates in a pass: its shards, once in all passes."""
        return 1 / self.shards / self.passes

    @property
    def _exchanges(self) -> int:
        """Exchanges of a step: gradients of whole weights are held until the last pass."""
        return self.passes if self.shards > 1 else 1

    @property
    def recomputation(self) -> Recomputation:
        """Values of the repeated blocks that the backward pass computes again."""
        return self.memory_settings.activation_checkpointing

    @cached_property
    def demand(self) -> StepCost:
        """Cost of one pass of the step on all devices."""
        return self.demand_in(self.precision)

    @property
    def demand_of_each(self) -> StepCost:
        """Cost of one pass of the step on one replica."""
        whole = self.demand
        return replace(
            whole, flops=whole.flops / self.replicas, value_bytes=whole.value_bytes / self.replicas
        )

    @property
    def replicas(self) -> int:
        """Number of replicas of all workers together."""
        return self.num_workers * self.device.replicas

    @cached_property
    def memory(self) -> MemoryNeed | None:
        """Least memory of a replica; None: its operations are unknown."""
        return count_memory_need(
            self.spec,
            device=self.device,
            precision=self.precision,
            replicas=self.replicas,
            shards=self.shards,
            global_batch_size=self.global_batch_size,
            memory_settings=self.memory_settings,
        )

    @property
    def roofline(self) -> Roofline:
        """Roofline bound of the step."""
        link = self._find_link(self.device.link_bytes_per_second)
        device = replace(self.device, link_bytes_per_second=link)
        bounds = build_roofline(self.demand, device, precision=self.precision, count=self.num_workers)
        return bounds.times(self.passes, exchanges=self._exchanges)

    @property
    def peaks(self) -> DevicePeaks:
        """Peaks of the device: those that are measured, else the published ones."""
        published = peaks_at_work(self.device)
        peaks = calibrated_peaks(published, self.calibration) if self.calibration else published
        return replace(peaks, link_bytes_per_second=self._find_link(peaks.link_bytes_per_second))

    def parts(self, model: Analytic) -> StepParts | None:
        """Return the parts of the step before all effects; None: a peak or the operations are unknown."""
        parts = self._parts_of_pass(self.peaks, self.arithmetic, model)
        if parts is not None and self.calibration is not None:
            layers = launched_layers(self.demand, kind=self.device.kind, precision=self.precision)
            parts = calibrated_parts(parts, self.calibration, precision=self.precision, layers=layers)
        slower = PCIE_SECONDS if self.crosses_pcie else 1.0
        parts = parts and parts.times(device=self._device_share, host=1.0, exchange=slower)
        return self._sum_passes(parts)

    def parts_on(self, peaks: DevicePeaks, precision: str, model: Analytic) -> StepParts | None:
        """Return the same on another device or in another precision, by published figures."""
        return self._sum_passes(self._parts_of_pass(peaks, precision, model))

    def _sum_passes(self, parts: StepParts | None) -> StepParts | None:
        """Return the parts of all passes."""
        return parts and parts.times(device=self.passes, host=self.passes, exchange=self._exchanges)

    def _parts_of_pass(self, peaks: DevicePeaks, precision: str, model: Analytic) -> StepParts | None:
        demand = self.demand_in(precision)
        if not demand.layers:
            return None
        return model.parts(demand, peaks=peaks, precision=precision, num_workers=self.num_workers)

    @cached_property
    def _demand_of_model(self) -> StepCost:
        """Cost of one pass without what is computed again, by which a network resembles others."""
        plain = replace(self.memory_settings, activation_checkpointing="none")
        return self.demand if plain == self.memory_settings else replace(self, memory_settings=plain).demand

    @cached_property
    def own_labels(self) -> StepLabels:
        """Labels of the step on the user's machine."""
        labels = self.labels(self.peaks, self.arithmetic)
        measured = self.calibration or DeviceBenchmark(driver_name="")  # nothing
        return replace(
            labels,
            device=self.host_cpu or labels.device,
            has_measured_work=self.precision in measured.flops_per_second
            and measured.memory_bytes_per_second is not None,
            has_measured_host=self.precision in measured.layer_seconds,
        )

    def labels(self, peaks: DevicePeaks, precision: str) -> StepLabels:
        """Return the labels of this step on a device in a precision, over published figures."""
        flops, memory = peaks.flops_per_second[precision], peaks.memory_bytes_per_second
        assert memory is not None, "a device without it has no parts of a step"
        demand = self._demand_of_model
        return StepLabels(
            laboratory="",
            software="",
            kind=peaks.kind,
            device=peaks.name,
            precision=precision_label(precision),
            family=self.family,
            network=network_label(self.spec.name, demand),
            size=_doublings(demand.flops * self.passes / self.global_batch_size),
            balance=math.log(flops / memory / _REFERENCE_BALANCE),
        )


def _find_family_of_job(spec: Workload) -> Family | None:
    """Return the family of the job with a language model; None without a count."""
    for cost in spec.costs.values():
        return "adapters" if cost.trained_bytes < cost.held_bytes / 2 else "transformer"
    return None


def precision_label(precision: str) -> str:
    """Return the class of precisions that have effects in common."""
    return "half" if precision in _HALF else precision


def network_label(name: str, demand: StepCost) -> str:
    """Return the label of a network: sizes of a workload differ in their layers, by more than a head has."""
    return f"{name} {round(_STEPS_OF_DOUBLING * math.log2(demand.layers))}"


def _doublings(flops: float) -> int:
    return round(math.log2(flops)) if flops else 0


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
