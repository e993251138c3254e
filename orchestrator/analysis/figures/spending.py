"""Where the seconds of every setting went, as bars of 100%, with its time and bill beside them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.figures.palette import TEXT
from orchestrator.analysis.figures.phases import COLOURS, PHASES, REST, split_phases
from orchestrator.analysis.figures.vega_lite import Figure, Spec, left_out, mark_label, single
from orchestrator.analysis.formatting import counted, number
from orchestrator.analysis.measurements.setting import DETAILS, build_setting, format_label, varying
from orchestrator.analysis.metrics.cost import bill_of_all
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import setting_id

_NAMED = ("workload", "device", "trainer", "precision", *DETAILS)
_MOST_BARS = 20
_MUCH = 0.1
_BAR_PIXELS = 22
_LABEL_PIXELS = 300
_TOTAL_PIXELS = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The seconds of all attempts of one setting by phase, and their bill.

    Attributes:
        usd: None without a price.
    """

    name: str
    seconds: Mapping[str, float]
    usd: float | None


def spending_figures(attempts: Iterable[TrialRecord]) -> Iterator[Figure]:
    """Draw one figure of all measured attempts."""
    found = sum_spendings(attempts)
    if not found:
        return
    shown = found[:_MOST_BARS]
    values = [value for one in shown for value in _list_values(one)]

    def build_spec(width: int) -> Spec:
        room = min(_LABEL_PIXELS, width // 3)
        spec = _spec(values, [one.name for one in shown], label_pixels=room)
        return single(spec, width=width - room - _TOTAL_PIXELS + 64, height={"step": _BAR_PIXELS})

    yield Figure(
        title="Where the time and the money went",
        caption=(
            f"Share of the time of all attempts of a setting, failed ones included. Beside it: their seconds "
            f"and their bill. {PHASES}{_explain_rest(found)}"
            + left_out(len(found), _MOST_BARS, "settings, those that took longest")
        ),
        alternative=_describe(found),
        build_spec=build_spec,
    )


def _explain_rest(found: Sequence[Spending]) -> str:
    """Explain a rest that is over a tenth of all; empty: it is less."""
    total = sum(sum(one.seconds.values()) for one in found)
    rest = sum(one.seconds.get(REST, 0.0) for one in found)
    if not total or rest <= _MUCH * total:
        return ""
    return f" Rest is {rest / total:.0%} here: short trials spend much of their time on starting processes."


def sum_spendings(attempts: Iterable[TrialRecord]) -> list[Spending]:
    """Add up the attempts of each setting, the longest first. Names have the fields that differ."""
    attempts = tuple(attempts)
    groups: dict[str, list[TrialRecord]] = defaultdict(list)
    for record in attempts:
        groups[setting_id(record.spec)].append(record)
    settings = {setting: build_setting(group[0].spec) for setting, group in groups.items()}
    apart = varying(list(settings.values()), _NAMED) or ("device",)
    found = []
    for setting, group in groups.items():
        seconds: dict[str, float] = defaultdict(float)
        for record in group:
            for phase, part in split_phases(record).items():
                seconds[phase] += part
        if sum(seconds.values()) > 0:
            bill = bill_of_all(group)
            name = format_label(settings[setting], apart)
            found.append(Spending(name=name, seconds=dict(seconds), usd=bill.usd if bill else None))
    return sorted(found, key=lambda one: -sum(one.seconds.values()))


def _list_values(one: Spending) -> Iterator[dict[str, Any]]:
    whole, start = sum(one.seconds.values()), 0.0
    total = _format_total(one)
    for phase in COLOURS:
        seconds = one.seconds.get(phase, 0.0)
        if seconds > 0:
            words = f"{one.name}: {phase} {number(seconds)} s, {seconds / whole:.0%}"
            share = seconds / whole
            yield {
                "name": one.name,
                "phase": phase,
                "start": start,
                "end": start + share,
                "total": total,
                "label": mark_label(words),
            }
            start += share


def _format_total(one: Spending) -> str:
    seconds = f"{number(sum(one.seconds.values()), digits=3)} s"
    return seconds if one.usd is None else f"{seconds}, ${number(one.usd, digits=2)}"


def _spec(values: Sequence[Mapping[str, Any]], names: Sequence[str], *, label_pixels: int) -> Spec:
    phases = [phase for phase in COLOURS if any(value["phase"] == phase for value in values)]
    rows = {
        "field": "name",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": {"labelLimit": label_pixels, "ticks": False, "domain": False},
    }
    share = {
        "field": "start",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%", "tickCount": 5},
    }
    scale = {"domain": phases, "range": [COLOURS[phase].css for phase in phases]}
    return {
        "data": {"values": list(values)},
        "encoding": {"y": rows},
        "layer": [
            {
                "mark": {"type": "bar", "height": {"band": 0.7}, "aria": True},
                "encoding": {
                    "x": share,
                    "x2": {"field": "end"},
                    "color": {"field": "phase", "type": "nominal", "title": None, "scale": scale},
                    "description": {"field": "label"},
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 8, "color": TEXT.css},
                "transform": [{"filter": "datum.start == 0"}],
                "encoding": {"x": {"datum": 1}, "text": {"field": "total"}},
            },
        ],
    }


def _describe(found: Sequence[Spending]) -> str:
    longest = found[0]
    parts = ", ".join(
        f"{phase} {number(longest.seconds[phase])} s" for phase in COLOURS if phase in longest.seconds
    )
    return f"Bars of {counted(len(found), 'setting')}. The longest, {longest.name}: {parts}."
