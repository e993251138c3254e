"""Runs a sweep's trials with Ray Tune: one Tuner, one Tune trial per attempt, one placement group each.

Ray holds the resources and starts the actors; what runs next is our `Queue`, handed to Tune as a searcher;
what is done is our ledger, so Tune keeps no state worth restoring.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray import tune

# ray 2.60: what Tune hands on to its actors stands on the command lines of processes, for all users to see
from ray.tune.execution.class_cache import ENV_VARS_TO_PROPAGATE

# ray 2.60: Tune adds one of its own where there is none
from ray.tune.progress_reporter import TrialProgressCallback
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from orchestrator.core import codec
from orchestrator.core.errors import TrialError
from orchestrator.core.inventory import Inventory
from orchestrator.core.placement import Placement
from orchestrator.core.pool import Cluster
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.deploy.nodes import POOL_LABEL
from orchestrator.execute import ray_cluster, ray_notices
from orchestrator.execute.base import Attempt, Mission, Watcher
from orchestrator.execute.folders import temporary_folder
from orchestrator.execute.halt import Halt, unwished
from orchestrator.execute.head_watch import head_watched
from orchestrator.execute.outcome import outcome_of
from orchestrator.execute.purse import OPEN, Purse
from orchestrator.execute.queue import Queue
from orchestrator.execute.ray_agent import RayAgent
from orchestrator.execute.ray_depot import Depot
from orchestrator.execute.ray_gang import gang_of, spread_of
from orchestrator.execute.ray_supplies import supplied
from orchestrator.execute.supervisor import record_of

_NODE_LABEL = "ray.io/node-id"
_NO_NODE = "!none"
"""True of every node. Tune gives an actor again to whoever asks for the same, and that of an attempt that has
failed may be on a node that drains: so the next one asks for something else."""

_GRACE_SECONDS = 15.0  # a supervisor that is alive ends its trial sooner after the deadlines
_LOW_ON_MEMORY = "due to the node running low on memory"  # Ray's words; Tune keeps no more of its error

_SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN")
"""Of a bucket. Processes of this host inherit them, and nodes of a cluster have some of their own."""


class RayTuneExecutor:
    """Trials on a Ray cluster: an embedded one on this host, or the one at `address`.

    Args:
        address: as `ray_cluster.connected` has it.
        cluster: with the pools of the inventory; None: there are none.
    """

    def __init__(self, inventory: Inventory, *, address: str, cluster: Cluster | None = None) -> None:
        self._inventory = inventory
        self._address = address
        self._cluster = cluster

    def run(
        self,
        placements: Sequence[Placement],
        mission: Mission,
        *,
        keep: Callable[[TrialRecord], None],
        watcher: Watcher,
        wished: Callable[[], Halt | None] = unwished,
        purse: Purse = OPEN,
    ) -> None:
        """Run every placement as Tune trials; each record is kept in the driver, as its trial ends."""
        queue = Queue(
            placements,
            inventory=self._inventory,
            prior_attempts=mission.prior_attempts,
            retry_limits=mission.retry_limits,
            backoff_seconds=mission.backoff_seconds,
            purse=purse,
            wished=wished,
        )
        searcher = _QueueSearcher(queue, mission, keep=keep, watcher=watcher)
        ENV_VARS_TO_PROPAGATE.difference_update(_SECRETS)
        packages = [Path(each.folder) for each in mission.origins.values() if each.folder]
        by_id = {placement.trial_id: placement for placement in placements}
        with (
            ray_cluster.connected(
                self._inventory, address=self._address, cluster=self._cluster, packages=packages
            ),
            temporary_folder("orchestrator-") as storage,
            contextlib.ExitStack() as held,
        ):
            held.enter_context(head_watched(ray.get_runtime_context().gcs_address))
            held.callback(ray_notices.take_back)
            depot = held.enter_context(Depot(mission.folder)) if self._cluster else None
            agent = RayAgent()
            tuner = tune.Tuner(
                _trainable(by_id, mission, agent=agent, depot=depot, slices=self._slices()),
                tune_config=tune.TuneConfig(
                    search_alg=searcher,
                    scheduler=_Watch(mission.deadlines, searcher),
                    num_samples=-1,
                    reuse_actors=True,
                ),
                run_config=tune.RunConfig(
                    storage_path=str(storage),
                    name="sweep",
                    verbose=0,
                    progress_reporter=tune.CLIReporter(),  # silent; a notebook's would clear the cell
                    callbacks=[_Silent(), _Placed(searcher.hear_placed)],
                ),
            )
            try:
                tuner.fit()
            except _PastTune as carrier:
                raise carrier.error from None
            finally:
                agent.close()

    def _slices(self) -> Collection[str]:
        """Pools of slices with several hosts. Fake nodes do not say which slice they are of."""
        pools = [each.pool for each in self._inventory.sites.values() if each.pool and not each.is_fake]
        return {each.name for each in pools if each.hosts > 1}


class _PastTune(BaseException):
    """Carries an error of ours to where the Tuner was called: Tune takes any `Exception` for a trial's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class _QueueSearcher(Searcher):
    """Tune's view of the queue: the next attempt when there is room, nothing while there is none."""

    def __init__(
        self, queue: Queue, mission: Mission, *, keep: Callable[[TrialRecord], None], watcher: Watcher
    ) -> None:
        super().__init__()
        self._queue = queue
        self._mission = mission
        self._keep = keep
        self._watcher = watcher
        self._started: dict[str, tuple[Attempt, float]] = {}
        self._failures: dict[str, Failure] = {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override] # Ray documents FINISHED
        """The configuration of a Tune trial: which trial, and which attempt at it."""
        attempt = self._queue.take()
        if attempt is None:
            return Searcher.FINISHED if self._queue.is_drained else None
        self._started[trial_id] = attempt, time.time()
        self._watcher.started(attempt)
        return {"trial_id": attempt.placement.trial_id, "attempt": attempt.number}

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is to be started."""
        return self._queue.is_stopped

    def hear_placed(self, trial_id: str) -> None:
        """Take note that a Tune trial has its hardware."""
        attempt, _ = self._started[trial_id]
        self._watcher.placed(attempt)

    def tell_leavers(self) -> None:
        """Tell those that must leave, which the queue knows."""
        for attempt in self._queue.leavers():
            ray_notices.tell_to_leave(attempt)

    def hear_failure(self, trial_id: str, failure: Failure) -> None:
        """Take note of why a Tune trial ends without a record; of several reasons the first is the cause."""
        self._failures.setdefault(trial_id, failure)

    def on_trial_complete(
        self,
        trial_id: str,
        result: Mapping[str, Any] | None = None,
        error: bool = False,  # `hear_failure` was told more
    ) -> None:
        """Keep the record that the trial reported, or make one of its failure to do so."""
        attempt, started_at = self._started.pop(trial_id)
        try:
            if result is not None and "record" in result:
                self._end(codec.from_json(TrialRecord, result["record"]))
            elif failure := self._failures.pop(trial_id, None):
                self._end(self._failed(attempt, failure, started_at=started_at))
            elif self.is_stopped:
                self._queue.drop(attempt)
                self._watcher.withdrawn(attempt)
            else:
                self._end_of_waiting(attempt, started_at=started_at)
        except Exception as error:
            raise _PastTune(error) from error

    def _end(self, record: TrialRecord) -> None:
        record = self._queue.explained(record)
        self._keep(record)
        self._queue.end(record)
        self._watcher.ended(record)

    def _failed(self, attempt: Attempt, failure: Failure, *, started_at: float) -> TrialRecord:
        return outcome_of(attempt, self._mission, started_at=started_at, ended_with=failure, versions={})

    def _end_of_waiting(self, attempt: Attempt, *, started_at: float) -> None:
        """It never had its hardware; nor would others that wait for nodes of the same pools."""
        pools = attempt.placement.pools
        others = self._queue.withdraw(pools) if pools else ()
        failure = self._never_placed(attempt.placement)
        self._end(self._failed(attempt, failure, started_at=started_at))
        for other in others:
            self._watcher.started(other)
            record = self._failed(other, failure, started_at=time.time())
            self._keep(record)
            self._watcher.ended(record)

    def _never_placed(self, placement: Placement) -> Failure:
        asked = asked_in_words(placement, self._mission)
        seconds = self._mission.deadlines.resources_seconds
        message = f"{asked} after {seconds:g} s; {ray_cluster.description()}"
        return Failure(kind="infeasible", message=message)

    def __getstate__(self) -> dict[str, object]:
        """Nothing: Tune pickles its parts for a restore that never comes."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Keep nothing: the ledger decides what is done."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing, for nothing is kept."""


class _Silent(TrialProgressCallback):
    """In the place of one that tells, at any verbosity, of a trial that was ended while it waited."""

    def _print(self, msg: str) -> None: ...


class _Placed(tune.Callback):
    """Tells when a Tune trial has got its hardware, and its actor has answered."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def on_trial_start(self, *_: Any, trial: Any = None, **__: Any) -> None:
        """As Tune calls it."""
        self._tell(trial.trial_id)


