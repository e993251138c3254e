"""Runs a sweep's trials one after the other on this host, without Ray."""

import time
from collections.abc import Callable
from functools import partial

from orchestrator.core.inventory import Inventory
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.execute.executor import SweepContext, TrialCallback
from orchestrator.execute.machine.agent import HostAgent
from orchestrator.execute.scheduling.capacity import fits
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.execute.trial.host import LocalHost
from orchestrator.execute.trial.records import classify_outcome
from orchestrator.execute.trial.supervisor import OnProgress, build_record
from orchestrator.train.gce_metadata import is_preempted
from orchestrator.train.registry import trainer_info

_TURN_SECONDS = 0.1


class InlineExecutor:
    """Executor without Ray: for a debugger, for a machine without Ray, and as the baseline of Ray's
    overhead.
    """

    def __init__(self, inventory: Inventory) -> None:
        self._node = inventory.host

    def run_queue(
        self,
        queue: Queue,
        context: SweepContext,
        callback: TrialCallback,
        *,
        on_record: Callable[[TrialRecord], None],
    ) -> None:
        """Run the queue to its end, one attempt at a time; workers are separate processes."""
        with HostAgent() as agent:
            if queue.placements:  # imports its framework while the tracker opens its database
                trainer = queue.placements[0].trial.trainer
                agent.prepare(trainer_info(trainer), python=context.pythons[trainer])
            while not queue.is_drained:
                attempt = queue.take()
                if attempt is None:  # one rests after a failure
                    time.sleep(_TURN_SECONDS)
                    continue
                callback.started(attempt)
                callback.placed(attempt)
                record = queue.with_cause(
                    self._build_record(
                        attempt,
                        context,
                        agent=agent,
                        is_leaving=lambda: bool(queue.leaving()) or is_preempted(),
                        on_progress=partial(queue.add_progress, attempt),
                    )
                )
                on_record(record)
                queue.end(record)
                callback.ended(record)

    def _build_record(
        self,
        attempt: Attempt,
        context: SweepContext,
        *,
        agent: HostAgent,
        is_leaving: Callable[[], bool],
        on_progress: OnProgress,
    ) -> TrialRecord:
        placement = attempt.placement
        if fits(placement, self._node, pool=None):
            device_ids = self._find_device_ids(placement)
            here = LocalHost(
                attempt,
                context,
                fork_server_of=agent.fork_server,
                device_ids=device_ids,
                is_leaving=is_leaving,
            )
            return build_record(
                attempt, context, hosts=[here], on_progress=on_progress, device_ids=device_ids
            )
        request = " and ".join(
            f"{part.cpus} cores and {part.devices} x {part.device}" for part in placement.parts
        )
        there = f"{self._node.cpus} cores and {self._node.holdings}"
        failure = Failure(kind="infeasible", message=f"asks for {request}; {self._node.name} has {there}")
        return classify_outcome(attempt, context, started_at=time.time(), ended_with=failure, versions={})

    def _find_device_ids(self, placement: Placement) -> tuple[str, ...]:
        """The first ones of each device: nothing else runs."""
        left = {name: list(held.ids) for name, held in self._node.devices.items()}
        return tuple(
            left[part.device].pop(0)
            for part in placement.parts
            for _ in range(part.devices if part.device in left else 0)
        )
