"""When each attempt ran on which node, and what its time went into. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.cost import parts_of
from orchestrator.analysis.setting import Namer
from orchestrator.core.result import TrialRecord

_PAUSE_SECONDS = 300.0
"""Longer than this without any attempt is cut out of the axis: a sweep that went on the next day."""

PHASES: Mapping[str, tuple[str, ...]] = {
    "launch": ("launch_seconds",),
    "first step": ("first_step_seconds",),
    "training": ("warmup_seconds", "training_seconds"),
    "evaluation": ("evaluation_seconds",),
}
"""Of a measurement, with the parts of its bill that they are."""

REST, FAILED, REHEARSED, IDLE = "rest", "failed", "rehearsed", "idle"
REHEARSAL_FAILED = "rehearsal failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of an attempt, or time in which a node had none.

    Attributes:
        row: of the figure: one per node, more where attempts ran beside each other.
        start: seconds since the first attempt began, pauses left out.
    """

    row: int
    phase: str
    start: float
    seconds: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Attempts on the nodes that they ran on.

    Attributes:
        rows: node of each row.
        stretches: in the order of the attempts; idle ones last.
        pauses: (start, seconds) of each that is left out.
    """

    rows: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    pauses: tuple[tuple[float, float], ...]


def timeline_of(ran: Sequence[TrialRecord], name_of: Namer) -> Timeline:
    """Lay the attempts, sorted by their start, on the rows of their nodes: one on several is on each."""
    pauses = tuple(_pauses_in(ran))
    parts = [(each, node) for each in ran for node in (each.placement.node, *each.placement.other_nodes)]
    spans = [_span_of(each, ran[0].started_at, pauses) for each, _ in parts]
    rows, places = _rows_of([node for _, node in parts], spans)
    stretches = [
        stretch
        for (record, _), row, span in zip(parts, places, spans, strict=True)
        for stretch in _stretches_of(record, span, row=row, label=name_of(record.spec))
    ]
    return Timeline(
        rows=tuple(rows), stretches=(*stretches, *_idle(rows, places, spans=spans)), pauses=_placed(pauses)
    )


def _pauses_in(ran: Sequence[TrialRecord]) -> Iterator[tuple[float, float]]:
    """(seconds since the first start, length) of every pause that is too long to be drawn."""
    first = latest = ran[0].started_at
    for each in ran:
        if each.started_at - latest > _PAUSE_SECONDS:
            yield latest - first, each.started_at - latest
        latest = max(latest, each.ended_at)


def _placed(pauses: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The pauses where they lie when those before them are left out."""
    return tuple(
        (start - sum(seconds for _, seconds in pauses[:index]), seconds)
        for index, (start, seconds) in enumerate(pauses)
    )


def _span_of(record: TrialRecord, first: float, pauses: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Start and end of an attempt, pauses before it left out."""
    start = record.started_at - first
    start -= sum(seconds for pause, seconds in pauses if pause < start)
    return start, start + max(0.0, record.ended_at - record.started_at)


def _rows_of(nodes: Sequence[str], spans: Sequence[tuple[float, float]]) -> tuple[list[str], list[int]]:
    """The node of each row, and the row of each part of an attempt: the first of its node that is free."""
    rows: list[str] = []
    free_at: list[float] = []
    places: list[int] = []
    for node, (start, end) in zip(nodes, spans, strict=True):
        free = (row for row, name in enumerate(rows) if name == node and free_at[row] <= start)
        row = next(free, len(rows))
        if row == len(rows):
            rows.append(node)
            free_at.append(end)
        free_at[row] = end
        places.append(row)
    return rows, places


def _stretches_of(
    record: TrialRecord, span: tuple[float, float], *, row: int, label: str
) -> Iterator[Stretch]:
    """The phases of a measurement end to end, as far as its time goes; anything else is one stretch."""
    now, end = span
    for phase, seconds in _seconds_of(record, end - now).items():
        part = min(seconds, end - now)
        if part > 0:
            yield Stretch(row=row, phase=phase, start=now, seconds=part, label=_said_of(record, label))
        now += part


def _seconds_of(record: TrialRecord, whole: float) -> dict[str, float]:
    if record.provenance == "rehearsed":
        return {REHEARSAL_FAILED if record.failure else REHEARSED: whole}
    if record.result is None:
        return {FAILED: whole}
    parts = parts_of(record.result)
    return {phase: sum(parts[name] for name in names) for phase, names in PHASES.items()} | {REST: whole}


def _said_of(record: TrialRecord, label: str) -> str:
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    failure = f", {record.failure.kind}" if record.failure else ""
    return f"{label}{attempt}{failure}"


def _idle(
    rows: Sequence[str], places: Sequence[int], *, spans: Sequence[tuple[float, float]]
) -> Iterator[Stretch]:
    """Time between the first start and the last end in which a node had no attempt, on its first row."""
    last = max(end for _, end in spans)
    for node in dict.fromkeys(rows):
        own = [span for place, span in zip(places, spans, strict=True) if rows[place] == node]
        now = 0.0
        for start, end in (*own, (last, last)):
            if start > now:
                yield Stretch(row=rows.index(node), phase=IDLE, start=now, seconds=start - now, label=node)
            now = max(now, end)
