"""What is to run of a plan, and what failed before: seeds and repeats of one setting in one row. Pure."""

from collections import Counter
from collections.abc import Iterable

from orchestrator.analysis.formatting import count
from orchestrator.analysis.measurements.short_names import ShortNames, short_names
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.analysis.tables.plan import where_or_why_not
from orchestrator.core.placement import Failed, Placement, Plan, Skipped

_STATES = {"measured": "measure", "rehearsed": "rehearse"}


def plan_groups_table(plan: Plan) -> Table:
    """Make a row per setting and place of what is to run, and per setting and cause of what failed."""
    trials: tuple[Placement | Failed, ...] = (*plan.placements, *plan.failed)
    names = short_names(trial.trial for trial in trials)
    groups = Counter(_build_row(trial, plan, names) for trial in trials)
    shared = f"All of them: {names.shared}. " if names.shared else ""
    return Table(
        title=f"Plan of {plan.sweep}",
        note=f"{shared}Seeds and repeats of a setting are one row; --all lists every trial with its id.",
        columns=(
            Column(header="", rank=Rank.SETTING),
            Column(header="setting", rank=Rank.SETTING),
            Column(header="trials", is_number=True, rank=Rank.REPEATS),
            Column(header="where, or why not", rank=Rank.OTHER),
        ),
        rows=tuple((state, name, count(number), note) for (state, name, note), number in groups.items()),
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


def _build_row(trial: Placement | Failed, plan: Plan, names: ShortNames) -> tuple[str, str, str]:
    """Return state, setting and note of a trial."""
    state = "failed" if isinstance(trial, Failed) else _STATES[trial.provenance]
    return state, names.setting(trial.trial), where_or_why_not(trial, plan.memory)
