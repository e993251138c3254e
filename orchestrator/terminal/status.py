"""Progress of a sweep that another process may be running."""

import time
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console

from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.table import Column, Table
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_state import UNDER_WAY, TrialEvent, latest_steps
from orchestrator.terminal.printing import print_line, print_table, totals_of
from orchestrator.terminal.progress import describe_remaining


def print_status(
    console: Console,
    plan: Plan,
    records: Sequence[TrialRecord],
    steps: Iterable[TrialEvent],
    *,
    holder: str | None,
) -> None:
    """Print the driver, the running trials and the remaining ones.

    Args:
        plan: plan made from the current records.
        records: records of the sweep.
        steps: journal of the sweep.
        holder: the process that runs the sweep, or None.
    """
    under_way = list(_under_way(plan, steps))
    if under_way:
        print_table(console, _table(plan, under_way, is_run=holder is not None))
    took = [
        (record.placement, record.ended_at - record.started_at)
        for record in records
        if record.reused_from is None
    ]
    left = describe_remaining(plan.placements, took) if holder else ""
    print_line(console, f"{totals_of(plan)}{left}")
    print_line(console, f"run by {holder}" if holder else "not being run here")


def _under_way(plan: Plan, steps: Iterable[TrialEvent]) -> Iterator[tuple[Placement, TrialEvent]]:
    """The trials without an answer whose latest attempt has begun, and has not ended."""
    at = latest_steps(steps)
    for placement in plan.placements:
        step = at.get(placement.trial_id)
        if step and step.stage in UNDER_WAY:
            yield placement, step


def _table(plan: Plan, under_way: Iterable[tuple[Placement, TrialEvent]], *, is_run: bool) -> Table:
    name_of = names_in(plan)
    rows = sorted(
        (
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(step.at)),
            step.stage,
            name_of(trial_id.trial),
            step.attempt,
        )
        for trial_id, step in under_way
    )
    return Table(
        title=f"Under way of {plan.sweep}" if is_run else f"Under way of {plan.sweep} when its driver ended",
        note="" if is_run else "The same command starts them again, from their checkpoints where they exist.",
        columns=tuple(Column(header=header) for header in ("since", "stage", "trial", "attempt")),
        rows=tuple((since, stage, name, str(attempt)) for since, stage, name, attempt in rows),
    )
