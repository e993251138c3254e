"""Configuration schema: one mutable class per config group, and the defaults."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from orchestrator.config.dataclass_schema import schema_from_dataclass
from orchestrator.config.error_messages import one_line_errors
from orchestrator.core.budget import Budget
from orchestrator.core.device import Device
from orchestrator.core.objective import Objective
from orchestrator.core.pool import Environment, Provider
from orchestrator.core.price import Currency, Provisioning
from orchestrator.core.search import Search
from orchestrator.core.settings import (
    Compiling,
    ExecutorName,
    MissingDevice,
    ReportSource,
    StartMethodChoice,
)
from orchestrator.core.sweep import Order
from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import MEMORY_KEYS, Recomputation, Sharding, TimingSpec
from orchestrator.train.registry import trainers
from workloads.data.sources import SOURCES
from workloads.registry import options_class

POINT_GROUPS = ("workload", "device", "precision", "trainer", "measure", "data")
"""Groups that make up a point: each may be an axis of a sweep."""

KNOB_GROUPS = ("workload", "trainer", "measure", "data")
"""Config groups with keys that may be set and swept. The keys of other groups are facts."""

POINT_KEYS = ("num_workers", "num_hosts", "global_batch_size", "steps", "seed", *MEMORY_KEYS)
"""Top-level keys that are part of a point."""

DEVICES = "devices"
"""A key of a point that has one device for each worker, in the place of the keys that follow from it."""

FOLLOWING_DEVICES = ("device", "num_workers", "num_hosts")

SETTINGS_GROUPS = (
    "executor",
    "cluster",
    "pools",
    "tracking",
    "record",
    "retry",
    "checkpoint",
    "prices",
    "budget",
    "compile",
    "search",
)
"""Groups that hold for a whole command."""

ROOT_SCHEMA = "orchestrator_schema"
OPTIONS = "orchestrator_options"
"""An empty configuration, into which options of groups are composed side by side."""


def _build_one(default: str, choices: Any) -> Any:
    """Declare a field with a closed set of values, which `values.py` checks."""
    return field(default=default, metadata={"choices": get_args(choices) or choices})


@dataclass
class FilesConf:
    """Source of a report's records, and whether its figures are also written as images.

    Attributes:
        source: `ledger` reads the records of the sweep's folder, `mlflow` those of the tracking server.
        images: also write every figure as an image.
    """

    source: str = _build_one("ledger", ReportSource)
    images: bool = False


ReportConf = schema_from_dataclass(Objective, base=FilesConf)


@dataclass
class RootConf:
    """Top-level keys, and one key per config group.

    Attributes:
        num_workers: devices of a trial.
        num_hosts: machines over which they are spread; null: as few as possible.
        global_batch_size: samples of one optimizer step, all workers together.
        steps: optimizer steps of a trial; with a target the most of them.
        seed: seed of initial weights and data order.
        outputs: folder of the sweeps' folders, from the working directory.
        micro_batch_size: samples of a replica that go through at once; gradients are summed; 0: all.
        activation_checkpointing: of the repeated blocks, what the backward pass computes again: nothing, all,
            or all but attention and every second matrix product.
        sharding: of weights, gradients and optimizer state: none, over all replicas, or those of a host.
        data_folder: folder of your own photographs or texts, for the workloads that take them.
    """

    workload: Any = MISSING
    device: Any = MISSING
    precision: Any = MISSING
    trainer: Any = MISSING
    measure: Any = MISSING
    data: Any = MISSING
    executor: Any = MISSING
    cluster: Any = MISSING
    pools: Any = MISSING
    tracking: Any = MISSING
    record: Any = MISSING
    retry: Any = MISSING
    checkpoint: Any = MISSING
    prices: Any = MISSING
    budget: Any = MISSING
    compile: Any = MISSING
    search: Any = MISSING
    sweep: Any = None
    report: ReportConf = field(default_factory=ReportConf)  # type: ignore[valid-type]  # made at run time
    num_workers: int = 1
    num_hosts: int | None = None
    global_batch_size: int = 64
    steps: int = 200
    seed: int = 0
    micro_batch_size: int = 0
    activation_checkpointing: str = _build_one("none", Recomputation)
    sharding: str = _build_one("none", Sharding)
    outputs: str = "outputs"
    data_folder: str | None = None


@dataclass
class NamedConf:
    """A config with a name only, and the base class of all configs with a name.

    Attributes:
        name: name of the option; a file sets it, a command line does not.
    """

    name: str = MISSING


@dataclass
class TrainerConf(NamedConf):
    """A trainer's interpreter and how its workers are started.

    Attributes:
        python: path of its interpreter, from the working directory; null: the orchestrator's own.
        start_method: `auto` forks workers where forked workers were shown to train, and else spawns them.
    """

    python: str | None = None
    start_method: str = _build_one("auto", StartMethodChoice)


@dataclass
class DataConf:
    """Source of data sets.

    Attributes:
        source: `auto` uses real files, or the stand-in where they are missing.
    """

    source: str = _build_one(MISSING, SOURCES)


@dataclass
class SweepConf:
    """A grid, what is common to its points, how often each is measured, and in which order.

    `grid.py` checks the shapes.

    Attributes:
        name: name of the sweep and of its folder in `outputs`; null: the file's, and those of its workloads.
        grid: key -> its values; the points are all combinations.
        common: key -> its value in every point.
        exclude: list of combinations that are left out.
        include: list of combinations that are added.
        repeats: trials of every point.
        baseline: key -> value of the setting that the others are compared with.
    """

    name: str | None = MISSING
    grid: Any = None
    common: Any = None
    exclude: Any = None
    include: Any = None
    repeats: int = 1
    order: str = _build_one("shuffled", Order)
    shuffle_seed: int | None = 0
    baseline: Any = None


@dataclass
class ExecutorConf:
    """Executor of trials, and the seconds after which a trial counts as failed.

    Attributes:
        name: `ray` runs trials under Ray Tune, `inline` one after the other without Ray.
        resources_seconds: until the trial's hardware is free.
    """

    name: str = _build_one(MISSING, ExecutorName)
    resources_seconds: float = 1800  # a cloud node boots, installs a driver and pulls 5 to 9 GB
    start_seconds: float = 180
    run_seconds: float = 1800


@dataclass
class ClusterConf:
    """Ray cluster of a command, and what becomes of devices that it lacks.

    Attributes:
        address: `local` is an embedded Ray, `fake` one with fake nodes; else the address of a cluster.
        missing_device: `rehearse` runs the code path on the CPU, `skip` leaves the point out, `fail` refuses.
        network_gbps: bandwidth between a host and the others, for predictions over several; null: unknown.
    """

    address: str = "local"
    missing_device: str = _build_one("rehearse", MissingDevice)
    network_gbps: float | None = None


@dataclass
class TrackingConf:
    """Tracking by MLflow.

    Attributes:
        uri: URI of an MLflow server or store; null: nothing is tracked.
    """

    uri: str | None = None


@dataclass
class RecordConf:
    """Second place of the records.

    Attributes:
        path: folder in a bucket (`gs://…`, `s3://…`) that gets a copy of every record; null: none.
    """

    path: str | None = None


@dataclass
class RetryConf:
    """Number of further attempts per kind of failure. By default only losses of a machine get some.

    A trial that the budget stopped is not repeated.

    Attributes:
        oom: after the memory of device or host was too small.
        preempted: after the machine was taken away, with notice.
        worker_lost: after a worker or its machine was lost without notice.
        timeout: after a deadline of `executor` passed.
        diverged: after weights or losses were not finite.
        environment: after a package, a driver or a file was missing.
        infeasible: after no node could hold the trial.
        device_mismatch: after a worker found another device or precision than the requested one.
        invalid_measurement: after a result contradicted itself.
        error: after any other exception of the training.
        backoff_seconds: wait before the first retry; doubled before every further one, at most ten minutes.
    """

    oom: int = 0
    preempted: int = 10
    worker_lost: int = 1
    timeout: int = 0
    diverged: int = 0
    environment: int = 0
    infeasible: int = 0
    device_mismatch: int = 0
    invalid_measurement: int = 0
    error: int = 0
    backoff_seconds: float = 2.0


@dataclass
class CheckpointConf:
    """Checkpoint schedule and place.

    Attributes:
        every_seconds: training time between two checkpoints; null: no checkpoints.
        path: folder or URL (`gs://…`, `s3://…`) of checkpoints; null: the sweep's folder.
    """

    every_seconds: float | None = 300
    grace_seconds: float = 20
    path: str | None = None


@dataclass
class PriceRowConf:
    """USD an hour of an instance, accelerators and host together; null where it is not known or not sold.

    Attributes:
        on_demand: price on demand.
        spot: price as a spot machine.
    """

    on_demand: float | None = None
    spot: float | None = None
    as_of: str | None = None
    source: str | None = None
    note: str | None = None


@dataclass
class RegionConf:
    """Instance -> its prices in one region. OmegaConf checks no values of mappings within mappings."""

    instances: dict[str, PriceRowConf] = field(default_factory=dict)


@dataclass
class PricesConf:
    """A price list and how it is applied.

    Attributes:
        provisioning: whether machines are rented on demand or as spot machines.
        currency: currency of all prices.
        confirm_spot: instances with a spot price that may be above 0.75 times the price on demand.
        least_billing_seconds: shortest time that each start of a machine is billed for; null: unknown.
        start_seconds: range [low, high] of boot, install and CUDA start of a machine; null: unknown.
        interruptions_per_day: range [low, high] of how often a spot machine is lost in a day; null: unknown.
        seller: the seller of these rows; null: no other seller's offers are compared with them.
        sellers: sellers that count, the cheapest first; [all]: every one; null: that of these rows,
            and others only where it has no price.
        offer_regions: regions, or us, europe, asia, other, in which other sellers count; empty: all.
        discount: seller -> share that it takes off its prices on demand, 0.3 for 30%.
        own: device -> your own price of one of them in an hour, host included; 0: reserved.
        short: device -> regions in which it is hard to get, which prices there are marked with.
        as_of: date of the rows of the same file that have none of their own.
        source: source of the rows of the same file that have none of their own.
        regions: region -> instance -> price.
    """

    region: str | None = None
    provisioning: str = _build_one("on_demand", Provisioning)
    currency: str = _build_one("USD", Currency)
    billing_seconds: float = 1
    max_age_days: int = 180
    this_host: str | None = None
    confirm_spot: list[str] = field(default_factory=list)
    least_billing_seconds: float | None = None
    start_seconds: list[float] | None = None
    interruptions_per_day: list[float] | None = None
    seller: str | None = None
    sellers: list[str] | None = None
    offer_regions: list[str] = field(default_factory=list)
    discount: dict[str, float] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    short: dict[str, list[str]] = field(default_factory=dict)
    as_of: str | None = None
    source: str | None = None
    regions: dict[str, RegionConf] = field(default_factory=dict)


@dataclass
class PoolConf:
    """Nodes of one kind: `core/pool.py`, which checks the values.

    Attributes:
        device: name of a file in `conf/device/`.
        provisioning: whether its nodes are rented on demand or as spot machines.
    """

    device: str = MISSING
    count: int = 1
    min_nodes: int = 0
    max_nodes: int = 1
    zone: str = MISSING
    provisioning: str = _build_one("on_demand", Provisioning)
    environment: str = _build_one("core", Environment)
    topology: str | None = None


@dataclass
class PoolsConf:
    """A cluster and its pools.

    Attributes:
        nodes: name of a pool -> its nodes.
    """

    provider: str = _build_one(MISSING, Provider)
    cluster_name: str = "orchestrator"
    project: str = ""
    zone: str = ""
    registry: str = ""
    image_tag: str = ""
    service_account: str = ""
    boot_images: dict[str, str] = field(default_factory=dict)
    head: str = "cpu"
    max_nodes: int = 0
    idle_seconds: int = 600
    sweep: str = "tpu_vs_gpu"
    deadline_hours: float = 24
    records_gib: int = 10
    nodes: dict[str, PoolConf] = field(default_factory=dict)


def named_conf(name: str, schema: type[NamedConf]) -> type[NamedConf]:
    """Return the schema with its name in it: an option that changes no default."""
    return dataclasses.make_dataclass(f"{name}_named", [("name", str, name)], bases=(schema,))


def trainer_conf(info: TrainerInfo) -> type[TrainerConf]:
    """Return the schema of one trainer: how it is started, and its knobs in the registry."""
    knobs = [(name, str, _build_one(values[0], values)) for name, values in info.options.items()]
    return dataclasses.make_dataclass(f"{info.name}_conf", knobs, bases=(TrainerConf,))


def group_schemas() -> Mapping[str, type[Any]]:
    """Group -> schema of all its options; workloads and trainers have one each."""
    return {
        "device": schema_from_dataclass(Device),
        "precision": NamedConf,
        "measure": schema_from_dataclass(TimingSpec),
        "data": DataConf,
        "sweep": SweepConf,
        "executor": ExecutorConf,
        "cluster": ClusterConf,
        "tracking": TrackingConf,
        "record": RecordConf,
        "retry": RetryConf,
        "checkpoint": CheckpointConf,
        "prices": PricesConf,
        "budget": schema_from_dataclass(Budget, defaults={"confirm_usd": 10}),
        "compile": schema_from_dataclass(Compiling, defaults={"stage": "memory"}),
        "search": schema_from_dataclass(Search),
        "pools": PoolsConf,
    }


def register() -> None:
    """Put every schema but those of workloads where a config file's defaults list finds it; twice does no
    harm.
    """
    store = ConfigStore.instance()
    store.store(name=ROOT_SCHEMA, node=RootConf)
    store.store(name=OPTIONS, node={OPTIONS: {}})
    for group, schema in group_schemas().items():
        store.store(group=group, name="schema", node=schema)
    for info in trainers().values():
        store.store(group="trainer", name=f"{info.name}_schema", node=trainer_conf(info))
    store.repo.pop("workload", None)  # an earlier command of this process may have had others


def register_workload(name: str, folders: Sequence[Path]) -> None:
    """Put the schema of a workload there, too; its code runs for that.

    Args:
        folders: folders of config files. A workload without a file there is an option by its schema.

    Raises:
        ConfigError: a workload with broken code.
    """
    store = ConfigStore.instance()
    with one_line_errors():
        conf = schema_from_dataclass(options_class(name), base=NamedConf)
    store.store(group="workload", name=f"{name}_schema", node=conf)
    if not any((folder / "workload" / f"{name}.yaml").exists() for folder in folders):
        store.store(group="workload", name=name, node=named_conf(name, conf))
