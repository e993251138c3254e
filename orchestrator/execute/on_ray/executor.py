"""Runs a sweep's trials with Ray Tune: one Tuner, one Tune trial per attempt, one placement group each.

Ray holds the resources and starts the actors; what runs next is our `Queue`, handed to Tune as a searcher;
what is done is our ledger, so Tune keeps no state worth restoring.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import ray
from ray import tune

# ray 2.60: what Tune hands on to its actors stands on the command lines of processes, for all users to see
from ray.tune.execution.class_cache import ENV_VARS_TO_PROPAGATE

from orchestrator.core import codec
from orchestrator.core.errors import TrialError
from orchestrator.core.inventory import Inventory
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.pool import Cluster
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.trial_progress import TrialProgress
from orchestrator.execute.executor import SweepContext, TrialCallback
from orchestrator.execute.on_ray import cluster as ray_cluster
from orchestrator.execute.on_ray import stop_requests
from orchestrator.execute.on_ray.agent import RayHostAgent
from orchestrator.execute.on_ray.file_transfer import DriverFiles, staged_inputs
from orchestrator.execute.on_ray.placement_group import build_bundles, hosts_of_group, placement_strategy
from orchestrator.execute.on_ray.pool_nodes import POOL_LABEL
from orchestrator.execute.on_ray.ray_internals import list_embedded_processes
from orchestrator.execute.on_ray.tune_adapters import (
    CAN_GO_ON,
    PROGRESS,
    DeadlineScheduler,
    DriverError,
    PlacementCallback,
    QueueSearcher,
    SilentReporter,
)
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.execute.trial.records import classify_outcome
from orchestrator.execute.trial.supervisor import build_record
from orchestrator.train.process.temp_dirs import temporary_folder
from orchestrator.train.registry import trainer_info

_EVERY_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_LOST_SECONDS = 20.0  # a head that is started anew and keeps its state elsewhere takes some
_NO_RESULT = 1
"""Exit code of a command with trials without a result."""


_NODE_LABEL = "ray.io/node-id"
_NO_NODE = "!none"
"""True of every node. Tune reuses an actor for a request with the same resources, and that of a failed
attempt may be on a node that drains: so the next attempt requests something else."""

_SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SECURITY_TOKEN", "AWS_SESSION_TOKEN")
"""Credentials of a bucket. Processes of this host inherit them; nodes of a cluster have their own."""


class RayTuneExecutor:
    """Trials on a Ray cluster: an embedded one on this host, or the one at `address`.

    Args:
        address: as for `cluster.connected`.
        cluster: cluster with the pools of the inventory; None without pools.
    """

    def __init__(self, inventory: Inventory, *, address: str, cluster: Cluster | None = None) -> None:
        self._inventory = inventory
        self._address = address
        self._cluster = cluster

    def run_queue(
        self,
        queue: Queue,
        context: SweepContext,
        callback: TrialCallback,
        *,
        on_record: Callable[[TrialRecord], None],
    ) -> None:
        """Run the queue's attempts as Tune trials. The driver stores each record when its trial ends."""
        searcher = QueueSearcher(queue, context, on_record=on_record, callback=callback)
        ENV_VARS_TO_PROPAGATE.difference_update(_SECRETS)
        origins = context.origins.values()
        packages = [Path(origin.folder) for origin in origins if origin.folder and not origin.is_bundled]
        with (
            ray_cluster.connected(
                self._inventory, address=self._address, cluster=self._cluster, packages=packages
            ),
            temporary_folder("orchestrator-") as storage,
            contextlib.ExitStack() as held,
        ):
            held.enter_context(head_monitor(ray.get_runtime_context().gcs_address))
            held.callback(stop_requests.clear_requests)
            driver_files = held.enter_context(DriverFiles(context.folder)) if self._cluster else None
            agent = RayHostAgent()
            if self._cluster is None and queue.placements:  # imports its framework while Tune starts
                trainer = queue.placements[0].trial.trainer
                agent.prepare(trainer_info(trainer), python=context.pythons[trainer])
            tuner = tune.Tuner(
                _trainable(context, agent=agent, driver_files=driver_files, slices=self._slices()),
                tune_config=tune.TuneConfig(
                    search_alg=searcher,
                    scheduler=DeadlineScheduler(context.deadlines, searcher),
                    num_samples=-1,
                    reuse_actors=True,
                ),
                run_config=tune.RunConfig(
                    storage_path=str(storage),
                    name="sweep",
                    verbose=0,
                    progress_reporter=tune.CLIReporter(),  # silent; a notebook's would clear the cell
                    callbacks=[SilentReporter(), PlacementCallback(searcher.on_placed)],
                ),
            )
            try:
                tuner.fit()
            except DriverError as carrier:
                raise carrier.error from None
            finally:
                agent.close()

    def _slices(self) -> Collection[str]:
        """Find pools of slices with several hosts. Fake nodes do not have the name of their slice."""
        pools = [
            node_group.pool
            for node_group in self._inventory.node_groups.values()
            if node_group.pool and not node_group.is_fake
        ]
        return {pool.name for pool in pools if pool.hosts > 1}


