"""Trials of a sweep in a folder of its own, unseen, and untracked unless a benchmark tracks them."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.config.loader import load
from orchestrator.core.placement import Attempt, Placement, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Settings
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.inline import InlineExecutor
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.pipeline.budget import build_budget_tracker
from orchestrator.pipeline.planning import plan_sweep
from orchestrator.pipeline.preflight import PreflightState, find_origins, inspect
from orchestrator.pipeline.run import find_native_specs, run_plan


class Unwatched:
    """Callback that prints nothing: printing would be part of the measurement."""

    def started(self, attempt: Attempt) -> None:
        """Ignore the start."""

    def placed(self, attempt: Attempt) -> None:
        """Ignore the placement."""

    def ended(self, record: TrialRecord) -> None:
        """Ignore the end."""

    def withdrawn(self, attempt: Attempt) -> None:
        """Ignore the withdrawal."""


@contextmanager
def unseen(_plan: Plan, _earlier: Sequence[TrialRecord]) -> Iterator[Unwatched]:
    yield Unwatched()


@contextmanager
def sweep_of(*overrides: str) -> Iterator[tuple[Settings, PreflightState]]:
    """Build a sweep as a command line would ask for it, and collect what is here for it."""
    with tempfile.TemporaryDirectory() as outputs:
        words = ("tracking=none", f"outputs={outputs}", "data.source=synthetic", *overrides)
        settings = load(words, working_directory=Path.cwd())
        yield settings, inspect(settings, download=False)


def load_records(*overrides: str) -> tuple[TrialRecord, ...]:
    """Run such a sweep. Exits where a point of it is skipped or a trial has failed."""
    with sweep_of(*overrides) as (settings, preflight):
        todo = plan_sweep(settings, preflight)
        require_all(todo)
        outcome = run_plan(settings, preflight, todo, open_view=unseen, on_message=_tell, confirm=None)
    return require_results(outcome.records)


def run_in_order(
    placements: Sequence[Placement], settings: Settings, preflight: PreflightState
) -> tuple[TrialRecord, ...]:
    """Run placements of a sweep one after the other, their workers from one fork server per trainer."""
    records: list[TrialRecord] = []
    context = context_of(settings, preflight)
    price_book = preflight.price_book
    queue = Queue(
        placements,
        inventory=preflight.inventory,
        prior_attempts=context.prior_attempts,
        retry_limits=context.retry_limits,
        backoff_seconds=context.backoff_seconds,
        budget_tracker=build_budget_tracker(settings, preflight.ledgers, price_book),
    )
    InlineExecutor(preflight.inventory).run_queue(queue, context, Unwatched(), on_record=records.append)
    return require_results(records)


def context_of(
    settings: Settings, preflight: PreflightState, placements: Sequence[Placement] = ()
) -> SweepContext:
    """Build the context of the sweep's trials; those of native jobs must be named."""
    return SweepContext(
        sweep=settings.sweep.name,
        folder=settings.outputs / settings.sweep.name,
        deadlines=settings.deadlines,
        data_paths={ref.id: str(ref.path) for ref in preflight.data.values()},
        pythons={name: found.python for name, found in preflight.environments.items()},
        devices=settings.sweep.devices,
        retry_limits={},
        prior_attempts={},
        environment={},
        origins=find_origins(settings),
        native_specs=find_native_specs(placements),
    )


def require_results(records: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    """Exit with the failure if a trial has one."""
    for record in records:
        if record.failure:
            sys.exit(f"{record.spec.trainer} failed: {record.failure.kind}: {record.failure.message}")
    return tuple(records)


def require_all(plan: Plan) -> None:
    """Exit with the reason where a point cannot be measured here."""
    for skipped in plan.skipped:
        sys.exit(f"{skipped.point} cannot be measured here: {skipped.reason}")


def steps_per_second(record: TrialRecord) -> float:
    """Return the steady rate of a trial: that of its median block."""
    steady = find_step_seconds(record.result) if record.result else None
    assert steady is not None, "a measured trial has timed blocks"
    return 1 / steady.median


def count(word: str, *, least: int = 1) -> int:
    """Parse a number of things to do, as an argument of a command."""
    if not word.isdigit() or int(word) < least:
        raise argparse.ArgumentTypeError(f"{word!r} must be a whole number of at least {least}")
    return int(word)


def _tell(line: str) -> None:
    """Print a line to standard error, apart from the figures on standard output."""
    print(line, file=sys.stderr)
