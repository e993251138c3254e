"""Colours of figures: fixed by precision, provenance and phase, distinguished by colour-blind readers.

A colour is a CSS variable of the page with its value on white as the fallback, so that a figure is readable
on dark pages, and outside the page too.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


class Colour(NamedTuple):
    """A colour on light and on dark pages, both with a contrast of at least 3:1 (WCAG 2.2, 1.4.11)."""

    name: str
    light: str
    dark: str

    @property
    def css(self) -> str:
        """Value for an SVG attribute: `var(--blue, #2f6db3)`."""
        return f"var(--{self.name}, {self.light})"


BLUE = Colour("blue", "#2f6db3", "#6aa9ec")
ORANGE = Colour("orange", "#b8560f", "#ec9150")
GREEN = Colour("green", "#2b8a3e", "#57bd6c")
PURPLE = Colour("purple", "#9c50b2", "#c98ddb")
RED = Colour("red", "#c43c5e", "#f0809b")
TEAL = Colour("teal", "#0f7f86", "#3fb9c1")
NEUTRAL = Colour("neutral", "#76808c", "#98a3b0")
TEXT = Colour("text", "#1b1f24", "#e6e9ed")
FAINT = Colour("faint", "#5b6470", "#9aa4b0")
LINE = Colour("line", "#d9dde3", "#343b44")
PAGE = Colour("page", "#ffffff", "#14171b")

SHAPES = (BLUE, ORANGE, GREEN, PURPLE, RED, TEAL, NEUTRAL)
"""Colours of marks and lines."""

PRECISIONS: Mapping[str, Colour] = {
    "fp32": BLUE,
    "bf16": ORANGE,
    "fp16": GREEN,
    "tf32": PURPLE,
    "fp8": RED,
    "tpu_default": TEAL,
}
"""A precision has the same colour in every figure of every report."""

_VARIABLE = re.compile(r"var\((--[a-z]+), (#[0-9a-f]{6})\)")


def choose_colour(precision: str) -> Colour:
    """Return the colour of a precision; of one that a user added, the neutral one."""
    return PRECISIONS.get(precision, NEUTRAL)


def on_paper(markup: str) -> str:
    """Replace every variable by its value on white, for files outside the page."""
    return _VARIABLE.sub(r"\2", markup)


def on_page(markup: str) -> str:
    """Leave out the value beside each variable, which the page declares."""
    return _VARIABLE.sub(r"var(\1)", markup)


def variables(*, dark: bool) -> str:
    """Declare the colours of shapes in a style sheet."""
    return " ".join(f"--{shape.name}: {shape.dark if dark else shape.light};" for shape in SHAPES)
