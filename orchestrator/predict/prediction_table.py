"""Predictions with their prices as a plain table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.analysis.formatting import UNKNOWN, Number, count, counted, number, spread
from orchestrator.analysis.predictions.forecasts import origin_of
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.interval import Spread
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.price_label import marks_of
from orchestrator.core.sweep import Point
from orchestrator.predict.jobs import describe_job
from orchestrator.predict.step_time.roofline import Roofline

if TYPE_CHECKING:  # its models are scikit-learn's
    from orchestrator.predict.profile_transfer.transfer import Transfer

_MS = 1e3
_SAMPLES = 1e6
_ROOFLINE = "roofline ms (compute, memory, exchange)"
_HEADERS = (
    ("workload", False),
    ("device", False),
    ("precision", False),
    ("batch", True),
    ("workers", True),
    (_ROOFLINE, True),
    ("predicted ms [90%]", True),
    ("$/M samples [90%]", True),
    ("from, or why not", False),
)
_RANKS = {
    _ROOFLINE: Rank.DETAIL,
    "predicted ms [90%]": Rank.RATE,
    "$/M samples [90%]": Rank.COST,
    "from, or why not": Rank.OTHER,
}
_NOTE = (
    "Predicted or compiled, not measured. Compiled: the device's own compiler estimated the step "
    "(docs/compiled.md). Roofline: the longest of compute, memory and exchange at the devices' peaks, by "
    "analytic counts: a bound for direct algorithms without fusion. Brackets: what is to hold 90 of 100 "
    "measurements, of networks that were not measured before or, where own records of the very step are "
    "there, of its repeats. Dollars: of the steady state, without set-up."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Prediction for one point.

    Attributes:
        roofline: None: its workload takes no input of that size.
        step: seconds of one optimizer step, all replicas together.
        price: price of its devices.
    """

    point: Point
    roofline: Roofline | None
    step: Estimate | Refusal
    price: Price | Unpriced


def prediction_table(predictions: Iterable[Prediction]) -> Table:
    """One row a point."""
    return Table(
        title="Predicted",
        note=_NOTE,
        columns=tuple(
            Column(header=header, is_number=is_number, rank=_RANKS.get(header, Rank.SETTING))
            for header, is_number in _HEADERS
        ),
        rows=tuple(map(_row, predictions)),
    )


def _row(prediction: Prediction) -> tuple[str, ...]:
    point, step, price = prediction.point, prediction.step, prediction.price
    return (
        describe_job(point),
        point.device.name,
        point.precision,
        count(point.global_batch_size),
        Number(f"{point.num_workers} on {counted(point.num_hosts, 'host')}", point.num_workers)
        if point.num_hosts
        else count(point.num_workers),
        _roofline(prediction.roofline),
        _spread(step, factor=_MS) if isinstance(step, Estimate) else UNKNOWN,
        _usd(step, price, batch=point.global_batch_size) if isinstance(step, Estimate) else UNKNOWN,
        origin_of(step),
    )


def transfers_table(transfers: "Iterable[Transfer]") -> Table:
    """One row a workload and target."""
    headers = ("workload", "anchor", "measured ms", "target", "predicted ms [90%]", "from, or why not")
    numbers = ("measured ms", "predicted ms [90%]")
    return Table(
        title="Predicted from profiles",
        note="Predicted, not measured, but on the anchor. Brackets are to hold 90 of 100 measurements of "
        "models that were not measured before.",
        columns=tuple(Column(header=header, is_number=header in numbers) for header in headers),
        rows=tuple(
            (
                transfer.workload,
                transfer.anchor,
                _milliseconds(transfer.measured_seconds),
                transfer.target,
                _spread(transfer.step, factor=_MS) if isinstance(transfer.step, Estimate) else UNKNOWN,
                origin_of(transfer.step),
            )
            for transfer in transfers
        ),
    )


def _roofline(roofline: Roofline | None) -> str:
    """`60.47 (60.47, 13.44, 0)`."""
    if roofline is None:
        return UNKNOWN
    parts = (roofline.compute_seconds, roofline.memory_seconds, roofline.exchange_seconds)
    return f"{_milliseconds(roofline.bound_seconds)} ({', '.join(map(_milliseconds, parts))})"


def _milliseconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else number(_MS * seconds)


def _usd(step: Estimate, price: Price | Unpriced, *, batch: int) -> str:
    """Return the dollars of a million samples."""
    if isinstance(price, Unpriced):
        return UNKNOWN
    usd = _spread(step, factor=price.usd_per_hour / 3600 * _SAMPLES / batch)
    return Number(f"{usd} {', '.join(marks_of(price))}".rstrip(), usd.value)


def _spread(step: Estimate, *, factor: float) -> Number:
    return spread(Spread(median=step.likely, low=step.low, high=step.high), factor=factor)
