"""Specification of a trial: its computation, its kind of hardware, and the id that names it."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, cast

from orchestrator.core.errors import ConfigError

SCHEMA_VERSION = 2
"""Raised when a default of `TrialSpec` or `TimingSpec` changes, or when a new field distinguishes trials that
earlier records did not: both change every trial_id."""

HOST_SEPARATOR = " + "
"""Between the processors of a trial's hosts, where they are not alike."""

_EVALUATE_EVERY_STEPS = 50

Recomputation = Literal["none", "full", "selective"]
"""Values of the repeated blocks that the backward pass computes again: none, all, or the cheap ones."""

Sharding = Literal["none", "full", "hybrid"]
"""Sharding of weights, gradients and optimizer state: over no or all replicas, or over those of each host."""

ProcessModel = Literal["per_replica", "per_host"]
"""One worker process for each data-parallel replica, or one for all replicas of a host."""

Scalar = str | int | float | bool | None
Option = Scalar | tuple[Scalar, ...]
"""A knob of a workload or trainer: a scalar or a flat tuple of scalars."""


def require_positive(name: str, value: int) -> None:
    """Refuse a count below 1 with ConfigError that names it as the user does."""
    if value < 1:
        raise ConfigError(f"{name}={value} must be at least 1")


def _find_chosen(settings: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults."""
    values = {field.name: (getattr(settings, field.name), field.default) for field in fields(settings)}
    return {name: value for name, (value, default) in values.items() if value != default}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingSpec:
    """Timing protocol: one first step, a warm-up, then blocks of steps.

    Attributes:
        warmup_steps: least number of steps after the first that no statistic sees.
        max_warmup_steps: the warm-up goes on to here while the compile counter still grows.
        min_warmup_seconds: on accelerators the warm-up lasts at least this long, if the trial has the steps.
        steps_per_block: steps timed as one, between two idle devices.
        min_block_seconds: on accelerators a block is doubled until it lasts this long, if the trial has the
            steps.
        min_blocks: blocks that are always timed.
        max_blocks: blocks after which timing stops, tight interval or not.
        interval_fraction: timing stops when the half width of the 95% interval of the median block,
            over the median, is at most this.
        target: quality on held-out data at which the training ends, `steps` being its limit then; `workload`
            is the workload's own, and in a trial the number that this was. None trains all steps.
        evaluate_every_steps: steps from one evaluation to the next, where there is a target.
        calibrate: after all else, measure what the host's CPU does at most, in the trial's own processes.
    """

    warmup_steps: int = 3
    max_warmup_steps: int = 20
    min_warmup_seconds: float = 2.0
    steps_per_block: int = 10
    min_block_seconds: float = 0.5
    min_blocks: int = 6
    max_blocks: int = 15
    interval_fraction: float = 0.03
    target: int | float | Literal["workload"] | None = None
    evaluate_every_steps: int = _EVALUATE_EVERY_STEPS
    calibrate: bool = False

    def __post_init__(self) -> None:
        for name in ("steps_per_block", "min_blocks", "max_blocks", "evaluate_every_steps"):
            require_positive(f"measure.{name}", getattr(self, name))
        if self.warmup_steps < 0 or self.max_warmup_steps < self.warmup_steps:
            raise ConfigError(
                f"measure.warmup_steps={self.warmup_steps} must lie between 0 and "
                f"measure.max_warmup_steps={self.max_warmup_steps}"
            )
        if self.max_blocks < self.min_blocks:
            raise ConfigError(
                f"measure.max_blocks={self.max_blocks} is below measure.min_blocks={self.min_blocks}"
            )
        if not self.interval_fraction > 0:
            raise ConfigError(f"measure.interval_fraction={self.interval_fraction} must be above 0")
        for name in ("min_warmup_seconds", "min_block_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"measure.{name}={getattr(self, name)} must be a number from 0 up")
        self._check_target()

    def _check_target(self) -> None:
        is_number = isinstance(self.target, (int, float)) and math.isfinite(self.target)
        if not is_number and self.target not in (None, "workload"):
            raise ConfigError(
                f"measure.target={self.target} must be a number, 'workload' for the workload's own, or null"
            )
        if self.target is None and self.evaluate_every_steps != _EVALUATE_EVERY_STEPS:
            raise ConfigError(
                f"measure.evaluate_every_steps={self.evaluate_every_steps} has no effect without a target; "
                f"add measure.target=workload or a number"
            )

    @property
    def chosen(self) -> Mapping[str, Option]:
        """Name -> value of what differs from the usual protocol."""
        return _find_chosen(self)

    def without_seconds(self) -> "TimingSpec":
        """Return the protocol with warm-up and blocks in steps alone."""
        return dataclasses.replace(self, min_warmup_seconds=0.0, min_block_seconds=0.0)

    @property
    def least_steps(self) -> int:
        """Steps that a trial needs at least: the first, the warm-up and the least number of blocks."""
        return 1 + self.warmup_steps + self.min_blocks * self.steps_per_block

    @property
    def enough_steps(self) -> int:
        """Steps that are certain to be enough, however long the warm-up lasts."""
        return self.least_steps + self.max_warmup_steps - self.warmup_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Settings that decide what a replica holds at once while it trains on its share of a batch.

    Attributes:
        micro_batch_size: samples of a replica that go through at once; gradients are summed; 0: all.
        activation_checkpointing: of the repeated blocks, what the backward pass computes again.
        sharding: what is sharded over the replicas.
    """

    micro_batch_size: int = 0
    activation_checkpointing: Recomputation = "none"
    sharding: Sharding = "none"

    def __post_init__(self) -> None:
        if self.micro_batch_size < 0:
            raise ConfigError(f"micro_batch_size={self.micro_batch_size} must not be negative")

    @property
    def chosen(self) -> Mapping[str, int | str]:
        """Key -> value of the settings that differ from their defaults."""
        return _find_chosen(self)

    @property
    def words(self) -> str:
        """The same in command-line form; empty where all have their defaults."""
        return " ".join(f"{name}={value}" for name, value in self.chosen.items())

    def require_divisible(self, share: int) -> None:
        """Raise ConfigError unless a replica's share of a batch divides into micro batches."""
        size = self.micro_batch_size
        if size and share % size:
            smaller = next(count for count in range(min(size, share), 0, -1) if share % count == 0)
            raise ConfigError(
                f"micro_batch_size={size} does not divide the {share} samples of a replica; {smaller} would"
            )

    def count_shards(self, replicas: int, num_hosts: int) -> int:
        """Return over how many replicas weights are sharded; 1: each has all of them.

        Hosts of one replica, as in a rehearsal, shard over all of them.
        """
        groups = num_hosts if self.sharding == "hybrid" and replicas > num_hosts else 1
        return 1 if self.sharding == "none" else replicas // groups

    def count_passes(self, share: int) -> int:
        """Return how many micro batches a replica's share of a batch is."""
        return max(1, share // self.micro_batch_size) if self.micro_batch_size else 1


MEMORY_KEYS = tuple(field.name for field in fields(MemorySettings))
"""Keys of a point that are one of these settings each."""

DEFAULT_MEMORY = MemorySettings()


AXES = (
    "workload",
    "device",
    "trainer",
    "precision",
    "num_workers",
    "num_hosts",
    "global_batch_size",
    "steps",
    "seed",
    "repeat",
)
"""Fields of a trial that a sweep varies, beside knobs: trials differ in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """Everything that decides what is computed and on what kind of hardware; a sweep's name does not.

    Attributes:
        workload_version: version of the workload; a change of its results raises it.
        trainer_version: version of the trainer; a change of its results raises it.
        device: name of a file in `conf/device/`; the requested device, not the observed one.
        other_devices: devices of ranks 1, 2, … if the devices differ; `device` is then the device of rank 0.
        precision: label, as in `plan/compatibility.py`.
        data: id of the data set, resolved when planning: `workloads.data.sources.DataRef.id`.
        global_batch_size: samples per optimizer step, all replicas together.
        steps: optimizer steps, the timed ones included; with `timing.target` the most that are taken.
        num_workers: devices of the trial; a TPU slice is one device with several replicas.
        num_hosts: machines over which they are spread, evenly where they are alike.
        replicas: data-parallel replicas of all of them together, by the device's file.
        process_model: assignment of replicas to processes, chosen by the trainer and its options.
        repeat: 0, 1, …: the same trial again, in a process of its own.
        host_cpu: model and core count of the host where the device is `cpu`, otherwise None; of several that
            are not alike, all of them.
        memory_settings: by which a replica takes less memory.
    """

    workload: str
    workload_version: int
    trainer: str
    trainer_version: int
    device: str
    precision: str
    data: str
    global_batch_size: int
    steps: int
    num_workers: int = 1
    num_hosts: int = 1
    replicas: int = 1
    process_model: ProcessModel = "per_replica"
    seed: int = 0
    repeat: int = 0
    host_cpu: str | None = None
    other_devices: tuple[str, ...] = ()
    workload_options: Mapping[str, Option] = field(default_factory=dict)
    trainer_options: Mapping[str, Option] = field(default_factory=dict)
    timing: TimingSpec = TimingSpec()
    memory_settings: MemorySettings = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        for name in ("global_batch_size", "steps", "num_workers", "num_hosts", "replicas"):
            require_positive(name, getattr(self, name))
        for name in ("seed", "repeat"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)} must not be negative")
        if self.other_devices and len(self.devices) != self.num_workers:
            raise ConfigError(f"num_workers={self.num_workers} have {len(self.devices)} devices")
        if self.steps < self.timing.least_steps:
            raise ConfigError(
                f"steps={self.steps} is below the {self.timing.least_steps} that the measurement "
                f"protocol needs (first step, {self.timing.warmup_steps} of warm-up, "
                f"{self.timing.min_blocks} blocks of {self.timing.steps_per_block})"
            )

    @property
    def devices(self) -> tuple[str, ...]:
        """Device of each worker, in the order of workers."""
        return (self.device, *self.other_devices) if self.other_devices else (self.device,) * self.num_workers

    @property
    def device_label(self) -> str:
        """Name of its device; for heterogeneous workers the names of all: `t4+cpu`."""
        return "+".join(self.devices) if self.other_devices else self.device


def find_axes(trial: TrialSpec) -> dict[str, Scalar]:
    """Axis -> the trial's value; as its device the names of all where they are not alike."""
    return {name: getattr(trial, name) for name in AXES} | {"device": trial.device_label}


def trial_id(trial: TrialSpec) -> str:
    """Return the trial's id: 16 hexadecimal digits of the SHA-256 of its computation.

    Fields at their default are left out, so a field added later changes no id.
    """
    return _build_id(_differing(trial))


def representative(trial: TrialSpec) -> TrialSpec:
    """The trial that stands for its setting: the first repeat of seed 0, whether that was ever asked for."""
    return dataclasses.replace(trial, seed=0, repeat=0)


def point_id(trial: TrialSpec) -> str:
    """Return the id of the trial's first repeat: equal in all its repeats, and in nothing else."""
    return _build_id(_differing(trial, but=("repeat",)))


def setting_id(trial: TrialSpec) -> str:
    """Name a setting: equal in all seeds and repeats of a trial, and in nothing else."""
    return _build_id(_differing(trial, but=("seed", "repeat")))


def _build_id(differing: Mapping[str, object]) -> str:
    identity = {"schema_version": SCHEMA_VERSION, **differing}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def _differing(value: Any, *, but: Container[str] = ()) -> dict[str, object]:
    """Return the fields of a dataclass that differ from their defaults or have none, nested ones too."""
    differing: dict[str, object] = {}
    for name, default, may_nest in _find_defaults(cast(Hashable, type(value))):
        current = getattr(value, name)
        if current is not default and current != default and name not in but:
            is_nested = may_nest and dataclasses.is_dataclass(current)
            differing[name] = _differing(current) if is_nested else current
    return differing


@cache
def _find_defaults(kind: Any) -> tuple[tuple[str, object, bool], ...]:
    """Return name and default of the fields of a dataclass, and whether a value may be a dataclass.

    A field without a default has MISSING.
    """
    defaults = ((field_.name, _find_default(field_)) for field_ in dataclasses.fields(kind))
    return tuple(
        (name, default, default is dataclasses.MISSING or dataclasses.is_dataclass(default))
        for name, default in defaults
    )


def _find_default(field: "dataclasses.Field[object]") -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
