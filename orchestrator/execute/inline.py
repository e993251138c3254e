"""Runs a sweep's trials one after the other on this host, without Ray."""

from collections.abc import Callable, Sequence

from orchestrator.core.device import Node
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord
from orchestrator.execute.agent import Agent
from orchestrator.execute.base import Mission, Watcher
from orchestrator.execute.queue import Queue
from orchestrator.execute.supervisor import record_of


class InlineExecutor:
    """For a debugger, for a machine without Ray, and the zero line of what Ray costs."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def run(
        self,
        placements: Sequence[Placement],
        mission: Mission,
        *,
        keep: Callable[[TrialRecord], None],
        watcher: Watcher,
    ) -> None:
        """Run every placement in this process's own time; workers are processes all the same."""
        queue = Queue(
            placements,
            node=self._node,
            prior_attempts=mission.prior_attempts,
            retry_limits=mission.retry_limits,
        )
        with Agent() as agent:
            while (attempt := queue.take()) is not None:
                watcher.started(attempt)
                device_ids = [str(index) for index in range(attempt.placement.devices)]
                record = record_of(attempt, mission, nursery_of=agent.nursery, device_ids=device_ids)
                keep(record)
                queue.end(record)
                watcher.ended(record)
