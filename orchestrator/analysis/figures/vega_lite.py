"""Figures as Vega-Lite specifications: https://vega.github.io/vega-lite/docs/. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.figures.palette import choose_colour
from orchestrator.analysis.figures.ticks import log_ticks

Spec = dict[str, Any]
"""Vega-Lite specification."""

_PANEL_PIXELS, _SMALL_PANEL_PIXELS, _MOST_PANEL_PIXELS = 330, 210, 640
_FEW_PANELS = 6
_AXIS_PIXELS = 64
_GAP_PIXELS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its title and a sentence on how to read it.

    Attributes:
        alternative: text alternative of the figure, for screen readers.
        build_spec: specification for a width in pixels.
        is_detail: shown on demand only.
    """

    title: str
    caption: str
    alternative: str
    build_spec: Callable[[int], Spec]
    is_detail: bool = False


def panels(names: Sequence[str], spec: Spec, *, width: int, height: int) -> Spec:
    """Repeat a specification in one panel per value of its `panel`, as many beside each other as fit.

    Many panels are smaller.
    """
    is_few = len(names) <= _FEW_PANELS
    least = _PANEL_PIXELS if is_few else _SMALL_PANEL_PIXELS
    height = height if is_few else height * 2 // 3
    columns = max(1, min(len(names), width // least))
    room = min((width - _AXIS_PIXELS - _GAP_PIXELS * (columns - 1)) // columns, _MOST_PANEL_PIXELS)
    inner = {key: value for key, value in spec.items() if key != "data"}
    return {
        "data": spec["data"],
        "facet": {"field": "panel", "type": "nominal", "sort": list(names)},
        "columns": columns,
        "spacing": _GAP_PIXELS,
        "spec": {**inner, "width": room, "height": height},
    }


def single(spec: Spec, *, width: int, height: int | Spec) -> Spec:
    """Size a specification without panels.

    Args:
        height: pixels, or `{"step": pixels of a row}`.
    """
    return {**spec, "width": width - _AXIS_PIXELS, "height": height}


def axis(field: str, title: str, **more: Any) -> Spec:
    """Encode a quantity on a linear axis."""
    return {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 5}, **more}


def log_axis(field: str, title: str, values: Sequence[float], *, number_format: str = "~s") -> Spec:
    """Encode a quantity on a logarithmic axis from the least value to the greatest."""
    low, high = min(values), max(values)
    room = (high / low) ** 0.03 * 1.02
    domain = [low / room, high * room]
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": {"values": log_ticks(*domain), "format": number_format},
    }


def counts_axis(field: str, title: str, values: Sequence[int]) -> Spec:
    """Encode a count on an axis of doublings, with a tick at every value."""
    ticks = sorted(set(values))
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, "domain": [ticks[0] / 1.1, ticks[-1] * 1.1], "nice": False},
        "axis": {"values": ticks, "format": "d", "labelOverlap": True},
    }


def colours(values: Iterable[Mapping[str, Any]]) -> Spec:
    """Encode the precision of marks as its fixed colour."""
    names = sorted({value["precision"] for value in values})
    scale = {"domain": names, "range": [choose_colour(name).css for name in names]}
    return {"field": "precision", "type": "nominal", "title": "precision", "scale": scale}


def dashes(values: Iterable[Mapping[str, Any]], *, field: str) -> Spec:
    """Encode a category of marks as the dashes of their lines; no legend for a single value."""
    names = sorted({value[field] for value in values})
    encoding: Spec = {"field": field, "type": "nominal", "title": field, "scale": {"domain": names}}
    return encoding if len(names) > 1 else {**encoding, "legend": None}


def mark_label(words: str, *, row: str = "") -> str:
    """Write the description of a mark: the id of its row in the page, and its text alternative."""
    return f"{row}\n{words}"


def drawn_as_groups(count: int, most: int, groups: int, what: str) -> str:
    """Return the caption's addition where neighbours are drawn together, as an eye could not part them."""
    return f" {count:,} {what} are drawn as {groups:,} groups of neighbours." if count > most else ""


def left_out(count: int, most: int, what: str) -> str:
    """Return the caption's addition where a figure cannot show everything; tables and CSV files can."""
    return f" It shows {most:,} of {count:,} {what}." if count > most else ""
