"""What is to run of a plan, and what failed before: seeds and repeats of one setting in one row. Pure."""

from collections import Counter
from collections.abc import Iterator

from orchestrator.analysis.formatting import count
from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.analysis.tables.plan import where_or_why_not
from orchestrator.core.placement import Failed, Placement, Plan
from orchestrator.core.trial_spec import representative

_STATES = {"measured": "measure", "rehearsed": "rehearse"}


def plan_groups_table(plan: Plan) -> Table:
    """Make a row per setting and place of what is to run, and per setting and cause of what failed."""
    groups = Counter(_rows_of(plan))
    return Table(
        title=f"Plan of {plan.sweep}",
        note="Seeds and repeats of a setting are one row; --all lists every trial with its id.",
        columns=(
            Column(header="", rank=Rank.SETTING),
            Column(header="setting", rank=Rank.SETTING),
            Column(header="trials", is_number=True, rank=Rank.REPEATS),
            Column(header="where, or why not", rank=Rank.OTHER),
        ),
        rows=tuple((state, name, count(number), note) for (state, name, note), number in groups.items()),
    )


def _rows_of(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield state, setting and note of every trial."""
    name_of = names_in(plan)
    trials: tuple[Placement | Failed, ...] = (*plan.placements, *plan.failed)
    for trial in trials:
        state = "failed" if isinstance(trial, Failed) else _STATES[trial.provenance]
        yield state, name_of(representative(trial.trial)), where_or_why_not(trial, plan.memory)
