"""Timeline: nodes and hours of every attempt, and the phases of its time. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis.figures.palette import LINE, NEUTRAL
from orchestrator.analysis.figures.phases import COLOURS, PHASES, split_phases
from orchestrator.analysis.figures.vega_lite import Figure, Spec, left_out, mark_label, single
from orchestrator.analysis.formatting import counted, day_and_time, number
from orchestrator.analysis.measurements.setting import Namer
from orchestrator.core.result import TrialRecord

_PAUSE_SECONDS = 300.0
"""Longer than this without any attempt is cut out of the axis: a sweep that went on the next day."""

IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of an attempt, or time in which a node had none.

    Attributes:
        row: row of the figure: one per node, more where attempts ran beside each other.
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
        stretches: stretches in the order of the attempts; idle ones last.
        pauses: (start, seconds) of each that is left out.
    """

    rows: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    pauses: tuple[tuple[float, float], ...]


def build_timeline(ran: Sequence[TrialRecord], build_name: Namer) -> Timeline:
    """Lay the attempts, sorted by their start, on the rows of their nodes: one on several is on each."""
    pauses = tuple(_pauses_in(ran))
    parts = [
        (record, node) for record in ran for node in (record.placement.node, *record.placement.other_nodes)
    ]
    spans = [_find_span(attempt, ran[0].started_at, pauses) for attempt, _ in parts]
    rows, places = _build_rows([node for _, node in parts], spans)
    stretches = [
        stretch
        for (record, _), row, span in zip(parts, places, spans, strict=True)
        for stretch in _list_stretches(record, span, row=row, label=build_name(record.spec))
    ]
    return Timeline(
        rows=tuple(rows), stretches=(*stretches, *_idle(rows, places, spans=spans)), pauses=_placed(pauses)
    )


def _pauses_in(ran: Sequence[TrialRecord]) -> Iterator[tuple[float, float]]:
    """(seconds since the first start, length) of every pause that is too long to be drawn."""
    first = latest = ran[0].started_at
    for record in ran:
        if record.started_at - latest > _PAUSE_SECONDS:
            yield latest - first, record.started_at - latest
        latest = max(latest, record.ended_at)


