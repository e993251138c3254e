"""Time, cost and quality as a table and a figure, and what is recommended, in words."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.analysis.advice import Advice, dollars_of, wish_in_words
from orchestrator.analysis.pareto import Candidate, Job
from orchestrator.analysis.plots import COLOURS, Figure, shown
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import UNKNOWN, number
from orchestrator.core.placement import Aim
from orchestrator.core.wish import Wish


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
                _quality(one, each.job.aim),
                ", ".join(_marks(one, each)),
            )
            for each in shown_advice
            for one in each.job.candidates
        ),
    )


def _marks(one: Candidate, advice: Advice) -> Iterator[str]:
    if one.on_front:
        yield "on the front"
    if one == advice.chosen:
        yield "recommended"


def _has_cost(job: Job) -> bool:
    return any(each.cost_usd is not None for each in job.candidates)


def _quality(one: Candidate, aim: Aim | None) -> str:
    return f"{aim.metric} {number(one.quality)}" if aim and one.quality is not None else UNKNOWN


def recommended(advice: Sequence[Advice], wish: Wish) -> Iterator[str]:
    """A sentence for each job that leaves a choice, or whose limits were asked about."""
    for each in advice:
        wanted = wish_in_words(wish, each.job.aim)
        if each.chosen is None:
            yield f"Nothing is recommended on {each.job.where} ({wanted}): {each.reason}."
        elif len(each.job.candidates) > 1:
            facts = [f"{number(each.chosen.seconds)} s"]
            facts += [f"${dollars_of(each.chosen)}"] if each.chosen.cost_usd is not None else []
            facts += [_quality(each.chosen, each.job.aim)] if each.chosen.quality is not None else []
            yield f"Recommended on {each.job.where} ({wanted}): {each.chosen.label}: {', '.join(facts)}."


def front_figures(jobs: Sequence[Job]) -> tuple[Figure, ...]:
    """Quality over time, the front as a line: one figure per job with a quality."""
    return tuple(
        Figure(
            title=f"Time and quality of {job.where}",
            caption="Whole trainings, medians over repeats. The line joins what no other one beats"
            f"{' in time, cost and quality together' if _has_cost(job) else ''}.",
            height_pixels=420,
            plot={
                "data": _marks_and_front(job, job.aim.metric),
                "layout": {
                    "xaxis": {"title": {"text": "seconds of the whole training"}, "rangemode": "tozero"},
                    "yaxis": {"title": {"text": shown(job.aim.metric)}},
                },
            },
        )
        for job in jobs
        if job.aim is not None and sum(each.quality is not None for each in job.candidates) > 1
    )


def _priced_label(one: Candidate) -> str:
    return one.label if one.cost_usd is None else f"{one.label}, ${dollars_of(one)}"


def _marks_and_front(job: Job, metric: str) -> list[dict[str, Any]]:
    known = [each for each in job.candidates if each.quality is not None]
    front = [each for each in known if each.on_front]
    hover = f"%{{text}}<br>%{{x:,.4~r}} s, {shown(metric)} %{{y:,.4~r}}<extra></extra>"
    marks = {
        "type": "scatter",
        "mode": "markers",
        "name": "settings",
        "marker": {"color": COLOURS[0], "size": 9},
        "text": [shown(_priced_label(each)) for each in known],
        "hovertemplate": hover,
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "front",
        "line": {"color": COLOURS[1], "width": 2, "shape": "hv"},
        "hoverinfo": "skip",
    }
    return [
        trace | {"x": [each.seconds for each in some], "y": [each.quality for each in some]}
        for trace, some in ((marks, known), (line, front))
    ]
