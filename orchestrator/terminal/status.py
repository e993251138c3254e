"""Progress of a sweep that another process may be running."""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from orchestrator.analysis.measurements.setting import short_names
from orchestrator.analysis.table import Column, Table
from orchestrator.core.placement import Attempt, Placement, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_progress import UNDER_WAY, TrialEvent, latest_steps
from orchestrator.execute.trial.stages import read_stage
from orchestrator.record.running_plan import RunningPlan
from orchestrator.terminal.eta import list_history
from orchestrator.terminal.printing import print_line, print_table, summarise_totals
from orchestrator.terminal.progress import Progress, clock_words
from orchestrator.terminal.trial_outcome import stage_words


def print_status(
    console: Console,
    plan: Plan,
    records: Sequence[TrialRecord],
    steps: Iterable[TrialEvent],
    *,
    folder: Path,
    holder: str | None,
    running: RunningPlan | None,
    now: float,
) -> None:
    """Print the driver, the running trials and the remaining ones.

    Args:
        plan: plan of the command that runs the sweep, else one made from the current records.
        records: records of the sweep.
        steps: journal of the sweep.
        folder: folder of the sweep.
        holder: the process that runs the sweep, or None.
        running: plan that this process left; None: it left none.
        now: seconds since the epoch.
    """
    own = [step for step in steps if step.at >= running.since] if running else list(steps)
    under_way = list(trials_under_way(plan, own))
    if under_way:
        print_table(console, _table(plan, under_way, folder=folder, is_run=holder is not None))
    if running:
        progress = build_progress(running, records, under_way)
        began = min((step.at for step in own), default=running.since)  # it may have waited for another sweep
        print_line(console, f"{progress.line(now=now)}; {clock_words(now - began)} elapsed")
    else:
        print_line(console, summarise_totals(plan))
    print_line(console, f"run by {holder}" if holder else "not being run here")


def trials_under_way(plan: Plan, steps: Iterable[TrialEvent]) -> Iterator[tuple[Placement, TrialEvent]]:
    """Yield the trials without an answer and with a latest attempt that has begun and not ended."""
    at = latest_steps(steps)
    for placement in plan.placements:
        step = at.get(placement.trial_id)
        if step and step.stage in UNDER_WAY:
            yield placement, step


def build_progress(
    running: RunningPlan, records: Sequence[TrialRecord], under_way: Iterable[tuple[Placement, TrialEvent]]
) -> Progress:
    """Rebuild the progress of the running command from its files."""
    plan = running.plan
    own = [record for record in records if record.started_at >= running.since]
    earlier = list_history(record for record in records if record.started_at < running.since)
    progress = Progress(plan.placements, is_open=plan.search.is_adaptive, history=earlier)
    for record in own:
        attempt = Attempt(placement=record.placement, number=record.attempt)
        progress.start(attempt, now=record.started_at)
        progress.end(record)
    for placement, step in under_way:
        attempt = Attempt(placement=placement, number=step.attempt)
        progress.start(attempt, now=step.at)
        if step.stage == "running":
            progress.place(attempt, now=step.at)
    return progress


def _table(
    plan: Plan, under_way: Iterable[tuple[Placement, TrialEvent]], *, folder: Path, is_run: bool
) -> Table:
    names = short_names(trial.trial for trial in plan.asked)
    rows = sorted(
        (
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(step.at)),
            stage_words(read_stage(folder, step.trial_id))
            if is_run and step.stage == "running"
            else step.stage,
            names.trial(placement.trial),
            step.attempt,
        )
        for placement, step in under_way
    )
    return Table(
        title=f"Running trials of {plan.sweep}{'' if is_run else ' when its driver ended'}",
        note=(f"All of them: {names.shared}." if names.shared else "") if is_run else _LOST,
        columns=tuple(Column(header=header) for header in ("since", "stage", "trial", "attempt")),
        rows=tuple((since, stage, name, str(attempt)) for since, stage, name, attempt in rows),
    )


_LOST = "The same command starts them again, from their checkpoints where they exist."