class _Watch(FIFOScheduler):
    """Ends the Tune trials whose time is up, for Tune itself would wait for ever.

    It is also the one that Tune tells of a trial's error before the searcher has to answer to it.
    """

    def __init__(self, deadlines: Deadlines, searcher: _QueueSearcher) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # Ray has no type there
        self._resources_seconds = deadlines.resources_seconds
        self._supervised_seconds = deadlines.start_seconds + deadlines.run_seconds + _GRACE_SECONDS
        self._searcher = searcher
        self._since: dict[str, tuple[str, float]] = {}

    def on_trial_error(self, _tune_controller: Any, trial: Any) -> None:
        """Classify what Tune has written down of the error."""
        self._searcher.hear_failure(trial.trial_id, _supervisor_died(Path(trial.error_file).read_text()))

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """First come, first served, after leavers are told, and those that waited too long are ended."""
        self._searcher.tell_leavers()
        is_stopped = self._searcher.is_stopped
        for trial in tuple(tune_controller.get_live_trials()):  # stopping one takes it out of that set
            seconds = self._seconds_in_status(trial)
            if trial.status == trial.PENDING and (is_stopped or seconds > self._resources_seconds):
                trial.init_local_path()  # ray 2.60 asks in the end for that of every trial
                tune_controller.stop_trial(trial)
            elif trial.status == trial.RUNNING and seconds > self._supervised_seconds:
                self._searcher.hear_failure(trial.trial_id, _supervisor_hangs(self._supervised_seconds))
                ray.kill(trial.temporary_state.ray_actor)
        return super().choose_trial_to_run(tune_controller)

    def _seconds_in_status(self, trial: Any) -> float:
        status, since = self._since.get(trial.trial_id, ("", 0.0))
        if status != trial.status:
            since = time.monotonic()
            self._since[trial.trial_id] = trial.status, since
        return time.monotonic() - since


