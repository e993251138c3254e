"""The timeline of a sweep as a figure: nodes over time, and what that went into."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analysis.plots import COLOURS, NEUTRAL, Figure, left_out, shortened, shown
from orchestrator.analysis.setting import Namer
from orchestrator.analysis.timeline import (
    FAILED,
    IDLE,
    PHASES,
    REHEARSAL_FAILED,
    REHEARSED,
    REST,
    Timeline,
    timeline_of,
)
from orchestrator.analysis.wording import counted, day_and_time, number
from orchestrator.core.result import TrialRecord

_MOST_ATTEMPTS = 300
_PALE = "rgba(128,128,128,0.25)"
_PATTERN = {"fillmode": "overlay", "size": 7, "solidity": 0.3}
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    **{phase: {"color": colour} for phase, colour in zip(PHASES, COLOURS, strict=False)},
    REST: {"color": NEUTRAL},
    FAILED: {"color": COLOURS[4], "pattern": {"shape": "x", "fgcolor": "#fff", **_PATTERN}},
    REHEARSED: {"color": COLOURS[5], "pattern": {"shape": "/", "fgcolor": "#fff", **_PATTERN}},
    REHEARSAL_FAILED: {"color": COLOURS[5], "pattern": {"shape": "x", "fgcolor": "#fff", **_PATTERN}},
    IDLE: {"color": _PALE},
}
_UNITS = ((7200.0, 3600.0, "hours"), (600.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def timeline_figures(records: Iterable[TrialRecord], name_of: Namer) -> tuple[Figure, ...]:
    """One figure of all attempts that had hardware; none of a sweep in which nothing was measured."""
    ran_somewhere = [each for each in records if _had_hardware(each)]
    here = [each for each in ran_somewhere if each.reused_from is None]
    if not any(each.provenance == "measured" for each in here):
        return ()
    ran = sorted(here, key=lambda each: (each.started_at, each.trial_id))[-_MOST_ATTEMPTS:]
    found = timeline_of(ran, name_of)
    return (
        Figure(
            title="Timeline of the sweep",
            caption=_caption_of(found, since=ran[0].started_at)
            + left_out(len(here), _MOST_ATTEMPTS, "attempts, the last")
            + _elsewhere(len(ran_somewhere) - len(here)),
            alternative=_alternative_of(found, num_attempts=len(ran)),
            height_pixels=170 + 44 * len(found.rows),
            plot=_plot_of(found),
        ),
    )


def _elsewhere(count: int) -> str:
    return f" {counted(count, 'attempt')} of other sweeps whose results are used: not shown." if count else ""


def _had_hardware(record: TrialRecord) -> bool:
    return not (record.failure and record.failure.kind == "infeasible")


def _caption_of(found: Timeline, *, since: float) -> str:
    hours = sum(seconds for _, seconds in found.pauses) / 3600
    pauses = f"Left out at the dotted lines: {counted(len(found.pauses), 'pause')} without any attempt, "
    return " ".join(
        (
            f"From {day_and_time(since)} on. Launch holds the set-up, the first step compiles, training "
            "holds the warm-up, and rest is the start and end of processes. Starts and ends of attempts are "
            "of the driver's clock. The phases between are laid end to end in their order: their lengths "
            "were measured in the workers, their places were not, and evaluations on the way to a target are "
            "drawn with the last one. A rehearsal or a failed attempt has no phases, and its length is no "
            "measurement. Idle is a node on which none of these attempts ran.",
            *([f"{pauses}{number(hours)} h together."] if hours else []),
        )
    )


def _totals_of(found: Timeline) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for each in found.stretches:
        totals[each.phase] += each.seconds
    return {phase: totals[phase] for phase in _LOOKS if totals[phase] > 0}


def _alternative_of(found: Timeline, *, num_attempts: int) -> str:
    totals = _totals_of(found)
    parts = ", ".join(f"{phase} {number(seconds)} s" for phase, seconds in totals.items())
    nodes = counted(len(set(found.rows)), "node")
    return f"Timeline of {counted(num_attempts, 'attempt')} on {nodes}. Their time: {parts}."


def _plot_of(found: Timeline) -> dict[str, Any]:
    end = max(each.start + each.seconds for each in found.stretches)
    _, scale, unit = next(each for each in _UNITS if end >= each[0])
    lines = [
        {
            "type": "line",
            "x0": start / scale,
            "x1": start / scale,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"dash": "dot", "width": 2, "color": NEUTRAL},
        }
        for start, _ in found.pauses
    ]
    return {
        "data": [_trace_of(found, phase, scale=scale) for phase in _totals_of(found)],
        "layout": {
            "barmode": "overlay",
            "bargap": 0.3,
            "shapes": lines,
            "uniformtext": {"minsize": 10, "mode": "hide"},
            "xaxis": {"title": {"text": f"{unit} since the first start"}, "rangemode": "tozero"},
            "yaxis": {
                "tickvals": list(range(len(found.rows))),
                "ticktext": [shown(each) for each in shortened(found.rows)],
                "range": [len(found.rows) - 0.5, -0.5],
                "showgrid": False,
            },
        },
    }


def _trace_of(found: Timeline, phase: str, *, scale: float) -> dict[str, Any]:
    own = [each for each in found.stretches if each.phase == phase]
    return {
        "type": "bar",
        "orientation": "h",
        "name": phase,
        "marker": _LOOKS[phase],
        "base": [each.start / scale for each in own],
        "x": [each.seconds / scale for each in own],
        "y": [each.row for each in own],
        "customdata": [[shown(each.label), each.seconds] for each in own],
        "hovertemplate": f"{phase}: %{{customdata[1]:,.4~r}} s<extra>%{{customdata[0]}}</extra>",
        **({"text": phase, "textposition": "inside", "textangle": 0} if "pattern" in _LOOKS[phase] else {}),
    }
