"""Settings of one command: a sweep, and how, where and for how long its trials run."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.core.budget import UNCAPPED, Budget
from orchestrator.core.errors import ConfigError, FailureKind
from orchestrator.core.objective import FASTEST, Objective
from orchestrator.core.pool import Cluster
from orchestrator.core.price import PriceList
from orchestrator.core.search import GRID, Search
from orchestrator.core.sweep import Sweep

ExecutorName = Literal["inline", "ray"]
MissingDevice = Literal["rehearse", "skip", "fail"]
CompileStage = Literal["memory", "full", "off"]
ReportSource = Literal["ledger", "mlflow"]
StartMethodChoice = Literal["auto", "fork", "spawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds after which a trial counts as failed.

    Attributes:
        resources_seconds: until its hardware is free.
        start_seconds: time from then until every worker is set up.
        run_seconds: time from then to the end of the trial.
    """

    resources_seconds: float
    start_seconds: float
    run_seconds: float

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"executor.{name}={getattr(self, name)} must be above 0 and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointing:
    """Checkpoint settings of trials.

    Attributes:
        every_seconds: training time between two checkpoints.
        grace_seconds: time that a worker has for a checkpoint after a stop request.
        url: the folder of the sweep's checkpoints: a path, or what fsspec understands (`gs://…`).
    """

    every_seconds: float
    grace_seconds: float
    url: str

    def __post_init__(self) -> None:
        for name in ("every_seconds", "grace_seconds"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"checkpoint.{name}={getattr(self, name)} must be above 0 and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSettings:
    """Settings that start the workers of one trainer.

    Attributes:
        python: path of its interpreter, from the working directory; None is the orchestrator's own.
        start_method: `auto` forks where forked workers were shown to train.
    """

    python: str | None
    start_method: StartMethodChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiling:
    """Questions to the compiler of TPUs, and the limits of one of its processes.

    Attributes:
        stage: `memory` asks whether a step fits, `full` also for the time of a step on a TPU; `off` asks
            nothing.
        python: interpreter of an environment with libtpu, from the working directory.
        seconds: time until a process is killed.
        memory_gib: resident memory beyond which it is killed.
        largest_batch: find the largest batch that fits in place of one that does not, and not only a half.
    """

    stage: CompileStage = "off"
    python: str = ""
    largest_batch: bool = False
    seconds: float = 120.0
    memory_gib: float = 8.0

    def __post_init__(self) -> None:
        for name in ("seconds", "memory_gib"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"compile.{name}={getattr(self, name)} must be positive and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Trials that are run although the records answer them.

    Attributes:
        failed: all that failed.
    """

    failed: bool = False
    trial_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A whole command, checked.

    Attributes:
        cluster_address: address of a Ray cluster; `local` starts one on this machine, `fake` one with the
            pools of `cluster`.
        cluster: its declared pools; None: only this host is used.
        missing_device: treatment of a point on a device that is not available.
        network_gbps: bandwidth between a host and the others in each direction; None: unknown.
        tracking_uri: URI of the MLflow server or store; None tracks nothing.
        archive_url: the folder in a bucket where the sweep's records lie too; None: in its ledger alone.
        retries: kind of failure -> number of further attempts.
        backoff_seconds: wait before the first retry; doubled before every further one.
        trainers: name -> settings of every trainer in the sweep.
        outputs: folder of the sweeps' folders.
        prices: price list of the hardware.
        reprices: True if the command line sets prices; a report then uses these.
        objective: objective of the recommendation.
        report_source: source of a report's records.
        budget: caps of the sweep's cost.
        images: True if a report's figures are also written as images.
        data_folder: photographs that the user brings, for the data set that takes them; None brings none.
        checkpointing: None makes and reads no checkpoints.
        rerun: trials that are run although the records answer them.
        compiling: what the compiler of TPUs is asked before a trial starts.
        search: rule that chooses the trials.
        overrides: words of the command line, without the command and its flags; those about the user's
            workloads last, whether they are from the command line or the environment.
        config_folders: folders of config files that the command line adds.
    """

    sweep: Sweep
    executor: ExecutorName
    deadlines: Deadlines
    cluster_address: str
    missing_device: MissingDevice
    tracking_uri: str | None
    retries: Mapping[FailureKind, int]
    backoff_seconds: float
    trainers: Mapping[str, TrainerSettings]
    outputs: Path
    prices: PriceList
    reprices: bool
    data_folder: Path | None
    archive_url: str | None = None
    cluster: Cluster | None = None
    network_gbps: float | None = None
    checkpointing: Checkpointing | None = None
    objective: Objective = FASTEST
    report_source: ReportSource = "ledger"
    images: bool = False
    rerun: Rerun = Rerun()
    budget: Budget = UNCAPPED
    compiling: Compiling = Compiling()
    search: Search = GRID
    overrides: tuple[str, ...] = ()
    config_folders: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        for kind, count in self.retries.items():
            if count < 0:
                raise ConfigError(f"retry.{kind}={count} must not be negative")
        if not 0 <= self.backoff_seconds < math.inf:
            raise ConfigError(f"retry.backoff_seconds={self.backoff_seconds} must be finite and not negative")
        if not 0 < (self.network_gbps or 1) < math.inf or self.network_gbps == 0:
            raise ConfigError(f"cluster.network_gbps={self.network_gbps} must be above 0 and finite")
        if self.sweep.order == "cheapest_first" and not self.prices.rows:
            raise ConfigError(
                f"sweep.order=cheapest_first needs prices, and prices={self.prices.name} has none"
            )
        self._check_cluster()

    @property
    def asks_compiler(self) -> bool:
        """True if the sweep has accelerators for which the compiler is asked about memory."""
        has_any = any(device.kind != "cpu" for device in self.sweep.devices.values())
        return has_any and self.compiling.stage != "off"

    @property
    def is_fake(self) -> bool:
        """True where the nodes are processes of this machine."""
        return self.cluster_address == "fake"

    @property
    def keeps_checkpoints_here(self) -> bool:
        """True where cluster nodes see checkpoints only if they share the driver's folders."""
        is_url = self.checkpointing is None or "://" in self.checkpointing.url
        return self.cluster is not None and not self.is_fake and not is_url

    def _check_cluster(self) -> None:
        if self.executor == "inline" and self.cluster_address != "local":
            raise ConfigError(
                f"executor=inline runs on this machine alone; cluster.address={self.cluster_address!r} needs "
                f"executor=ray"
            )
        if self.cluster is None:
            if self.is_fake:
                raise ConfigError("cluster.address=fake needs pools; set cluster=fake, or pools=NAME too")
            return
        if self.cluster_address == "local":
            raise ConfigError(
                f"pools={self.cluster.name} are nodes of a cluster; set cluster.address=auto on its head, or "
                f"cluster=fake to rehearse it on this machine"
            )
        if self.cluster.provider == "fake" and not self.is_fake:
            raise ConfigError(f"pools={self.cluster.name} has fake nodes alone; set cluster=fake")
