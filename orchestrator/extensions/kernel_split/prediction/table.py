"""Predicted gain of splitting: a plain table, a sentence, and values for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.analysis.formatting import UNKNOWN, Number, counted, ratio, share
from orchestrator.analysis.predictions.forecasts import find_origin
from orchestrator.analysis.table import Column, Table
from orchestrator.core import codec
from orchestrator.core.estimate import Refusal
from orchestrator.extensions.kernel_split.analysis.tables import off_by
from orchestrator.extensions.kernel_split.analysis.wording import bound_words, rate_words
from orchestrator.extensions.kernel_split.prediction.outlook import SplitOutlook, SplitProspect, place_words

_NOTE = (
    "Predicted, not measured, but for one column that says so: by the model of time "
    "(docs/explanation/predictions.md), from own trials of other settings. Speed-ups are over one worker. "
    "Bound: Amdahl's, with free traffic. "
    "Convolutions: their part of the step of one worker. Link: the slowest with which several workers are as "
    "fast as one."
)
_HEADERS = (
    ("where", False),
    ("setting", False),
    ("predicted", True),
    ("bound", True),
    ("measured", True),
    ("off by", True),
    ("worth it, predicted", False),
    ("pays from", False),
    ("convolutions", True),
    ("link", True),
    ("remark, or why not", False),
)


def split_outlook_table(outlooks: Sequence[SplitOutlook]) -> Table:
    """One row a point of several workers."""
    brackets = dict.fromkeys(prospect.brackets for _, prospect in _known(outlooks))
    sources = dict.fromkeys(prospect.source for _, prospect in _known(outlooks))
    bounds = [(prospect.bound, outlook.num_workers) for outlook, prospect in _known(outlooks)]
    return Table(
        title="Splitting convolutions",
        note=" ".join((_NOTE, f"Calibrated by {'; '.join(sources)}.", *brackets, *bound_words(bounds))),
        columns=tuple(Column(header=header, is_number=is_number) for header, is_number in _HEADERS),
        rows=tuple(map(_row, outlooks)),
    )


def split_sentence(outlooks: Sequence[SplitOutlook]) -> str:
    """Summarise in how many points splitting pays, where most, and which change would help."""
    predicted = list(_known(outlooks))
    best, prospect = max(predicted, key=lambda pair: pair[1].speed_up.median)
    at_best = f"{_where(best)}, {best.setting}: {ratio(prospect.speed_up)}"
    for verdict in ("pays", "likely pays"):
        paying = sum(prospect.verdict == verdict for _, prospect in predicted)
        if paying:
            some = f"{paying:,} of {counted(len(predicted), 'setting')}"
            return f"Splitting {verdict} in {some}; most in {at_best}, predicted."
    if prospect.verdict == "unclear":
        return f"Whether splitting pays is unclear; at best in {at_best}, predicted."
    from_there = f" There it pays from {' or '.join(prospect.pays_from)} on." if prospect.pays_from else ""
    return f"Splitting is {prospect.verdict}; at best in {at_best}, predicted.{from_there}"


def convert_to_plain(outlooks: Sequence[SplitOutlook]) -> list[dict[str, Any]]:
    """Return plain values for programs."""
    return [
        {**codec.to_plain(outlook), "provenance": "predicted", "verdict": _verdict(outlook)}
        for outlook in outlooks
    ]


def _known(outlooks: Sequence[SplitOutlook]) -> Iterator[tuple[SplitOutlook, SplitProspect]]:
    return (
        (outlook, outlook.predicted) for outlook in outlooks if isinstance(outlook.predicted, SplitProspect)
    )


def _row(outlook: SplitOutlook) -> tuple[str, ...]:
    predicted = outlook.predicted
    where = _where(outlook)
    measured: str = UNKNOWN
    if outlook.measured:
        measured = Number(f"{ratio(outlook.measured)}{outlook.marks}", outlook.measured.median)
    if isinstance(predicted, Refusal):
        nothing = (UNKNOWN,) * 5
        return where, outlook.setting, UNKNOWN, UNKNOWN, measured, *nothing, find_origin(predicted)
    return (
        where,
        outlook.setting,
        ratio(predicted.speed_up),
        Number(f"{predicted.bound:.2f}x", predicted.bound),
        measured,
        UNKNOWN if outlook.off_by is None else off_by(outlook.off_by),
        predicted.verdict,
        " or ".join(predicted.pays_from) or UNKNOWN,
        share(predicted.convolution_fraction),
        _least_link(predicted.least_bytes_per_second),
        predicted.stretched,
    )


def _where(outlook: SplitOutlook) -> str:
    return f"{outlook.workload} on {place_words(outlook.device, outlook.host)}, {outlook.precision}"


def _least_link(bytes_per_second: float | None) -> str:
    if bytes_per_second is None:
        return "none is enough"
    return Number(rate_words(bytes_per_second), bytes_per_second)


def _verdict(outlook: SplitOutlook) -> str | None:
    return outlook.predicted.verdict if isinstance(outlook.predicted, SplitProspect) else None
