"""Cost and price tables for the terminal and the page."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.formatting import UNKNOWN, count, number
from orchestrator.analysis.measurements.setting import Namer
from orchestrator.analysis.metrics.cost import Bill, bill_of_all, price_label
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.analysis.tables.price_age import describe_age_together
from orchestrator.core.price import LISTED, Price, Unpriced, find_marks, find_oldest, find_regions, rented
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TrialSpec, representative, setting_id

MARKS: Mapping[str, str] = {
    "hypothetical": "this host is not known to be the priced instance; prices.this_host names "
    "its instance type",
    "old": "older than prices.max_age_days when it was looked up",
    "re-priced": "not the price stored with the records, but one requested for this report",
    "reserved": "paid anyway, as prices.own states, and counted as 0",
    "marketplace": "asked by a host of its own at a moment, no firm offer",
    "short": "hard to get, as its remark has it",
}
"""Note on a cost that is marked so."""

_NOT_KEPT = "no price was stored; report prices=NAME uses conf/prices/NAME.yaml"
_BILLED = (
    "Billed node-seconds of all seeds and repeats, from the start of an attempt to its end. Each is rounded "
    "up to prices.billing_seconds. Attempts without a result are in failed s. Time between trials is not "
    "included."
)
_WHAT_PRICES = "Prices of all nodes of a trial, without disks and network."
_PARTS = {
    "launch_seconds": "launch s",
    "first_step_seconds": "first step s",
    "warmup_seconds": "warm-up s",
    "training_seconds": "training s",
    "evaluation_seconds": "evaluation s",
    "other_seconds": "rest s",
    "failed_seconds": "failed s",
}
_DETAILS = ("launch_seconds", "warmup_seconds", "evaluation_seconds", "other_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of the trials of one setting: all seeds, repeats and failed attempts together.

    Attributes:
        trial: fields that the trials have in common, as by `representative`.
        num_trials, num_failed: trials that are billed, and attempts at them that failed.
        prices: prices of these attempts.
    """

    trial: TrialSpec
    num_trials: int
    num_failed: int
    bill: Bill
    prices: tuple[str, ...]


def costs_by_setting(attempts: Iterable[Sequence[TrialRecord]]) -> tuple[Cost, ...]:
    """One cost per setting, in order of appearance. A trial with an attempt that has no price is in none.

    Args:
        attempts: billed attempts of each trial.
    """
    settings: dict[str, list[Sequence[TrialRecord]]] = defaultdict(list)
    for of_trial in attempts:
        if bill_of_all(of_trial) is not None:
            settings[setting_id(of_trial[0].spec)].append(of_trial)
    return tuple(_compute_cost(trials) for trials in settings.values())


def _compute_cost(trials: Sequence[Sequence[TrialRecord]]) -> Cost:
    attempts = [record for of_trial in trials for record in of_trial]
    bill = bill_of_all(attempts)
    assert bill is not None
    return Cost(
        trial=representative(attempts[0].spec),
        num_trials=len(trials),
        num_failed=sum(attempt.failure is not None and not attempt.is_pruned for attempt in attempts),
        bill=bill,
        prices=tuple(dict.fromkeys(price_label(attempt) for attempt in attempts)),
    )


def sum_bills(costs: Iterable[Cost]) -> Bill:
    """The bill of all of them."""
    return sum((cost.bill for cost in costs), start=Bill())


def cost_table(costs: Sequence[Cost], build_name: Namer) -> Table:
    """One row per setting, and one for all; every billed second in one column."""
    prices = tuple(dict.fromkeys(price for cost in costs for price in cost.prices))
    rows = [(*_cost_cells(build_name(cost.trial), [cost]), "; ".join(cost.prices)) for cost in costs]
    if len(costs) > 1:
        rows.append((*_cost_cells("all of them", costs), ""))
    kept = slice(None) if len(prices) > 1 else slice(-1)
    columns = (
        Column(header="of", rank=Rank.SETTING),
        Column(header="trials", is_number=True, rank=Rank.REPEATS),
        *(
            Column(header=header, is_number=True, is_detail=name in _DETAILS)
            for name, header in _PARTS.items()
        ),
        Column(header="billed node s", is_number=True),
        Column(header="$", is_number=True, rank=Rank.COST),
        Column(header="priced as", rank=Rank.DETAIL),
    )
    return Table(
        title="Cost",
        note=" ".join((_BILLED, *([f"Priced as {prices[0]}."] if len(prices) == 1 else []))),
        columns=columns[kept],
        rows=tuple(row[kept] for row in rows),
        has_total=len(costs) > 1,
    )


def _cost_cells(name: str, costs: Sequence[Cost]) -> tuple[str, ...]:
    bill = sum_bills(costs)
    return (
        name,
        count(sum(cost.num_trials for cost in costs)),
        *(number(getattr(bill, part)) for part in _PARTS),
        number(bill.billed_node_seconds),
        number(bill.usd),
    )


def prices_table(priced: Iterable[tuple[TrialSpec, Price | Unpriced | None]]) -> Table:
    """One row per device and price, or reason for having none.

    Args:
        priced: each trial with its price.
    """
    of_prices = Counter((_list_devices(trial), price) for trial, price in priced)
    counts: Counter[tuple[str, ...]] = Counter()
    for (devices, price), trials in of_prices.items():
        counts[devices, *_price_cells(price)] += trials
        for other in price.elsewhere if isinstance(price, Price) else ():
            counts[devices, *_price_cells(other)] += 0
    marks = [find_marks(price) for _, price in of_prices if isinstance(price, Price)]
    notes = [
        f"{LISTED.get(mark, mark).capitalize()}: {meaning}."
        for mark, meaning in MARKS.items()
        if any(mark in marks_of_one for marks_of_one in marks)
    ]
    return Table(
        title="Prices",
        note=" ".join(filter(None, [_WHAT_PRICES, *notes, describe_age_together(p for _, p in of_prices)])),
        columns=(
            Column(header="device", rank=Rank.SETTING),
            Column(header="trials", is_number=True),
            Column(header="rented as"),
            Column(header="in", rank=Rank.DETAIL),
            Column(header="$/h", is_number=True, rank=Rank.COST),
            Column(header="as of", rank=Rank.DETAIL),
            Column(header="what to know", rank=Rank.REPEATS),
            Column(header="source", is_detail=True),
        ),
        rows=tuple(
            (devices, count(trials) if trials else UNKNOWN, *cells)
            for (devices, *cells), trials in counts.items()
        ),
    )


def _list_devices(trial: TrialSpec) -> str:
    count = f"{trial.num_workers} x " if trial.num_workers > 1 and not trial.other_devices else ""
    return f"{count}{trial.device_label}"


def _price_cells(price: Price | Unpriced | None) -> tuple[str, ...]:
    if not isinstance(price, Price):
        return (*[UNKNOWN] * 4, price.reason if price else _NOT_KEPT, UNKNOWN)
    remarks = [*(LISTED.get(mark, mark) for mark in find_marks(price)), *([price.note] if price.note else [])]
    return (
        rented(price),
        find_regions(price),
        number(price.usd_per_hour),
        find_oldest(price),
        "; ".join(remarks) or UNKNOWN,
        price.source,
    )
