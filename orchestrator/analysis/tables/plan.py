"""Decision on every point of a plan, or on every setting, as tables; and as a data frame."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.analysis.formatting import count, counted, describe_processes, first_names
from orchestrator.analysis.measurements.setting import names_in, short_names
from orchestrator.analysis.table import Column, Rank, Table, list_columns
from orchestrator.core.estimate import CompiledStep, NotCompiled
from orchestrator.core.memory_fit import NOT_COUNTED, NoFit, Verdict
from orchestrator.core.placement import Cached, Failed, Placement, Plan, Skipped
from orchestrator.core.trial_spec import AXES, TrialSpec, find_axes

if TYPE_CHECKING:
    import pandas as pd

_LEFT_OUT = "cluster.missing_device=skip leaves out devices that are not here; rehearse checks them too"
PLAN_COLUMNS = ("state", "point", *AXES, "note", "trial_id")


def plan_frame(plan: Plan) -> "pd.DataFrame":
    """Build the rows of the table as a data frame, with the fields of every trial; empty for other points."""
    import pandas as pd

    rows = [
        (state, point, *(tuple(find_axes(trial).values()) if trial else (None,) * len(AXES)), note, trial_id)
        for trial, (state, point, note, trial_id) in _list_points(plan)
    ]
    return pd.DataFrame(rows, columns=list(PLAN_COLUMNS)).convert_dtypes()


def _list_points(plan: Plan) -> Iterator[tuple[TrialSpec | None, tuple[str, str, str, str]]]:
    """Yield the trial of every point, and its row of the table."""
    build_name = names_in(plan)
    trials: tuple[Placement | Cached | Failed, ...] = (*plan.placements, *plan.cached, *plan.failed)
    for one in trials:
        state, note = _describe_state(one, plan)
        yield one.trial, (state, build_name(one.trial), note, one.trial_id)
    for skipped in plan.skipped:
        yield skipped.trial, ("skip", skipped.point, skipped.reason, "")


def plan_table(plan: Plan) -> Table:
    """One row per point: what becomes of it, its name, where it runs or why it does not, its trial."""
    return Table(
        title=f"Plan of {plan.sweep}",
        note="",
        columns=(
            *list_columns("", "point", rank=Rank.SETTING),
            Column(header="where, or why not", rank=Rank.DETAIL),
            Column(header="trial", rank=Rank.REPEATS),
        ),
        rows=tuple(row for _, row in _list_points(plan)),
    )


def memory_lines(fits: Iterable[Verdict | NoFit]) -> tuple[str, ...]:
    """Describe for how many steps the memory is unknown, one line for each reason."""
    reasons = Counter(
        _LEFT_OUT if fit == NOT_COUNTED else fit.reason for fit in fits if isinstance(fit, NoFit)
    )
    return tuple(
        f"memory of {counted(number, 'step')} not checked: {reason}" for reason, number in reasons.items()
    )


def time_lines(steps: Iterable[CompiledStep | NotCompiled]) -> tuple[str, ...]:
    """Count the steps without a time from the compiler, one line for each reason."""
    reasons = Counter(step.reason for step in steps if isinstance(step, NotCompiled))
    return tuple(
        f"time of {counted(number, 'step')} not compiled: {reason}" for reason, number in reasons.items()
    )


def outdated_lines(plan: Plan) -> tuple[str, ...]:
    """Describe how many trials of scripts are measured again, one line for each set of changed files."""
    placed = {placement.trial_id for placement in plan.placements}
    reasons = Counter(found.changes for trial_id, found in plan.outdated.items() if trial_id in placed)
    return tuple(
        f"measured again: {counted(number, 'trial')}, because {first_names(changes)}"
        for changes, number in reasons.items()
    )


def file_lines(files: Mapping[str, Sequence[str]], *, list_all: bool) -> tuple[str, ...]:
    """Name the files that count of every command of a script; a change of one makes its results outdated.

    Args:
        files: command -> names.
        list_all: every name, in place of the first ones.
    """
    of_command = {command: f" of {command}" if len(files) > 1 else "" for command in files}
    return tuple(
        f"files that count{of_command[command]}: {', '.join(names) if list_all else first_names(names)}"
        for command, names in files.items()
    )


_STATES = {"measured": "measure", "rehearsed": "rehearse"}


def _describe_state(trial: Placement | Cached | Failed, plan: Plan) -> tuple[str, str]:
    """Name what becomes of a trial; describe where it runs, with what a reader must know, or why not."""
    if isinstance(trial, Failed):
        return "failed", f"{trial.kind}: {trial.message}; --rerun-failed runs it again"
    if isinstance(trial, Cached):
        stale = "" if trial.stale is None else f", stale: {trial.stale}"
        return "cached", f"{trial.provenance} before{stale}"
    nodes = f"{trial.num_hosts} x {trial.node}" if trial.num_hosts > 1 else trial.node
    if trial.unequal and trial.pool:
        nodes = " + ".join(str(part.pool) for part in trial.unequal)
    where = f"{nodes}, {describe_processes(trial)} threads, {trial.start_method}"
    fit = plan.memory.get(trial.trial_id)
    in_memory = [fit.words(trial.trial.device)] if isinstance(fit, Verdict) else []
    return _STATES[trial.provenance], "; ".join([where, *trial.substitutions, *trial.warnings, *in_memory])


def plan_groups_table(plan: Plan) -> Table:
    """Make a row per setting and place of what is to run, and per setting and cause of what failed."""
    trials: tuple[Placement | Failed, ...] = (*plan.placements, *plan.failed)
    names = short_names(trial.trial for trial in trials)
    groups = Counter((names.setting(trial.trial), *_describe_state(trial, plan)) for trial in trials)
    shared = f"All of them: {names.shared}. " if names.shared else ""
    return Table(
        title=f"Plan of {plan.sweep}",
        note=f"{shared}Seeds and repeats of a setting are one row; --all lists every trial with its id.",
        columns=(
            *list_columns("", "setting", rank=Rank.SETTING),
            Column(header="trials", is_number=True, rank=Rank.REPEATS),
            Column(header="where, or why not", rank=Rank.OTHER),
        ),
        rows=tuple((state, name, count(number), note) for (name, state, note), number in groups.items()),
    )


def skipped_groups_table(skipped: Iterable[Skipped]) -> Table:
    """Make a row per reason, the commonest first."""
    reasons = Counter(point.reason for point in skipped)
    return Table(
        title="Skipped",
        note="Points that cannot run here; --all lists them.",
        columns=(
            Column(header="points", is_number=True, rank=Rank.REPEATS),
            Column(header="reason", rank=Rank.SETTING),
        ),
        rows=tuple((count(number), reason) for reason, number in reasons.most_common()),
    )
