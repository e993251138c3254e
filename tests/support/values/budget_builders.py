"""Budget trackers for tests that are not about budgets."""

from collections import defaultdict

from plan_builders import device
from price_builders import price_list

from orchestrator.core.budget import Budget
from orchestrator.core.settings import Deadlines
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.plan.pricing import PriceBook
from orchestrator.plan.spending import Quotes


def uncapped() -> BudgetTracker:
    """Build a tracker without caps, prices or records, for trials on any device."""
    price_book = PriceBook(
        devices=defaultdict(device), prices=price_list(region=None, rows={}), today="2026-09-22"
    )
    deadlines = Deadlines(resources_seconds=1.0, start_seconds=1.0, run_seconds=1.0)
    return BudgetTracker(
        Budget(),
        records=(),
        quotes=Quotes((), price_book=price_book, deadlines=deadlines),
        price_book=price_book,
        idle_seconds=0.0,
    )