def _placed(pauses: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The pauses where they lie when those before them are left out."""
    return tuple(
        (start - sum(seconds for _, seconds in pauses[:index]), seconds)
        for index, (start, seconds) in enumerate(pauses)
    )


def _find_span(
    record: TrialRecord, first: float, pauses: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Start and end of an attempt, pauses before it left out."""
    start = record.started_at - first
    start -= sum(seconds for pause, seconds in pauses if pause < start)
    return start, start + max(0.0, record.ended_at - record.started_at)


def _build_rows(nodes: Sequence[str], spans: Sequence[tuple[float, float]]) -> tuple[list[str], list[int]]:
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


def _list_stretches(
    record: TrialRecord, span: tuple[float, float], *, row: int, label: str
) -> Iterator[Stretch]:
    """The phases of a measurement end to end, as far as its time goes; anything else is one stretch."""
    now, end = span
    for phase, seconds in split_phases(record).items():
        part = min(seconds, end - now)
        if part > 0:
            attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
            failure = f", {record.failure.kind}" if record.failure else ""
            yield Stretch(row=row, phase=phase, start=now, seconds=part, label=f"{label}{attempt}{failure}")
        now += part


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


_MOST_ATTEMPTS = 100
_ROW_PIXELS = 34
_LOOKS = {**{phase: colour.css for phase, colour in COLOURS.items()}, IDLE: LINE.css}
_UNITS = ((7200.0, 3600.0, "hours"), (600.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def timeline_figures(records: Iterable[TrialRecord], build_name: Namer) -> tuple[Figure, ...]:
    """Draw one figure of all attempts that had hardware; none of a sweep in which nothing was measured."""
    ran_somewhere = [
        record for record in records if record.failure is None or record.failure.kind != "infeasible"
    ]
    here = [record for record in ran_somewhere if record.reused_from is None]
    if not any(record.provenance == "measured" for record in here):
        return ()
    ran = sorted(here, key=lambda attempt: (attempt.started_at, attempt.trial_id))[-_MOST_ATTEMPTS:]
    timeline = build_timeline(ran, build_name)
    if not timeline.stretches:  # the clock went back
        return ()
    return (
        Figure(
            title="Timeline of the sweep",
            caption=_format_caption(timeline, since=ran[0].started_at)
            + left_out(len(here), _MOST_ATTEMPTS, "attempts, the last")
            + _elsewhere(len(ran_somewhere) - len(here)),
            alternative=_format_alternative(timeline, num_attempts=len(ran)),
            build_spec=lambda width: single(_build_spec(timeline), width=width, height={"step": _ROW_PIXELS}),
            is_detail=True,
        ),
    )


def _elsewhere(count: int) -> str:
    return f" {counted(count, 'attempt')} of other sweeps whose results are used: not shown." if count else ""


def _format_caption(timeline: Timeline, *, since: float) -> str:
    hours = sum(seconds for _, seconds in timeline.pauses) / 3600
    pauses = f"Left out at the dotted lines: {counted(len(timeline.pauses), 'pause')} without any attempt, "
    return " ".join(
        (
            f"From {day_and_time(since)} on. {PHASES} Start and end of an attempt are of the driver's "
            "clock. Workers measured how long the phases between took, not when they began. Evaluations on "
            "the way to a target are drawn with the last one. Rehearsals and failed attempts have no phases, "
            "and their length is no measurement. Idle: none of these attempts ran on the node.",
            *([f"{pauses}{number(hours)} h together."] if hours else []),
        )
    )


def _find_totals(timeline: Timeline) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for stretch in timeline.stretches:
        totals[stretch.phase] += stretch.seconds
    return {phase: totals[phase] for phase in _LOOKS if totals[phase] > 0}


def _format_alternative(timeline: Timeline, *, num_attempts: int) -> str:
    totals = _find_totals(timeline)
    parts = ", ".join(f"{phase} {number(seconds)} s" for phase, seconds in totals.items())
    nodes = counted(len(set(timeline.rows)), "node")
    return f"Timeline of {counted(num_attempts, 'attempt')} on {nodes}. Their time: {parts}."


def _build_spec(timeline: Timeline) -> Spec:
    end = max(stretch.start + stretch.seconds for stretch in timeline.stretches)
    _, scale, unit = next(unit for unit in _UNITS if end >= unit[0])
    rows = [f"{row + 1} {node}" for row, node in enumerate(timeline.rows)]
    values = [
        {
            "row": rows[stretch.row],
            "phase": stretch.phase,
            "start": stretch.start / scale,
            "end": (stretch.start + stretch.seconds) / scale,
            "label": mark_label(f"{stretch.label}: {stretch.phase} {number(stretch.seconds)} s"),
        }
        for stretch in timeline.stretches
    ]
    phases = list(_find_totals(timeline))
    colours = {"domain": phases, "range": [_LOOKS[phase] for phase in phases]}
    bars: Spec = {
        "mark": {"type": "bar", "height": {"band": 0.7}, "aria": True},
        "encoding": {
            "x": {"field": "start", "type": "quantitative", "title": f"{unit} since the first start"},
            "x2": {"field": "end"},
            "y": {"field": "row", "type": "nominal", "sort": rows, "title": None},
            "color": {"field": "phase", "type": "nominal", "title": None, "scale": colours},
            "description": {"field": "label"},
        },
    }
    pauses = [
        {
            "mark": {"type": "rule", "strokeDash": [2, 3], "strokeWidth": 2, "color": NEUTRAL.css},
            "encoding": {"x": {"datum": start / scale}},
        }
        for start, _ in timeline.pauses
    ]
    return {"data": {"values": values}, "layer": [bars, *pauses]}
