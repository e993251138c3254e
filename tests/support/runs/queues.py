"""Queues for tests that run an executor."""

from collections.abc import Sequence
from typing import Any

from budget_builders import uncapped

from orchestrator.core.inventory import Inventory
from orchestrator.core.placement import Placement
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.scheduling.queue import Queue


def queue_for(
    placements: Sequence[Placement], context: SweepContext, inventory: Inventory, **changes: Any
) -> Queue:
    """Build the queue of a sweep as `run_plan` does, without caps and without stop requests."""
    defaults = {
        "inventory": inventory,
        "prior_attempts": context.prior_attempts,
        "retry_limits": context.retry_limits,
        "backoff_seconds": context.backoff_seconds,
        "budget_tracker": uncapped(),
    }
    return Queue(placements, **{**defaults, **changes})
