"""Records -> what trials cost and what for: billed node-seconds times their price. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from orchestrator.analysis.metrics.metric import Metric
from orchestrator.core.price import Price, find_marks, priced_as
from orchestrator.core.result import TrainResult, TrialRecord, latest
from orchestrator.core.trial_progress import Evaluation

_MILLION = 1e6
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Node-seconds of one attempt or of several, each second in exactly one part, and their price.

    Attributes:
        launch_seconds: time from the start of the attempt until all workers are set up.
        training_seconds: all of the training after first step and warm-up, loss readings included.
        other_seconds: the rest: starting the trainer's fork server if it was not running, checkpoints,
            reports, the end of the workers, and rounding up to what is billed.
        failed_seconds: whole attempts without a result.
        usd: their cost.
    """

    launch_seconds: float = 0.0
    first_step_seconds: float = 0.0
    warmup_seconds: float = 0.0
    training_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    other_seconds: float = 0.0
    failed_seconds: float = 0.0
    usd: float = 0.0

    @property
    def billed_node_seconds(self) -> float:
        """All parts together."""
        parts: Iterable[float] = (
            getattr(self, field_.name) for field_ in fields(self) if field_.name != "usd"
        )
        return sum(parts)

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(
            **{
                field_.name: getattr(self, field_.name) + getattr(other, field_.name)
                for field_ in fields(self)
            }
        )


def compute_bill(record: TrialRecord) -> Bill | None:
    """Return the bill of one attempt: zero if it got no hardware, None without a price."""
    price = record.price
    if not isinstance(price, Price):
        return None
    if record.failure and record.failure.kind == "infeasible":
        return Bill()
    parts = find_parts(record.result) if record.result else {}
    billed = price.billed_seconds(record.seconds)
    rest = "other_seconds" if record.result else "failed_seconds"
    parts[rest] = max(0.0, billed - sum(parts.values()))
    usd = billed * price.usd_per_hour / _SECONDS_PER_HOUR
    return Bill(**{name: price.num_nodes * value for name, value in parts.items()}, usd=usd)


def find_attempts(records: Iterable[TrialRecord]) -> dict[str, tuple[TrialRecord, ...]]:
    """trial_id -> the measured attempts billed for it: the one that stands, and every one that failed."""
    records = tuple(records)
    standing = latest(record for record in records if record.provenance == "measured")
    found: dict[str, dict[tuple[int, float], TrialRecord]] = {}
    for record in records:
        if record.provenance == "measured" and (record.failure or record is standing[record.trial_id]):
            found.setdefault(record.trial_id, {})[record.attempt, record.started_at] = record
    return {trial: tuple(attempts.values()) for trial, attempts in found.items()}


def bill_of_all(attempts: Iterable[TrialRecord]) -> Bill | None:
    """Return the joint bill of these attempts; None if one bill is unknown."""
    total = Bill()
    for bill in map(compute_bill, attempts):
        if bill is None:
            return None
        total += bill
    return total


def compute_costs(record: TrialRecord, *, samples_per_second: float | None = None) -> dict[str, float]:
    """Return named costs of an attempt that has a price, failed or not; none without a price."""
    if not isinstance(record.price, Price):
        return {}
    values = {key: cost.of(record, record.price, samples_per_second) for key, cost in COSTS.items()}
    return {key: value for key, value in values.items() if value is not None}


def price_label(record: TrialRecord) -> str:
    """Return the price of a measurement in one line; empty without a price."""
    return priced_as(record.price) if isinstance(record.price, Price) else ""


def marks_in(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Marks of the prices of these records, with `partly` where one is not that of every price."""
    marks = [find_marks(record.price) for record in records if isinstance(record.price, Price)]
    distinct = dict.fromkeys(mark for marks_of_one in marks for mark in marks_of_one)
    return tuple(
        mark if all(mark in marks_of_one for marks_of_one in marks) else f"partly {mark}" for mark in distinct
    )


def find_parts(result: TrainResult) -> dict[str, float]:
    """Seconds of each part of an attempt that was measured by itself; names as in `Bill`."""
    first_step, warmup = result.first_step_seconds, result.warmup_seconds
    return {
        "launch_seconds": result.launch_seconds,
        "first_step_seconds": first_step,
        "warmup_seconds": warmup,
        "training_seconds": max(0.0, result.training_seconds - first_step - warmup),
        "evaluation_seconds": result.evaluation_seconds + _on_the_way_seconds(result),
    }


def find_reached(result: TrainResult) -> Evaluation | None:
    """Return the evaluation that first found the target reached."""
    return result.pursuit.reached if result.pursuit else None


def _on_the_way_seconds(result: TrainResult) -> float:
    """Return the seconds of all evaluations before the target was reached, including the one that reached
    it.
    """
    return result.pursuit.evaluation_seconds if result.pursuit else 0.0


def _usd_to_target(record: TrialRecord, price: Price, _samples_per_second: float | None) -> float | None:
    result = record.result
    reached = find_reached(result) if result else None
    if result is None or reached is None or result.resumed_from_step:
        return None
    seconds = result.launch_seconds + reached.training_seconds + _on_the_way_seconds(result)
    return seconds * price.usd_per_hour / _SECONDS_PER_HOUR


def _usd_per_million_samples(
    _record: TrialRecord, price: Price, samples_per_second: float | None
) -> float | None:
    if samples_per_second is None:
        return None
    return price.usd_per_hour / _SECONDS_PER_HOUR / samples_per_second * _MILLION


def _usd_per_million_tokens(
    record: TrialRecord, price: Price, samples_per_second: float | None
) -> float | None:
    usd = _usd_per_million_samples(record, price, samples_per_second)
    tokens = record.result.tokens_per_sample if record.result else None
    return usd / tokens if usd is not None and tokens else None


_COSTS: tuple[Metric[[TrialRecord, Price, float | None]], ...] = (
    Metric(
        key="usd_per_million_samples",
        unit="USD",
        meaning="price of all nodes for the time in which a million samples are trained at "
        "`steady_samples_per_second`; without set-up, compilation and evaluation",
        of=_usd_per_million_samples,
        header="$/M samples",
    ),
    Metric(
        key="usd_per_million_tokens",
        unit="USD",
        meaning="the same of a million tokens of text, padding left out; absent where the workload does not "
        "say the tokens of a sample",
        of=_usd_per_million_tokens,
    ),
    Metric(
        key="usd_to_target",
        unit="USD",
        meaning="price of all nodes from the start of the attempt until its target was found reached: "
        "`launch_seconds`, `seconds_to_target` and the evaluations on the way; absent without a target, and "
        "where the timing is resumed",
        of=_usd_to_target,
    ),
    Metric(
        key="billed_node_seconds",
        unit="s",
        meaning="of one attempt: nodes x seconds from its start to its end, rounded up to "
        "`prices.billing_seconds`; wall clock of the driver's host",
        of=lambda record, *_: bill.billed_node_seconds if (bill := compute_bill(record)) else None,
        header="billed node s",
    ),
    Metric(
        key="attempt_usd",
        unit="USD",
        meaning="`billed_node_seconds` x price of a node, accelerators and host together",
        of=lambda record, *_: bill.usd if (bill := compute_bill(record)) else None,
        header="$",
    ),
)

COSTS: Mapping[str, Metric[[TrialRecord, Price, float | None]]] = MappingProxyType(
    {metric.key: metric for metric in _COSTS}
)
