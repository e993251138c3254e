"""Drawings of a page, taken from its former version where they show the same."""

import re

from orchestrator.analysis.figures.drawing import drawing_key, svg_of
from orchestrator.analysis.figures.vega_lite import Figure

_START = '<svg xmlns="http://www.w3.org/2000/svg" '
_DRAWING = re.compile(re.escape(_START) + r'data-drawing="(\w+)" .*?</svg>', re.DOTALL)


class Drawings:
    """Drawings by the hash of what they show: Vega's start takes as long as the rest of a small page.

    Args:
        former: markup of the page that is replaced; empty: there is none.
    """

    def __init__(self, former: str) -> None:
        self._former = {drawing[1]: drawing[0] for drawing in _DRAWING.finditer(former)}

    def svg_of(self, figure: Figure, *, width: int) -> str:
        """Return the drawing of a figure about as wide as requested, with its hash as `data-drawing`."""
        key = drawing_key(figure, width=width)
        if key in self._former:
            return self._former[key]
        return svg_of(figure, width=width).replace(_START, f'{_START}data-drawing="{key}" ', 1)
