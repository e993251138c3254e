"""A sweep as it was asked for: every point spelled out, before this machine or its disk is looked at."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError
from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings, Option, TimingSpec, require_positive

Order = Literal["shuffled", "cheapest_first", "longest_first"]
"""Order in which the trials of a sweep start."""

MOST_TRIALS = 100_000
"""Limit of one sweep. Planning it takes 10 s of CPU and 0.2 GB; at 5 s a trial it runs for six days."""

MOST_UNEQUAL = 64
"""Most devices of one trial in a list: each has a process, and on a cluster a node, of its own."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination of a sweep's grid, with everything that the configuration alone decides.

    Attributes:
        workload_options, trainer_options: knobs that differ from their defaults.
        data_source: `auto`, `real`, `standin` or `synthetic`.
        device: device of all workers, or of the first one.
        other_devices: devices of the further workers in order, if the workers have unequal devices.
        num_workers: all of them.
        num_hosts: machines over which they are spread evenly; None: as few as can be.
        global_batch_size: samples per optimizer step, all replicas together.
        label: axis -> value of the axes in which the points of this sweep differ.
        is_baseline: True if other trials are compared with this one.
        memory_settings: by which a replica takes less memory.
        deals_batches: True if the trainer deals batches; if not, a batch divides evenly over the replicas.
    """

    workload: str
    workload_options: Mapping[str, Option]
    trainer: str
    trainer_options: Mapping[str, Option]
    device: Device
    precision: str
    data_source: str
    num_workers: int
    global_batch_size: int
    steps: int
    seed: int
    timing: TimingSpec
    label: Mapping[str, Option]
    num_hosts: int | None = None
    other_devices: tuple[Device, ...] = ()
    is_baseline: bool = False
    memory_settings: MemorySettings = DEFAULT_MEMORY
    deals_batches: bool = False

    def __post_init__(self) -> None:
        for name in ("num_workers", "global_batch_size", "steps"):
            require_positive(name, getattr(self, name))
        if self.num_hosts is not None:
            require_positive("num_hosts", self.num_hosts)
            if self.num_workers % self.num_hosts:
                raise ConfigError(f"num_workers={self.num_workers} do not divide over {self.num_hosts} hosts")
        if self.deals_batches and self.global_batch_size < self.replicas:
            raise ConfigError(f"{self._batch_and_replicas('is below')}; each needs a sample")
        if not self.divides_over(self.replicas):
            raise ConfigError(self._indivisible())
        self.memory_settings.require_divisible(self.global_batch_size // self.replicas)

    @property
    def replicas(self) -> int:
        """Data-parallel replicas of all devices together."""
        others = sum(device.replicas for device in self.other_devices)
        return self.device.replicas + others if others else self.num_workers * self.device.replicas

    @property
    def devices(self) -> tuple[Device, ...]:
        """Device of each worker."""
        return (self.device, *self.other_devices) if self.other_devices else (self.device,) * self.num_workers

    @property
    def device_label(self) -> str:
        """Label of the devices, as `TrialSpec.device_label`."""
        return "+".join(device.name for device in self.devices) if self.other_devices else self.device.name

    def divides_over(self, replicas: int) -> bool:
        """Return whether the trainer can divide its batches among that many replicas, with at least one
        sample for each.
        """
        return self.deals_batches or not self.global_batch_size % replicas

    @property
    def name(self) -> str:
        """Name that distinguishes this point from the others of its sweep, in one line."""
        named = ("workload", "device", "trainer", "precision", *(["devices"] if self.other_devices else []))
        others = (
            f"{axis}=[{','.join(map(str, value))}]" if isinstance(value, tuple) else f"{axis}={value}"
            for axis, value in self.label.items()
            if axis not in named
        )
        return " ".join((self.workload, self.device_label, self.trainer, self.precision, *others))

    @property
    def _hardware(self) -> str:
        return self.device_label if self.other_devices else f"{self.num_workers} x {self.device.name}"

    def _indivisible(self) -> str:
        below = self.global_batch_size // self.replicas * self.replicas
        nearest = " or ".join(str(multiple) for multiple in (below, below + self.replicas) if multiple)
        return f"{self._batch_and_replicas('does not divide over')}; {nearest} would"

    def _batch_and_replicas(self, verb: str) -> str:
        return (
            f"global_batch_size={self.global_batch_size} {verb} {self.replicas} replicas ({self._hardware})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Points that are compared with each other, each of them once, and how often each is measured.

    Attributes:
        order: order of the trials; trials of equal weight are shuffled.
        shuffle_seed: seed of the shuffle; None: the order of the points.
        baseline: the keys that its baseline names, as `device` and `precision`.
        devices: devices that its points ask for, by name.
    """

    name: str
    points: tuple[Point, ...]
    repeats: int
    order: Order = "shuffled"
    shuffle_seed: int | None = 0
    baseline: tuple[str, ...] = ()
    devices: Mapping[str, Device] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_positive("sweep.repeats", self.repeats)
        if len(self.points) * self.repeats > MOST_TRIALS:
            raise ConfigError(
                f"sweep.repeats={self.repeats} makes {len(self.points) * self.repeats:,} trials of "
                f"{len(self.points):,} points; a sweep has at most {MOST_TRIALS:,}"
            )
        if not _SAFE_NAME.fullmatch(self.name):
            raise ConfigError(
                f"sweep.name={self.name!r} cannot name a folder; "
                f"use at most 100 letters, digits, '.', '_' and '-', the first a letter or digit"
            )
        # Kept, because callers ask once a trial, and a sweep has up to 100,000 points.
        named = {
            device.name: device for point in self.points for device in (point.device, *point.other_devices)
        }
        object.__setattr__(self, "devices", named)
