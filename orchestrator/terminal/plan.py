"""A plan in a terminal: what runs, what does not and why, and what it costs."""

from collections.abc import Iterable

from rich.console import Console

from orchestrator.analysis.formatting import list_inputs
from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.predictions.forecasts import list_predicted, predicted_table
from orchestrator.analysis.table import cut
from orchestrator.analysis.tables.costs import prices_table
from orchestrator.analysis.tables.outcomes import stale_table
from orchestrator.analysis.tables.plan import plan_groups_table, plan_table, skipped_groups_table
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.terminal.printing import print_line, print_table, summarise_totals

_MOST_ROWS = 100  # of one table, unless --all is given


def print_plan(
    console: Console, plan: Plan, *, prices: Iterable[tuple[TrialSpec, Price | Unpriced]], list_all: bool
) -> None:
    """Print the points that run, the others with the reason, the price of the hardware, and the totals.

    Args:
        prices: prices of the trials that would run.
        list_all: every point in a row of its own, in place of settings and reasons with their counts.
    """
    of_points = (
        [plan_table(plan)]
        if list_all
        else [
            plan_groups_table(plan),
            skipped_groups_table(plan.skipped),
            *([stale_table(plan.cached, names_in(plan))] if any(one.stale for one in plan.cached) else []),
        ]
    )
    for table in (*of_points, prices_table(prices), predicted_table(list_predicted(plan.forecasts))):
        if table.rows:
            shown = cut(table, most_rows=_MOST_ROWS, others="--all lists every one")
            print_table(console, table if list_all else shown)
    for line in list_inputs(plan.inputs.items()):
        print_line(console, line)
    console.print(summarise_totals(plan), highlight=False)
