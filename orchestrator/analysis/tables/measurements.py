"""Measurements as a table; units stand in its headers only."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from orchestrator.analysis.formatting import UNKNOWN, Number, counted, data_name, marks, number, spread
from orchestrator.analysis.measurements.measured import RESUMED, WHERE_KNOWN, Measurement, marks_of_repeats
from orchestrator.analysis.measurements.noise import NOISY, OUTLIER
from orchestrator.analysis.measurements.setting import DETAILS, IMPLIED, Setting, varying
from orchestrator.analysis.metrics.cost import COSTS
from orchestrator.analysis.metrics.definitions import METRICS
from orchestrator.analysis.metrics.quality import quality_words
from orchestrator.analysis.table import Column, Rank, Table

_CELLS: Mapping[str, Callable[[Measurement], str]] = {
    "steady_samples_per_second": lambda one: spread(one.samples_per_second),
    "step_seconds_median": lambda one: spread(one.step_seconds, factor=1000),
    "first_step_seconds": lambda one: number(one.first_step_seconds.median),
    "setup_seconds": lambda one: number(one.setup_seconds.median),
    "final_loss": lambda one: spread(one.final_loss),
}

SHOWN = tuple(_CELLS)
"""Metrics that have a column in the table of measurements."""

MEASURED = "Measured"
"""Title of that table."""

_DETAILS = SHOWN[2:]
_RANKS = {"steady_samples_per_second": Rank.RATE}
_ALWAYS = {"device": "device", "trainer": "trainer", "precision": "precision"}
_IF_VARYING = {"workload": "workload", **DETAILS}


def measured_table(measured: Sequence[Measurement]) -> Table:
    """One row per setting; what is the same in all of them is shown once, in the note."""
    settings = [measurement.setting for measurement in measured]
    others = varying(settings, _IF_VARYING)
    columns: list[tuple[Column, Callable[[Measurement], str]]] = []
    for name, header in {**_ALWAYS, **{name: _IF_VARYING[name] for name in others}}.items():
        column = Column(header=header, is_number=_is_count(settings, name), rank=Rank.SETTING)
        columns.append((column, partial(_show_field, name=name)))
    for key, show in _CELLS.items():
        rank = _RANKS.get(key, Rank.OTHER)
        column = Column(header=METRICS[key].header, is_number=True, is_detail=key in _DETAILS, rank=rank)
        columns.append((column, show))
    for key in WHERE_KNOWN:
        if any(key in measurement.where_known for measurement in measured):
            column = Column(header=METRICS[key].header, is_number=True, is_detail=True)
            columns.append((column, partial(_show_where_known, key=key)))
    prices = dict.fromkeys(measurement.price for measurement in measured if measurement.price)
    if prices:
        column = Column(header=COSTS["usd_per_million_samples"].header, is_number=True, rank=Rank.COST)
        columns.append((column, lambda one: spread(one.usd_per_million_samples)))
    if len(prices) > 1:  # one price is shown once, in the note
        columns.append((Column(header="priced as", rank=Rank.DETAIL), lambda one: one.price or UNKNOWN))
    headers = [column.header for column, _ in columns]
    metrics = tuple(dict.fromkeys(name for measurement in measured for name in measurement.quality))
    for name in metrics:
        header, is_detail = _apart(name, headers), name != metrics[0]
        column = Column(header=header, is_number=True, is_detail=is_detail, rank=Rank.QUALITY)
        columns.append((column, partial(_show_quality, metric=name)))
    columns.append((Column(header="over", rank=Rank.REPEATS), _describe_basis))
    return Table(
        title=MEASURED,
        note=" ".join(_measured_notes(measured, same=_same_in_all(settings, apart_from=others))),
        columns=tuple(column for column, _ in columns),
        rows=tuple(tuple(show(measurement) for _, show in columns) for measurement in measured),
    )


def _show_field(measurement: Measurement, *, name: str) -> str:
    return _format_field(measurement.setting, name)


def _show_where_known(measurement: Measurement, *, key: str) -> str:
    known = measurement.where_known.get(key)
    return number(known.median) if known else UNKNOWN


def _show_quality(measurement: Measurement, *, metric: str) -> str:
    quality = measurement.quality.get(metric)
    return quality_words(quality) if quality else UNKNOWN


def _is_count(settings: Sequence[Setting], name: str) -> bool:
    return all(isinstance(getattr(setting, name), int) for setting in settings)


def _apart(metric: str, headers: Sequence[str]) -> str:
    """A workload may call its quality `precision`, as others call the arithmetic."""
    return f"{metric} (quality)" if metric in headers else metric


def _measured_notes(measured: Sequence[Measurement], *, same: str) -> Iterator[str]:
    yield (
        "One trial: median of its timed blocks, with their interval in brackets. Several repeats: geometric "
        "mean and range. Losses: median and range."
    )
    if any(math.isfinite(one.high) for measurement in measured for one in measurement.quality.values()):
        yield (
            "Quality: mean over seeds with its 95% interval. Of an accuracy it is over held-out samples too."
        )
    if any(measurement.num_noisy for measurement in measured):
        yield f"Noisy: {NOISY}. Numbers are of the others where there are any."
    if any(measurement.num_outliers for measurement in measured):
        yield f"Outlier: {OUTLIER}."
    if any(measurement.num_resumed for measurement in measured):
        yield f"Resumed: {RESUMED}."
    prices = dict.fromkeys(measurement.price for measurement in measured if measurement.price)
    if len(prices) == 1:
        yield f"Priced as {next(iter(prices))}."
    idle = dict.fromkeys(measurement.setting.trainer for measurement in measured if not measurement.trains)
    if idle:
        yield f"Not compared, because it trains nothing: {', '.join(idle)}."
    yield same


def _describe_basis(measurement: Measurement) -> str:
    """Describe the basis of the numbers: `6 repeats of 3 seeds, 1 noisy` beside them, `15 blocks`."""
    if measurement.num_repeats == 1:
        marked = marks(is_noisy=bool(measurement.num_noisy), is_resumed=bool(measurement.num_resumed))
        return counted(measurement.num_blocks, "block") + marked
    seeds = f" of {counted(len(measurement.seeds), 'seed')}" if len(measurement.seeds) > 1 else ""
    return counted(measurement.num_deciding, "repeat") + seeds + marks_of_repeats(measurement)


def _same_in_all(settings: Sequence[Setting], *, apart_from: Iterable[str]) -> str:
    if not settings:
        return ""
    first = settings[0]
    hidden = (*apart_from, *IMPLIED)
    names = [name for name in _IF_VARYING if name not in hidden and getattr(first, name) != ""]
    same = ", ".join(f"{_IF_VARYING[name]} {_format_field(first, name)}" for name in names)
    return f"Equal in all rows: {same}."


def _format_field(setting: Setting, name: str) -> str:
    value = getattr(setting, name)
    if isinstance(value, int):
        return Number(str(value), value)
    return data_name(value) if name == "data" else str(value)