def _trainable(
    placements: Mapping[str, Placement],
    mission: Mission,
    *,
    agent: RayAgent,
    depot: Depot | None,
    slices: Collection[str],
) -> Any:
    """What Tune runs: the supervisor of one attempt, in an actor that holds the trial's first bundle.

    Args:
        depot: None where all trials run on the driver's host.
        slices: pools whose nodes are hosts of slices.
    """

    def supervise(config: Mapping[str, Any]) -> None:
        attempt = Attempt(placement=placements[config["trial_id"]], number=config["attempt"])
        resources = _bundles_of(attempt.placement, mission)
        device_ids = [str(each) for each in ray.get_gpu_ids()]
        started_at = time.time()
        try:
            with supplied(attempt, mission, depot=depot) as here:
                placed, hosts = gang_of(
                    attempt, mission, here=here, depot=depot, nursery_of=agent.nursery, resources=resources
                )
                record = record_of(placed, here, hosts=hosts, device_ids=device_ids)
        except TrialError as error:
            failure = Failure(kind=error.kind, message=str(error))
            record = outcome_of(attempt, mission, started_at=started_at, ended_with=failure, versions={})
        tune.report({"record": codec.to_json(record)})

    def bundles(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
        placement = placements[config["trial_id"]]
        again = {_NODE_LABEL: _NO_NODE} if config["attempt"] > 1 else {}
        firsts = [placement.on_host(host)[0] for host in range(placement.num_hosts)]
        return tune.PlacementGroupFactory(
            _bundles_of(placement, mission),
            bundle_label_selector=[
                {**({POOL_LABEL: each.pool} if each.pool else {}), **again} for each in firsts
            ],
            **spread_of(placement, is_slice=placement.pool in slices),
        )

    return tune.with_resources(supervise, bundles)


def _bundles_of(placement: Placement, mission: Mission) -> list[dict[str, float]]:
    """What each host gives the trial. Ray counts GPUs and the chips of TPU slices under these names."""
    bundles: list[dict[str, float]] = []
    for host in range(placement.num_hosts):
        held: dict[str, float] = {"CPU": 0.0}
        for part in placement.on_host(host):
            held["CPU"] += part.cpus
            if part.chips:  # a fake node has the accelerators in Ray's books alone
                kind = mission.devices[part.device].kind if part.kind == "cpu" else part.kind
                held[kind.upper()] = held.get(kind.upper(), 0.0) + part.chips
        bundles.append(held)
    return bundles


def asked_in_words(placement: Placement, mission: Mission) -> str:
    """What a trial waits for: `8 CPU not free in pool cpu`."""
    held = [
        ", ".join(f"{amount:g} {name}" for name, amount in each.items())
        for each in _bundles_of(placement, mission)
    ]
    several = f"{placement.num_hosts} nodes at once with " if placement.num_hosts > 1 else ""
    if several and placement.unequal:
        parts = zip(held, placement.unequal, strict=True)
        return f"{several}{' and '.join(f'{each} in pool {part.pool}' for each, part in parts)} not free"
    where = f" in pool {placement.pool}" if placement.pool else ""
    return f"{several}{held[0]}{' each' if several else ''} not free{where}"


def _supervisor_died(error: str) -> Failure:
    if _LOW_ON_MEMORY in error:
        return Failure(kind="oom", message="Ray killed the trial's supervisor: the host ran low on memory")
    return Failure(kind="worker_lost", message="the trial's supervisor died; Ray's own logs may say why")


def _supervisor_hangs(seconds: float) -> Failure:
    return Failure(kind="timeout", message=f"the trial's supervisor said nothing for {seconds:g} s")
