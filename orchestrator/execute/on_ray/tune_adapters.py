"""Adapters for Ray Tune: the queue as a searcher, deadlines as a scheduler, and callbacks."""

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.autoscaler.v2.sdk import get_cluster_status

# ray 2.60: Tune adds a reporter of its own unless it is given one
from ray.tune.progress_reporter import TrialProgressCallback
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from orchestrator.core import codec
from orchestrator.core.placement import Attempt
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_progress import TrialProgress
from orchestrator.execute.executor import SweepContext, TrialCallback
from orchestrator.execute.on_ray import cluster as ray_cluster
from orchestrator.execute.on_ray import stop_requests
from orchestrator.execute.on_ray.placement_group import describe_request
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.execute.trial.records import classify_outcome

_POLL_SECONDS = 10.0  # a node takes minutes to start
_ANSWER_SECONDS = 2


def starting_pools() -> frozenset[str]:
    """Return the pools of which a node is requested or boots; empty if the autoscaler does not answer.

    The autoscaler's node types have the names of pools.
    """
    with contextlib.suppress(Exception):  # Ray documents no errors, and the deadline holds without an answer
        address = ray.get_runtime_context().gcs_address
        status = get_cluster_status(address, timeout=_ANSWER_SECONDS)
        requested = (launch.ray_node_type_name for launch in status.pending_launches)
        booting = (node.ray_node_type_name for node in status.pending_nodes)
        return frozenset((*requested, *booting))
    return frozenset()