def _trainable(
    context: SweepContext,
    *,
    agent: RayHostAgent,
    driver_files: DriverFiles | None,
    slices: Collection[str],
) -> Any:
    """Build the function that Tune runs: an attempt's supervisor, in an actor that holds the trial's first
    bundle.

    Args:
        driver_files: None where all trials run on the driver's host.
        slices: pools with hosts of slices as nodes.
    """

    def supervise(config: Mapping[str, Any]) -> None:
        attempt = Attempt(placement=_read_placement(config), number=config["attempt"])
        resources = build_bundles(attempt.placement, context)
        device_ids = [str(id_) for id_ in ray.get_gpu_ids()]
        started_at, can_go_on = time.time(), False

        def on_progress(progress: TrialProgress) -> None:
            tune.report({PROGRESS: codec.to_json(progress)})

        try:
            with staged_inputs(attempt, context, driver_files=driver_files) as here:
                placed, hosts = hosts_of_group(
                    attempt,
                    context,
                    here=here,
                    driver_files=driver_files,
                    fork_server_of=agent.fork_server,
                    resources=resources,
                )
                record = build_record(
                    placed, here, hosts=hosts, on_progress=on_progress, device_ids=device_ids
                )
                can_go_on = record.failure is None and not any(host.is_leaving() for host in hosts)
        except TrialError as error:
            failure = Failure(kind=error.kind, message=str(error))
            record = classify_outcome(
                attempt, context, started_at=started_at, ended_with=failure, versions={}
            )
        tune.report({"record": codec.to_json(record), CAN_GO_ON: can_go_on})

    return tune.with_resources(supervise, partial(_request_bundles, context=context, slices=slices))


def _request_bundles(
    config: Mapping[str, Any], *, context: SweepContext, slices: Collection[str]
) -> tune.PlacementGroupFactory:
    """Request a bundle for each host of an attempt, on a node of its pool."""
    placement = _read_placement(config)
    again = {_NODE_LABEL: _NO_NODE} if config["attempt"] > 1 else {}
    firsts = [placement.on_host(host)[0] for host in range(placement.num_hosts)]
    return tune.PlacementGroupFactory(
        build_bundles(placement, context),
        bundle_label_selector=[
            {**({POOL_LABEL: first.pool} if first.pool else {}), **again} for first in firsts
        ],
        **placement_strategy(placement, is_slice=placement.pool in slices),
    )


def _read_placement(config: Mapping[str, Any]) -> Placement:
    """Read the placement of a Tune trial, as `QueueSearcher.suggest` writes it."""
    return codec.from_json(Placement, config["placement"])


@contextlib.contextmanager
def head_monitor(address: str) -> Iterator[None]:
    """Poll the head at HOST:PORT in the background. When it or the raylet is gone this process ends.

    ray 2.60 waits for a head in calls that no signal and no exception interrupts, and ends the process after
    a minute with words of its own. At any end of a driver its records are kept, and what it has started ends.
    """
    ended = threading.Event()
    threading.Thread(target=_watch, args=(address, list_embedded_processes(), ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(address: str, processes: "Mapping[str, subprocess.Popen[bytes]]", ended: threading.Event) -> None:
    host, _, port = address.rpartition(":")
    answered = time.monotonic()
    while not ended.wait(_EVERY_SECONDS):
        gone = [kind for kind, process in processes.items() if process.poll() is not None]
        if gone and not ended.is_set():
            _end(f"Ray's {gone[0]} was killed or has crashed", rest="runs the rest")
        with contextlib.suppress(OSError):
            socket.create_connection((host, int(port)), _ANSWER_SECONDS).close()
            answered = time.monotonic()
        if time.monotonic() - answered > _LOST_SECONDS and not ended.is_set():
            _end(
                f"the head of the cluster at {address} is gone",
                rest="runs the rest on a cluster that answers",
            )


def _end(cause: str, *, rest: str) -> NoReturn:
    sys.stderr.write(f"\nerror: {cause}; finished trials are kept, and the same command {rest}\n")
    sys.stderr.flush()
    os._exit(_NO_RESULT)
