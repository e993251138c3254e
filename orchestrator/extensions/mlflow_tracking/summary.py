"""Attempts of a sweep -> the metrics and prices of its parent run. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from orchestrator.core.deciding import find_deciding, repeat_key
from orchestrator.core.interval import compute_spread
from orchestrator.core.placement import task_name
from orchestrator.core.price import Price, priced_as
from orchestrator.core.result import Outcome, TrialRecord, latest
from orchestrator.extensions.mlflow_tracking.keys import keys_of_names
from orchestrator.record.tracking.tracker import NOISY, RATE, LoggedRecord

OUTCOMES: tuple[Outcome, ...] = ("measured", "rehearsed", "failed", "pruned")

_BEST = {
    RATE: ("best/samples_per_second", max),
    "cost/usd_per_million_samples": ("best/usd_per_million_samples", min),
}
"""Metric of an attempt -> its best in the parent run, and the choice of the best."""

_COST = "cost/usd"


def summarise_sweep(logged: Iterable[LoggedRecord], *, planned: Collection[str] | None) -> dict[str, float]:
    """Return the metrics of a sweep so far: numbers of trials, the best measured settings, and the cost.

    A setting is judged as in the report: by the geometric mean of the repeats that decide. Rates of several
    workloads are not compared: each workload has its own best. A cost that is unknown of one attempt is
    unknown of the sweep.

    Args:
        planned: trial_ids of the plan; None: no plan is known, so that no number of missing trials is.
    """
    logged = tuple(logged)
    metrics = {id(record): found for record, found in logged}
    standing = latest(record for record, _ in logged)
    counts = Counter(record.outcome for record in standing.values())
    found: dict[str, float] = {f"trials/{outcome}": counts[outcome] for outcome in OUTCOMES}
    if planned is not None:
        found["trials/missing"] = len(set(planned) - standing.keys())
    return {
        **found,
        **_find_best((record, metrics[id(record)]) for record in standing.values()),
        **_compute_cost(logged),
    }


def prices_in(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Return the prices of these attempts in words, each once."""
    return tuple(
        dict.fromkeys(priced_as(record.price) for record in records if isinstance(record.price, Price))
    )


def _find_best(standing: Iterable[LoggedRecord]) -> dict[str, float]:
    by_task: dict[str, list[LoggedRecord]] = {}
    for record, metrics in standing:
        if record.outcome == "measured" and record.placement.trains and RATE in metrics:
            task = task_name(record.spec.workload, record.spec.workload_options)
            by_task.setdefault(task, []).append((record, metrics))
    keys = keys_of_names(by_task)
    return {
        f"{best}.{keys[task]}" if len(by_task) > 1 else best: choose(values)
        for task, measured in by_task.items()
        for metric, (best, choose) in _BEST.items()
        if (values := _means(_deciding(measured), metric))
    }


def _deciding(measured: Iterable[LoggedRecord]) -> list[list[Mapping[str, float]]]:
    """Return the metrics of the repeats that decide, by setting; of all repeats where no setting has one."""
    settings: dict[Hashable, list[Mapping[str, float]]] = defaultdict(list)
    for record, metrics in measured:
        settings[repeat_key(record)].append(metrics)
    deciding = []
    for repeats in settings.values():
        quiet = [not metrics.get(NOISY) for metrics in repeats]
        decides = find_deciding([metrics[RATE] for metrics in repeats], quiet)
        deciding.append([metrics for metrics, counts in zip(repeats, decides, strict=True) if counts])
    return [repeats for repeats in deciding if repeats] or list(settings.values())


def _means(settings: Iterable[Sequence[Mapping[str, float]]], metric: str) -> list[float]:
    known = ([metrics[metric] for metrics in repeats if metric in metrics] for repeats in settings)
    return [compute_spread(values).median for values in known if values]


def _compute_cost(logged: Iterable[LoggedRecord]) -> dict[str, float]:
    """Sum the cost of all attempts of this sweep; another sweep paid for a reused record."""
    costs = [
        metrics.get(_COST)
        for record, metrics in logged
        if record.provenance == "measured" and record.reused_from is None
    ]
    known = [cost for cost in costs if cost is not None]
    return {_COST: sum(known)} if known and len(known) == len(costs) else {}
