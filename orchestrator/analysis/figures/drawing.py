"""(figure) -> SVG and PNG, drawn by vl-convert: Vega without a browser and without the net."""

import hashlib
import json
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from orchestrator.analysis.figures.palette import FAINT, LINE, PAGE, TEXT, on_paper
from orchestrator.analysis.figures.vega_lite import Figure, Spec
from orchestrator.core.printable import printable

VERSION = "6.4"
"""Version of Vega-Lite."""

_NAMESPACE = "http://www.w3.org/2000/svg"
_HAS_DECIMALS = re.compile(r"-?\d+\.\d{2,}")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
"""Path of a point."""

_FONT = "Arial, 'Liberation Sans', Helvetica, 'DejaVu Sans Condensed', sans-serif"
"""Fonts about as wide as the one that labels are measured with."""

_PADDING = {"left": 20, "top": 4, "right": 30, "bottom": 4}
"""Pixels around a drawing: a browser's font may make the longest labels a tenth longer."""

_FONT_PIXELS = 12
_WIDE_PIXELS = 600
_GROUP = f"{{{_NAMESPACE}}}g"
_INHERITED = ("fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "text-anchor")
_USUAL_TEXT = {"font-family": _FONT, "font-size": f"{_FONT_PIXELS}px"}
_DEFAULTS = (
    ("opacity", "1"),
    ("x2", "0"),
    ("y2", "0"),
    ("stroke-width", "1"),
    ("stroke-dasharray", "1,0"),
    ("text-anchor", "start"),
    ("transform", "translate(0,0)"),
)
_MOST_INTEGER = 2**53  # JavaScript has no larger ones
_CONFIG: Spec = {
    "background": None,
    "font": _FONT,
    "aria": False,  # a figure has one text alternative; marks with a description get a title
    "axis": {
        "labelColor": FAINT.css,
        "titleColor": TEXT.css,
        "gridColor": LINE.css,
        "domainColor": LINE.css,
        "tickColor": LINE.css,
        "labelFontSize": _FONT_PIXELS,
        "titleFontSize": _FONT_PIXELS,
        "titleFontWeight": "normal",
        "labelLimit": 250,
    },
    "legend": {
        "labelColor": TEXT.css,
        "titleColor": FAINT.css,
        "labelFontSize": _FONT_PIXELS,
        "titleFontSize": _FONT_PIXELS,
        "titleFontWeight": "normal",
        "orient": "top",
        "labelLimit": 260,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
    },
    "header": {
        "labelColor": TEXT.css,
        "labelFontSize": _FONT_PIXELS + 1,
        "labelFontWeight": 600,
        "labelAnchor": "start",
        "labelLimit": 320,
        "title": None,
    },
    "text": {"color": TEXT.css},
    "view": {"stroke": None},
}


def draw_svg(figure: Figure, *, width: int) -> str:
    """Draw a figure about as wide as requested; its colours are variables of the page.

    A mark with a description gets a title, where a pointer can be on it, and the id of its row as `data-row`.
    """
    return simplified(vega_svg(whole_spec(figure, width)), has_titles=has_room(width))


def vega_svg(spec: Spec) -> str:
    """Draw an inert specification."""
    import vl_convert  # a quarter of a second

    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VERSION)
    return svg


def drawing_key(spec: Spec) -> str:
    """Hash all that a drawing depends on: specification, version of the drawing library, and this module."""
    text = json.dumps(spec, sort_keys=True)
    digest = hashlib.sha256(f"{version('vl-convert-python')} {VERSION} {text}".encode())
    digest.update(_own_code())
    return digest.hexdigest()[:16]


@cache
def _own_code() -> bytes:
    return Path(__file__).read_bytes()


def whole_spec(figure: Figure, width: int) -> Spec:
    """Return the specification of a figure about as wide as requested, inert and in the page's style."""
    room = width - _PADDING["left"] - _PADDING["right"]
    return {**_inert(figure.build_spec(room)), "config": _config_for(width), "padding": _PADDING}


