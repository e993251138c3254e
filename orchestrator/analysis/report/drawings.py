"""Drawings of a page, taken from its former version where they show the same."""

import re
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from orchestrator.analysis.figures.drawing import (
    VERSION,
    drawing_key,
    has_room,
    simplified,
    vega_svg,
    whole_spec,
)
from orchestrator.analysis.figures.drawing_process import DrawingProcess
from orchestrator.analysis.figures.palette import on_page
from orchestrator.analysis.figures.vega_lite import Figure

_START = '<svg xmlns="http://www.w3.org/2000/svg" '
_DRAWING = re.compile(re.escape(_START) + r'data-drawing="(\w+)" .*?</svg>', re.DOTALL)


class Drawings:
    """Drawings by the hash of what they show: Vega's start takes as long as the rest of a small page.

    Args:
        former: markup of the page that is replaced; empty: there is none.
    """

    def __init__(self, former: str = "") -> None:
        self._former = {drawing[1]: drawing[0] for drawing in _DRAWING.finditer(former)}
        self._process: DrawingProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process:
            self._process.close()

    def begin(self, requests: Iterable[tuple[Figure, int]]) -> None:
        """Begin to draw figures of a width in pixels, beside the work of this process."""
        specs = {drawing_key(spec): spec for spec in (whole_spec(*request) for request in requests)}
        new = {key: spec for key, spec in specs.items() if key not in self._former}
        try:
            self._process = DrawingProcess(new, version=VERSION) if new else None
        except OSError:  # no process is left: each is drawn when it is asked for
            self._process = None

    def draw_svg(self, figure: Figure, *, width: int) -> str:
        """Return the drawing of a figure about as wide as requested, with its hash as `data-drawing`."""
        spec = whole_spec(figure, width)
        key = drawing_key(spec)
        if key in self._former:
            return self._former[key]
        drawn: Mapping[str, str] = self._process.svgs() if self._process else {}
        svg = simplified(drawn[key] if key in drawn else vega_svg(spec), has_titles=has_room(width))
        return on_page(svg).replace(_START, f'{_START}data-drawing="{key}" ', 1)
