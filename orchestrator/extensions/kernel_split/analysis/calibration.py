"""Trials with split convolutions -> speeds of their devices, link and master. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, harmonic_mean

import numpy as np

from orchestrator.analysis.formatting import counted
from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.core.estimate import Refusal
from orchestrator.core.result import DeviceFacts, TrialRecord
from orchestrator.core.trial_spec import Option, setting_id
from orchestrator.core.work_share import KernelLink, KernelShare
from orchestrator.extensions.kernel_split.analysis.step_time import SplitLayer, find_layers
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.registry import trainers
from workloads.layers import DepthwiseConv2d
from workloads.registry import workload

_NETWORK = "model"

Points = tuple[tuple[float, float], ...]
"""(logarithm of a size, logarithm of the measurement), the smallest first."""

_Found = dict[float, list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Key that separates calibrated speeds: hardware and network.

    Attributes:
        host: model and core count, where the device is a host's CPU.
    """

    workload: str
    device: str
    host: str | None
    precision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Speed of one rank in one convolution."""

    geometry: str
    channels: int
    rank: int
    flops_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitTrial:
    """Calibration data of one measured trial.

    Attributes:
        setting_id: equal in all its seeds and repeats.
        threads: threads of each worker.
        is_noisy: something else ran beside it.
        workers: ranks.
        speeds: speed of each rank in each convolution; empty if the model of time lacks one of them.
        rest_seconds: time of the master; None: not measured.
        map_bytes: bytes of the feature maps that all convolutions make.
        links: links that were measured.
        held: kernels of each rank in the convolution with the most work.
    """

    setting_id: str
    threads: int
    is_noisy: bool
    workers: int
    speeds: tuple[Speed, ...]
    rest_seconds: float | None
    map_bytes: float
    links: tuple[KernelLink, ...]
    held: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformCalibration:
    """Calibration from all trials with one number of workers on a platform.

    Attributes:
        threads: threads of each worker.
        speeds: (geometry of a convolution, rank) -> FLOP/s over channels.
        rest: seconds of the master's rest for a byte of feature maps of all convolutions, over these bytes;
            empty: not measured.
        link: link of all trials and ranks; None: not measured.
    """

    workers: int
    threads: int
    num_trials: int
    num_noisy: int
    speeds: Mapping[tuple[str, int], Points]
    rest: Points
    link: KernelLink | None

    @property
    def words(self) -> str:
        """`3 trials of 2 workers x 1 thread (1 noisy)`."""
        sizes = f"{counted(self.workers, 'worker')} x {counted(self.threads, 'thread')}"
        noisy = f" ({self.num_noisy:,} noisy)" if self.num_noisy else ""
        return f"{counted(self.num_trials, 'trial')} of {sizes}{noisy}"

    def speed(self, layer: SplitLayer, rank: int) -> float | None:
        """FLOP/s; ranks beyond are taken for more of those beside the master. None: no such geometry."""
        of_rank = rank if rank < self.workers else 1 + (rank - 1) % max(1, self.workers - 1)
        points = self.speeds.get((layer.geometry, min(of_rank, self.workers - 1)))
        return None if points is None else read_off(points, layer.channels)

    def holds(self, layer: SplitLayer) -> bool:
        """Return whether the layer's channels lie within the calibrated range."""
        points = self.speeds.get((layer.geometry, 0), ())
        return bool(points) and points[0][0] <= math.log(layer.channels) <= points[-1][0]

    def rest_seconds(self, layers: Iterable[SplitLayer]) -> float | None:
        """Return the seconds of rank 0 outside the convolutions of a step; None: not measured."""
        size = sum(layer.output_bytes for layer in layers)
        return size * read_off(self.rest, size) if self.rest else None


def read_off(points: Points, size: float) -> float:
    """Interpolate between points on straight lines between logarithms; beyond the ends, return the end's
    value.
    """
    sizes, values = zip(*points, strict=True)
    return float(math.exp(np.interp(math.log(size), sizes, values)))


def splits(trainer: str) -> bool:
    """Return whether the trainer splits convolutions over the workers."""
    info = trainers().get(trainer)
    return info is not None and info.splits_convolutions


def find_machine(record: TrialRecord) -> Platform:
    """Return the platform on which a record measured speeds."""
    spec = record.spec
    return Platform(
        workload=spec.workload, device=spec.device_label, host=spec.host_cpu, precision=spec.precision
    )