class FirstSigns:
    """Trials of which a node was seen to start, so that their time to wait begins anew, once."""

    def __init__(
        self,
        read: Callable[[], Collection[str]] = starting_pools,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._clock = clock
        self._due = 0.0
        self._pools: Collection[str] = ()
        self._seen: set[str] = set()

    def is_first(self, trial_id: str, pools: Collection[str]) -> bool:
        """Return True once for a trial: when a node of one of its pools starts."""
        if not pools or trial_id in self._seen:
            return False
        if self._clock() >= self._due:
            self._pools, self._due = self._read(), self._clock() + _POLL_SECONDS
        if not set(pools) & set(self._pools):
            return False
        self._seen.add(trial_id)
        return True


class KeptActors:
    """Actors that Tune must not end before the next trials are chosen.

    Tune gives an ended trial's actor to a trial that asks for the same resources, but keeps it only for one
    that waits already. On a cluster none does: Ray's autoscaler would start a node for a trial that waits
    beside a running one. A new actor costs a placement group, two processes and their imports: seconds.

    ray 2.60: Tune has no public way to keep an actor for later, so the minor version is pinned.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []

    def keep(self, tune_controller: Any, trial: Any) -> None:
        """Keep the actor of a trial that is ending; call it before Tune decides about the actor."""
        cache, resources = tune_controller._actor_cache, trial.placement_group_factory
        cache.increase_max(resources)
        self._kept.append((cache, resources))

    def release(self) -> None:
        """Let Tune end the kept actors, but for those that a chosen trial takes; call it after the choice."""
        for cache, resources in self._kept:
            cache.decrease_max(resources)
        self._kept.clear()


PROGRESS = "progress"
"""Key of what a trial reports on its way; its record has another one."""

CAN_GO_ON = "can_go_on"
"""Key beside a record: another trial can run where this one ran."""

_GRACE_SECONDS = 15.0  # a supervisor that is alive ends its trial sooner after the deadlines
_LOW_ON_MEMORY = "due to the node running low on memory"  # Ray's words; Tune keeps no more of its error


class DriverError(BaseException):
    """Carries an error of ours to where the Tuner was called: Tune takes any `Exception` for a trial's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class QueueSearcher(Searcher):
    """Searcher that suggests the next attempt of the queue, or nothing while no attempt fits."""

    def __init__(
        self,
        queue: Queue,
        context: SweepContext,
        *,
        on_record: Callable[[TrialRecord], None],
        callback: TrialCallback,
    ) -> None:
        super().__init__()
        self._queue = queue
        self._context = context
        self._keep = on_record
        self._callback = callback
        self._started: dict[str, tuple[Attempt, float]] = {}
        self._failures: dict[str, Failure] = {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override] # Ray documents FINISHED
        """Return the configuration of a Tune trial: which trial, which attempt at it, and its placement.

        Tune names its folder by the first two. The third is text: Tune reads what runs a trial anew for every
        trial, so that it must not hold the placements of all of them.
        """
        attempt = self._queue.take()
        if attempt is None:
            return Searcher.FINISHED if self._queue.is_drained else None
        self._started[trial_id] = attempt, time.time()
        self._callback.started(attempt)
        return {
            "trial_id": attempt.placement.trial_id,
            "attempt": attempt.number,
            "placement": codec.to_json(attempt.placement),
        }

    @property
    def is_stopped(self) -> bool:
        """True where nothing more is to be started."""
        return self._queue.is_stopped

    def find_pools(self, trial_id: str) -> tuple[str, ...]:
        """Return the pools with nodes for which a Tune trial waits."""
        attempt, _ = self._started[trial_id]
        return attempt.placement.pools

    def on_placed(self, trial_id: str) -> None:
        """Report that a Tune trial has its hardware."""
        attempt, _ = self._started[trial_id]
        self._callback.placed(attempt)

    def request_stops(self) -> None:
        """Request the stop of the running attempts that the queue names."""
        for attempt in self._queue.leaving():
            stop_requests.request_stop(attempt)

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Pass the progress of a running trial to the queue; the trial waits for it."""
        if PROGRESS not in result or trial_id not in self._started:
            return
        try:
            attempt, _ = self._started[trial_id]
            self._queue.add_progress(attempt, codec.from_json(TrialProgress, result[PROGRESS]))
            self.request_stops()
        except Exception as error:
            raise DriverError(error) from error

    def on_failure(self, trial_id: str, failure: Failure) -> None:
        """Note why a Tune trial ends without a record. The first of several reasons counts as the cause."""
        self._failures.setdefault(trial_id, failure)

    def on_trial_complete(
        self,
        trial_id: str,
        result: Mapping[str, Any] | None = None,
        error: bool = False,  # `on_failure` has the details
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
                self._callback.withdrawn(attempt)
            else:
                self._end_of_waiting(attempt, started_at=started_at)
        except Exception as error:
            raise DriverError(error) from error

    def _end(self, record: TrialRecord) -> None:
        record = self._queue.with_cause(record)
        self._keep(record)
        self._queue.end(record)
        self._callback.ended(record)

    def _failed(self, attempt: Attempt, failure: Failure, *, started_at: float) -> TrialRecord:
        return classify_outcome(
            attempt, self._context, started_at=started_at, ended_with=failure, versions={}
        )

    def _end_of_waiting(self, attempt: Attempt, *, started_at: float) -> None:
        """End an attempt that waited too long for its hardware, and others that wait for the same pools."""
        pools = attempt.placement.pools
        others = self._queue.withdraw(pools) if pools else ()
        request = describe_request(attempt.placement, self._context)
        seconds = self._context.deadlines.resources_seconds
        message = f"{request} after {seconds:g} s; {ray_cluster.description()}"
        failure = Failure(kind="infeasible", message=message)
        self._end(self._failed(attempt, failure, started_at=started_at))
        for other in others:
            self._callback.started(other)
            record = self._failed(other, failure, started_at=time.time())
            self._keep(record)
            self._callback.ended(record)

    def __getstate__(self) -> dict[str, object]:
        """Return an empty state: Tune pickles its parts for a restore that is never used."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Keep nothing: the ledger decides what is done."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing, for nothing is kept."""


class SilentReporter(TrialProgressCallback):
    """Progress reporter that prints nothing; Tune's own reports a trial that was ended while it waited."""

    def _print(self, msg: str) -> None: ...


class PlacementCallback(tune.Callback):
    """Callback for the start of a Tune trial, when it has its hardware and its actor has answered."""

    def __init__(self, on_start: Callable[[str], None]) -> None:
        self._on_start = on_start

    def on_trial_start(self, *_: Any, trial: Any = None, **__: Any) -> None:
        """Forward the start of a trial, called by Tune."""
        self._on_start(trial.trial_id)


class DeadlineScheduler(FIFOScheduler):
    """Scheduler that ends Tune trials at their deadlines; Tune itself would wait for ever.

    A trial may wait for `resources_seconds` until a node of its pool starts, and as long again until the node
    is there. Tune reports a trial's error to the scheduler before it asks the searcher.
    """

    def __init__(
        self, deadlines: Deadlines, searcher: QueueSearcher, first_signs: FirstSigns | None = None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # Ray has no type there
        self._resources_seconds = deadlines.resources_seconds
        self._supervised_seconds = deadlines.start_seconds + deadlines.run_seconds + _GRACE_SECONDS
        self._searcher = searcher
        self._first_signs = first_signs or FirstSigns()
        self._kept_actors = KeptActors()
        self._since: dict[str, tuple[str, float]] = {}

    def on_trial_error(self, _tune_controller: Any, trial: Any) -> None:
        """Classify what Tune has written down of the error."""
        self._searcher.on_failure(trial.trial_id, _supervisor_died(Path(trial.error_file).read_text()))

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: Mapping[str, Any]) -> None:
        """Keep the trial's actor for the next one. Tune calls the scheduler before it ends the actor."""
        self._since.pop(trial.trial_id, None)
        if result.get(CAN_GO_ON):
            self._kept_actors.keep(tune_controller, trial)

    def choose_trial_to_run(self, tune_controller: Any) -> None:
        """Ask trials to leave, and end those that waited too long. Tune starts the others in their order.

        Tune's own choice of the first pending trial would look at every trial that has ended.
        """
        self._kept_actors.release()
        self._searcher.request_stops()
        is_stopped = self._searcher.is_stopped
        for trial in tuple(tune_controller.get_live_trials()):  # stopping one takes it out of that set
            seconds = self._seconds_in_status(trial)
            if trial.status == trial.PENDING and (is_stopped or seconds > self._resources_seconds):
                trial.init_local_path()  # ray 2.60 asks in the end for that of every trial
                tune_controller.stop_trial(trial)
            elif trial.status == trial.RUNNING and seconds > self._supervised_seconds:
                self._searcher.on_failure(
                    trial.trial_id,
                    Failure(
                        kind="timeout",
                        message=f"the trial's supervisor said nothing for {self._supervised_seconds:g} s",
                    ),
                )
                ray.kill(trial.temporary_state.ray_actor)

    def _seconds_in_status(self, trial: Any) -> float:
        status, since = self._since.get(trial.trial_id, ("", 0.0))
        if status != trial.status or (
            trial.status == trial.PENDING
            and self._first_signs.is_first(trial.trial_id, self._searcher.find_pools(trial.trial_id))
        ):
            since = time.monotonic()
            self._since[trial.trial_id] = trial.status, since
        return time.monotonic() - since


def _supervisor_died(error: str) -> Failure:
    if _LOW_ON_MEMORY in error:
        return Failure(kind="oom", message="Ray killed the trial's supervisor: the host ran low on memory")
    return Failure(kind="worker_lost", message="the trial's supervisor died; Ray's own logs may say why")
