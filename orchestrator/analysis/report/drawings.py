"""Drawings of a page, taken from its former version where they show the same."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from tempfile import TemporaryFile
from typing import IO, Self

from orchestrator.analysis.figures.drawing import (
    VERSION,
    drawing_key,
    has_room,
    simplified,
    vega_svg,
    whole_spec,
)
from orchestrator.analysis.figures.palette import on_page
from orchestrator.analysis.figures.vega_lite import Figure

_START = '<svg xmlns="http://www.w3.org/2000/svg" '
_DRAWING = re.compile(re.escape(_START) + r'data-drawing="(\w+)" .*?</svg>', re.DOTALL)
_CODE = """
import json, sys, vl_convert
specs, version = json.load(sys.stdin)
svgs = {key: vl_convert.vegalite_to_svg(spec, vl_version=version) for key, spec in specs.items()}
json.dump(svgs, sys.stdout)
"""


class Drawings:
    """Drawings by the hash of what they show: Vega's start takes as long as the rest of a small page.

    Args:
        former: markup of the page that is replaced; empty: there is none.
    """

    def __init__(self, former: str = "") -> None:
        self._former = {drawing[1]: drawing[0] for drawing in _DRAWING.finditer(former)}
        self._process: subprocess.Popen[bytes] | None = None
        self._drawn: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._drawn:
            self._drawn.close()

    def begin(self, requests: Iterable[tuple[Figure, int]]) -> None:
        """Begin to draw figures of a width in pixels, beside the work of this process."""
        specs = {drawing_key(spec): spec for spec in (whole_spec(*request) for request in requests)}
        new = {key: spec for key, spec in specs.items() if key not in self._former}
        if not new:
            return
        # where no process or file is left, each is drawn when it is asked for
        with suppress(OSError), TemporaryFile("w+", encoding="utf-8") as given:
            json.dump([new, VERSION], given)
            given.seek(0)
            self._drawn = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - `__exit__` closes it
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE],
                stdin=given,
                stdout=self._drawn,
                stderr=subprocess.DEVNULL,
            )

    @cached_property
    def _svgs(self) -> Mapping[str, str]:
        """Wait for the drawings; none where the process failed, so that who draws anew meets the error."""
        if self._process is None or self._drawn is None or self._process.wait():
            return {}
        self._drawn.seek(0)
        svgs: Mapping[str, str] = json.load(self._drawn)
        return svgs

    def draw_svg(self, figure: Figure, *, width: int) -> str:
        """Return the drawing of a figure about as wide as requested, with its hash as `data-drawing`."""
        spec = whole_spec(figure, width)
        key = drawing_key(spec)
        if key in self._former:
            return self._former[key]
        svg = simplified(self._svgs.get(key) or vega_svg(spec), has_titles=has_room(width))
        return on_page(svg).replace(_START, f'{_START}data-drawing="{key}" ', 1)