def split_layers(
    name: str, options: Mapping[str, Option], *, batch: int, precision: str
) -> tuple[SplitLayer, ...] | Refusal:
    """Return the convolutions of a workload, where the model of time knows all of them."""
    try:
        spec = workload(name, options)
    except ValueError as error:
        return Refusal(reason=str(error), to_measure="nothing: its code is needed")
    network = spec.networks.get(_NETWORK)
    if network is None or any(isinstance(node.layer, DepthwiseConv2d) for node in network.nodes):
        reason = f"the model of time knows networks of plain convolutions alone, and {name} is another one"
        return Refusal(reason=reason, to_measure="each setting")
    if precision not in PRECISIONS:
        return Refusal(reason=f"nothing is known of precision {precision}", to_measure="another precision")
    layers = find_layers(network, batch=batch, value_bytes=PRECISIONS[precision].value_bytes)
    if not layers:
        return Refusal(reason=f"{name} has no convolution to split", to_measure="another workload")
    return tuple(layers)


def build_trial(record: TrialRecord) -> SplitTrial:
    """Extract the calibration data of a measurement."""
    spec, devices = record.spec, record.result.devices if record.result else ()
    shares = split_layers(
        spec.workload, spec.workload_options, batch=spec.global_batch_size, precision=spec.precision
    )
    layers = () if isinstance(shares, Refusal) else shares
    largest = max(layers, key=lambda layer: layer.flops, default=None)
    return SplitTrial(
        setting_id=setting_id(spec),
        threads=record.placement.threads,
        is_noisy=bool(describe_noise(record)),
        workers=len(devices),
        speeds=tuple(_speeds(layers, devices)),
        rest_seconds=devices[0].kernel_rest_seconds if devices else None,
        map_bytes=sum(layer.output_bytes for layer in layers),
        links=tuple(device.kernel_link for device in devices if device.kernel_link),
        held=tuple(share.kernels for device in devices if largest and (share := _share_in(device, largest))),
    )


def _speeds(layers: Iterable[SplitLayer], devices: Sequence[DeviceFacts]) -> Iterator[Speed]:
    for layer, (rank, device) in product(layers, enumerate(devices)):
        share = _share_in(device, layer)
        if share:
            yield Speed(
                geometry=layer.geometry,
                channels=layer.channels,
                rank=rank,
                flops_per_second=share.flops_per_second,
            )


def _share_in(device: DeviceFacts, layer: SplitLayer) -> KernelShare | None:
    """Return a rank's share of a convolution; None where it is unknown."""
    name = f"{_NETWORK}.{layer.node}"
    return next((share for share in device.kernel_shares if share.layer == name), None)


def build_calibrations(trials: Iterable[SplitTrial]) -> dict[int, PlatformCalibration]:
    """Build the calibrations of one platform by number of workers."""
    of_workers: dict[int, list[SplitTrial]] = defaultdict(list)
    for trial in trials:
        if trial.speeds:
            of_workers[trial.workers].append(trial)
    return {workers: _calibration(of_workers[workers], workers) for workers in sorted(of_workers)}


def _calibration(trials: Sequence[SplitTrial], workers: int) -> PlatformCalibration:
    speeds: dict[tuple[str, int], _Found] = defaultdict(lambda: defaultdict(list))
    rests: _Found = defaultdict(list)
    for trial in trials:
        for speed in trial.speeds:
            speeds[speed.geometry, speed.rank][speed.channels].append(speed.flops_per_second)
        if trial.rest_seconds and trial.map_bytes:
            rests[trial.map_bytes].append(trial.rest_seconds / trial.map_bytes)
    return PlatformCalibration(
        workers=workers,
        threads=max(trial.threads for trial in trials),
        num_trials=len(trials),
        num_noisy=sum(trial.is_noisy for trial in trials),
        speeds={key: _points(by_size) for key, by_size in speeds.items()},
        rest=_points(rests),
        link=_mean_link([link for trial in trials for link in trial.links]),
    )


def _points(by_size: Mapping[float, Sequence[float]]) -> Points:
    """Geometric means."""
    return tuple((math.log(size), fmean(map(math.log, values))) for size, values in sorted(by_size.items()))


def _mean_link(links: Sequence[KernelLink]) -> KernelLink | None:
    """Average links by the time of a message."""
    if not links:
        return None
    return KernelLink(
        bytes_per_second=harmonic_mean([link.bytes_per_second for link in links]),
        latency_seconds=fmean(link.latency_seconds for link in links),
    )
