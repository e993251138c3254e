"""Placement of every trial of a sweep, or the reason why it has none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import FailureKind
from orchestrator.core.estimate import ErrorModel, Estimate, Forecast, StepPrior, TrackRecord
from orchestrator.core.memory_fit import NoFit, Verdict
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.printable import command_text
from orchestrator.core.search import GRID, Search
from orchestrator.core.trial_spec import TrialSpec

Provenance = Literal["measured", "rehearsed"]
StartMethod = Literal["fork", "spawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankGroup:
    """Consecutive ranks of a trial that run on one host, on devices that are alike.

    Attributes:
        device: name of the requested device.
        kind: the kind of device that really runs.
        host: index of its host among the trial's hosts, from 0.
        num_processes, threads, pool, cpus, devices, chips: as in `Placement`, for these ranks.
    """

    device: str
    kind: DeviceKind
    num_processes: int
    threads: int
    cpus: int
    devices: int
    chips: int
    host: int = 0
    pool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One trial and the hardware it gets.

    If its devices differ, the figures of a machine or process are those of the first part.

    Attributes:
        provenance: `rehearsed` if another device runs the code path of the requested one.
        kind: kind of the device that runs it.
        precision: precision that the trainer sets; it differs from the trial's in a rehearsal only.
        replicas: data-parallel replicas that really run.
        num_processes: worker processes that hold those replicas, on all machines together.
        threads: intra-op threads of each process.
        node: name of the machine; as long as a cluster has not chosen one, of its pool.
        other_nodes: names of further machines, where it has several.
        num_hosts: machines that the trial holds, each with as many of its processes as the others, unless
            there are `unequal` parts.
        pool: pool of a cluster that it runs in; None: this host.
        cpus: cores of each machine that the trial holds.
        devices: accelerators of each machine that the trial holds.
        chips: resource units of those accelerators in a cluster.
        start_method: start of its worker processes: forked from a fork server or in a new interpreter.
        unequal: resources of every rank, in rank order; empty if all ranks have the same.
        trains: False for a trainer that computes nothing; its times are in no comparison.
        substitutions: replacements made by a rehearsal, for its record.
        warnings: caveats of the result.
    """

    trial: TrialSpec
    trial_id: str
    provenance: Provenance
    kind: DeviceKind
    precision: str
    replicas: int
    num_processes: int
    threads: int
    node: str
    cpus: int
    devices: int
    chips: int = 0
    num_hosts: int = 1
    other_nodes: tuple[str, ...] = ()
    pool: str | None = None
    start_method: StartMethod = "fork"
    unequal: tuple[RankGroup, ...] = ()
    trains: bool = True
    substitutions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[RankGroup, ...]:
        """Groups of ranks, in the order of ranks."""
        return self.unequal or tuple(
            RankGroup(
                device=self.trial.device,
                kind=self.kind,
                num_processes=self.num_processes // self.num_hosts,
                threads=self.threads,
                cpus=self.cpus,
                devices=self.devices,
                chips=self.chips,
                host=host,
                pool=self.pool,
            )
            for host in range(self.num_hosts)
        )

    @property
    def of_ranks(self) -> tuple[RankGroup, ...]:
        """The part that each rank belongs to."""
        return tuple(part for part in self.parts for _ in range(part.num_processes))

    def on_host(self, host: int) -> tuple[RankGroup, ...]:
        """Return the parts that one of its machines has."""
        return tuple(part for part in self.parts if part.host == host)

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools of its nodes, each once; empty on this host."""
        return tuple(dict.fromkeys(part.pool for part in self.parts if part.pool is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """A point that the records already answer. `stale` lists the changes of the environment since then."""

    trial: TrialSpec
    trial_id: str
    provenance: Provenance
    stale: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """Results of a trial that answer it no more, because files that its script read are others now.

    Attributes:
        changes: one for each such file, as `model.py has changed`.
        until: when the newest of these results ended, seconds since the epoch.
    """

    changes: tuple[str, ...]
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Point with a failure that would happen again: nothing that it ran with has changed since."""

    trial: TrialSpec
    trial_id: str
    provenance: Provenance
    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A point that cannot run here. The reason is one sentence that a user understands.

    Attributes:
        trial: None if the values of the point exclude it, so that it is not a trial.
        lacks_device: True if only its device is missing.
    """

    point: str
    reason: str
    trial: TrialSpec | None = None
    lacks_device: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Setting that every other setting of a sweep is compared with.

    Attributes:
        keys: configuration keys that it sets: `device`, `precision`.
        points: the trials that have those values, each by the trial_id of its first repeat.
    """

    keys: tuple[str, ...]
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """The quality on held-out data that counts of a workload, by the name that the workload gives it."""

    metric: str
    higher_is_better: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTraining:
    """The full training of a workload, as workload and data set declare it; a trial may be a part of it.

    Attributes:
        epochs: passes over the full training set; None where the workload declares none.
        train_samples: samples of the full training set; None if the data set declares none.
        samples: samples of the full training where its epochs are not declared, as of a script; None: not
            known.
        tokens_per_sample: tokens of a sample of a language model; None: samples are no texts.
    """

    epochs: float | None
    train_samples: int | None
    samples: int | None = None
    tokens_per_sample: float | None = None


