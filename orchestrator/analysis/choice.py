"""Time, cost and quality of whole trainings, as a table and a figure."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

from orchestrator.analysis.advice import Advice, dollars_of
from orchestrator.analysis.pareto import Candidate, Job
from orchestrator.analysis.plots import COLOURS, NEUTRAL, Figure, shortened, shown
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import UNKNOWN, Number, counted, number
from orchestrator.core.placement import Aim

_MOST_TOLD = 12
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")


def choice_table(advice: Sequence[Advice]) -> Table:
    """One row per setting of each job that has several; the cost only where some cost is known."""
    shown_advice = [each for each in advice if len(each.job.candidates) > 1]
    has_cost = any(_has_cost(each.job) for each in shown_advice)
    billed = " The cost is that of the attempt that gave the result; failed ones are in the table of costs."
    return Table(
        title="Time, cost and quality" if has_cost else "Time and quality",
        note=(
            "Of the whole training that was done, medians over repeats: the time from the request of workers "
            "to the end of the evaluation. On the front is what no other setting of its job beats in "
            "everything; medians alone decide, so neighbours may change places in another run."
            f"{billed if has_cost else ''}"
        ),
        columns=(
            Column(header="where"),
            Column(header="setting"),
            Column(header="time s", is_number=True),
            *([Column(header="cost $", is_number=True)] if has_cost else []),
            Column(header="quality", is_number=True),
            Column(header="front"),
        ),
        rows=tuple(
            (
                each.job.where,
                one.label,
                number(one.seconds),
                *([dollars_of(one)] if has_cost else []),
                quality_of(one, each.job.aim),
                ", ".join(_remarks(one, each)),
            )
            for each in shown_advice
            for one in each.job.candidates
        ),
    )


def _remarks(one: Candidate, advice: Advice) -> Iterator[str]:
    if one.on_front:
        yield "on the front"
    if one == advice.chosen:
        yield "recommended"


def quality_of(one: Candidate, aim: Aim | None) -> str:
    """`accuracy 0.9700`."""
    if aim is None or one.quality is None:
        return UNKNOWN
    return Number(f"{aim.metric} {number(one.quality)}", one.quality)


def _has_cost(job: Job) -> bool:
    return any(each.cost_usd is not None for each in job.candidates)


def front_figures(jobs: Sequence[Job]) -> tuple[Figure, ...]:
    """Quality over time, the front as a line: one figure per job with a quality."""
    return tuple(
        Figure(
            title=f"Time and quality of {job.where}",
            caption="Whole trainings, medians over repeats. The line joins what no other one beats"
            f"{' in time, cost and quality together' if _has_cost(job) else ''}.",
            alternative=_front_in_words(job),
            height_pixels=420 + 12 * min(len(job.candidates), _MOST_TOLD),
            plot={
                "data": _marks_and_front(job, job.aim.metric),
                "layout": {
                    "xaxis": {"title": {"text": "seconds of the whole training"}, "rangemode": "tozero"},
                    "yaxis": {"title": {"text": shown(job.aim.metric)}, "range": _range_of(job)},
                },
            },
        )
        for job in jobs
        if job.aim is not None and sum(each.quality is not None for each in job.candidates) > 1
    )


def _front_in_words(job: Job) -> str:
    front = [each for each in job.candidates if each.on_front]
    said = [f"{each.label} with {number(each.seconds)} s and {quality_of(each, job.aim)}" for each in front]
    told = "; ".join(said[:_MOST_TOLD])
    return f"Marks of {counted(len(job.candidates), 'setting')}. On the front: {told}."


def _range_of(job: Job) -> list[float]:
    """Of the qualities, with room around them where they are all the same too."""
    known = [each.quality for each in job.candidates if each.quality is not None]
    low, high = min(known), max(known)
    room = 0.08 * (high - low) or 0.02 * abs(high) or 1.0
    return [low - room, high + room]


def _priced_label(one: Candidate) -> str:
    return one.label if one.cost_usd is None else f"{one.label}, ${dollars_of(one)}"


def _marks_and_front(job: Job, metric: str) -> list[dict[str, Any]]:
    known = [each for each in job.candidates if each.quality is not None]
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "front",
        "line": {"color": NEUTRAL, "width": 2, "shape": "hv"},
        "hoverinfo": "skip",
    }
    parts = [[each] for each in known] if len(known) <= _MOST_TOLD else [known]
    names = shortened([each[0].label if len(each) == 1 else "settings" for each in parts])
    marks = [
        _marks(each, metric)
        | {"name": shown(name), "marker": {"color": colour, "symbol": symbol, "size": 10}}
        for each, name, colour, symbol in zip(parts, names, cycle(COLOURS), cycle(_SYMBOLS))
    ]
    return [_over_time(line, [each for each in known if each.on_front]), *marks]


def _marks(some: Sequence[Candidate], metric: str) -> dict[str, Any]:
    trace = {
        "type": "scatter",
        "mode": "markers",
        "text": [shown(_priced_label(each)) for each in some],
        "hovertemplate": f"%{{text}}<br>%{{x:,.4~r}} s, {shown(metric)} %{{y:,.4~r}}<extra></extra>",
    }
    return _over_time(trace, some)


def _over_time(trace: dict[str, Any], some: Sequence[Candidate]) -> dict[str, Any]:
    return trace | {"x": [each.seconds for each in some], "y": [each.quality for each in some]}