def draw_png(svg: str, *, scale: float) -> bytes:
    """Turn a drawn figure into a PNG on white.

    Args:
        scale: dots per pixel.
    """
    import vl_convert

    root = ElementTree.fromstring(on_paper(svg))  # noqa: S314 - own markup
    white = {"width": "100%", "height": "100%", "fill": PAGE.light}
    root.insert(0, ElementTree.Element(f"{{{_NAMESPACE}}}rect", white))
    png: bytes = vl_convert.svg_to_png(ElementTree.tostring(root, encoding="unicode"), scale=scale)
    return png


def _config_for(width: int) -> Spec:
    """Stack legends where there is no room beside each other."""
    if has_room(width):
        return _CONFIG
    stacked = {"layout": {"top": {"direction": "vertical"}}, "columns": 3}
    return {**_CONFIG, "legend": {**_CONFIG["legend"], **stacked}}


def _inert(value: Any) -> Any:
    """Escape characters that XML cannot hold, and round integers that JSON readers cannot hold."""
    if isinstance(value, str):
        return "\n".join(map(printable, value.split("\n")))
    if isinstance(value, int) and abs(value) > _MOST_INTEGER:
        return float(value)
    if isinstance(value, dict):
        return {key: _inert(one) for key, one in value.items()}
    return list(map(_inert, value)) if isinstance(value, list) else value


def has_room(width: int) -> bool:
    """Return whether a drawing is for a screen with a pointer: only there a mark has a title."""
    return width >= _WIDE_PIXELS


def simplified(svg: str, *, has_titles: bool = True) -> str:
    """Turn descriptions into titles, drop what a browser takes by itself, and round coordinates."""
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(svg)  # noqa: S314 - own markup
    for parent in root.iter():
        for element in list(parent):
            if element.get("class") == "background" and element.get("stroke") is None:
                parent.remove(element)
    for element in root.iter():
        label = element.attrib.pop("aria-label", None)
        for name in ("role", "aria-roledescription", "aria-hidden", "pointer-events", "class"):
            element.attrib.pop(name, None)
        for name in ("transform", "d", "x2", "y2"):
            if name in element.attrib:
                element.set(name, _HAS_DECIMALS.sub(_rounded, element.attrib[name]))
        if circle := _CIRCLE.fullmatch(element.get("d", "")):
            element.tag = f"{{{_NAMESPACE}}}circle"
            element.set("r", circle[1])
            del element.attrib["d"]
        for name, value in (*_DEFAULTS, *_USUAL_TEXT.items()):
            if element.get(name) == value:
                del element.attrib[name]
        if label and "\n" in label:  # of a mark; titles of axes have one too
            row, _, words = label.partition("\n")
            if row:
                element.set("data-row", row)
            if has_titles:
                ElementTree.SubElement(element, f"{{{_NAMESPACE}}}title").text = words
    _share_attributes(root)
    _drop_wrappers(root)
    for name, value in _USUAL_TEXT.items():
        root.set(name, value)
    return ElementTree.tostring(root, encoding="unicode")


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _drop_wrappers(parent: ElementTree.Element) -> None:
    """Put the children of groups without attributes in their place, and drop what shows nothing."""
    kept: list[ElementTree.Element] = []
    for element in list(parent):
        _drop_wrappers(element)
        if element.tag == _GROUP and not element.attrib:
            kept += list(element)
        elif element.get("display") != "none" and (element.tag != _GROUP or len(element)):
            kept.append(element)
    parent[:] = kept


def _share_attributes(parent: ElementTree.Element) -> None:
    """Write an inherited attribute that all children of a group have once, in the group."""
    for element in parent:
        _share_attributes(element)
    if parent.tag not in (_GROUP, f"{{{_NAMESPACE}}}svg") or len(parent) == 0:
        return
    for name in _INHERITED:
        values = {element.get(name) for element in parent}
        if len(values) == 1 and (value := values.pop()) is not None:
            parent.set(name, value)
            for element in parent:
                del element.attrib[name]