def task_name(workload: str, options: Mapping[str, object]) -> str:
    """Name a workload with its options, which may change its aim and its full training."""
    return " ".join((workload, *(f"{name}={value}" for name, value in sorted(options.items()))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every point of a sweep's grid, each exactly once; `plan/order.py` has the order of the runs.

    Attributes:
        baseline: None where the sweep names none.
        failed: not run again unless requested.
        aims: quality aims of all workloads that have a trial, by `task_name`; plans stored before options
            counted have them by workload.
        trainings: full trainings of these workloads, likewise.
        inputs: inputs of these workloads' networks in words, by `task_name`; absent where a user's code has
            them.
        forecasts: predictions for trials on devices that are not available.
        hindcasts: of points that were measured, by the trial_id of the first repeat: what would have been
            predicted if they had not been.
        track_record: accuracy of the predictions for all measurements so far.
        step_priors: trial_id of a first repeat -> its step as predicted without own records of its workload,
            of all trials that are requested or lack their device.
        error_model: error model of these predictions; None in plans stored without one.
        memory: trial_id -> whether the trial's step fits its device, of trials to run that were asked about.
        search: how the trials of the plan are chosen, and how sure the answer must be.
        prices: trial_id of a first repeat -> price of its hardware, of the trials of an adaptive search.
        repeated_words: words that every command of an answer repeats: where trials run, and the question.
        words: words of the command that planned the sweep; empty in plans stored without them.
        outdated: trial_id -> its results that do not count, of trials of requested points.
        over_budget: cap that leaves out a trial, as `budget.usd=5`, once for each of them.
    """

    sweep: str
    placements: tuple[Placement, ...]
    cached: tuple[Cached, ...]
    skipped: tuple[Skipped, ...]
    failed: tuple[Failed, ...] = ()
    baseline: Baseline | None = None
    aims: Mapping[str, Aim] = field(default_factory=dict)
    trainings: Mapping[str, FullTraining] = field(default_factory=dict)
    forecasts: tuple[Forecast, ...] = ()
    hindcasts: Mapping[str, Estimate] = field(default_factory=dict)
    track_record: TrackRecord = field(default_factory=TrackRecord)
    step_priors: Mapping[str, StepPrior] = field(default_factory=dict)
    error_model: ErrorModel | None = None
    memory: Mapping[str, Verdict | NoFit] = field(default_factory=dict)
    search: Search = GRID
    prices: Mapping[str, Price | Unpriced] = field(default_factory=dict)
    repeated_words: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    outdated: Mapping[str, Outdated] = field(default_factory=dict)
    over_budget: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command line that runs the sweep."""
        return command_text(self.words or (f"+sweep={self.sweep}",))

    def find_aim(self, trial: TrialSpec) -> Aim | None:
        """Return the quality aim of a trial; None: its workload has none."""
        return self.aims.get(task_name(trial.workload, trial.workload_options), self.aims.get(trial.workload))

    def find_training(self, trial: TrialSpec) -> FullTraining | None:
        """Return the full training that a trial is a part of; None: the plan has none."""
        name = task_name(trial.workload, trial.workload_options)
        return self.trainings.get(name, self.trainings.get(trial.workload))

    def count_epoch_samples(self, trial: TrialSpec) -> int | None:
        """Return the samples of the full training set of a trial's job; None: not in the plan."""
        training = self.find_training(trial)
        return training.train_samples if training else None

    @property
    def asked(self) -> tuple[Cached | Failed | Placement, ...]:
        """Every trial that has a record, or is to have one."""
        return (*self.cached, *self.failed, *self.placements)

    @property
    def absent(self) -> tuple[TrialSpec, ...]:
        """Trials on devices that are not available, one for all repeats of a point."""
        return (
            *(trial.trial for trial in self.asked if trial.provenance == "rehearsed"),
            *(
                skipped_point.trial
                for skipped_point in self.skipped
                if skipped_point.trial and skipped_point.lacks_device
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One start of one trial: the first is number 1."""

    placement: Placement
    number: int
