"""Drawings of a page, taken from its former version where they show the same."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from tempfile import TemporaryFile
from types import TracebackType
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
from orchestrator.analysis.figures.vega_lite import Figure, Spec

_START = '<svg xmlns="http://www.w3.org/2000/svg" '
_DRAWING = re.compile(re.escape(_START) + r'data-drawing="(\w+)" .*?</svg>', re.DOTALL)
_CODE = """
import json, sys, vl_convert
specs, version = json.load(sys.stdin)
svgs = {key: vl_convert.vegalite_to_svg(spec, vl_version=version) for key, spec in specs.items()}
json.dump(svgs, sys.stdout)
"""


class DrawingProcess:
    """Process that draws specifications.

    Args:
        specs: key -> specification, all inert.
        version: version of Vega-Lite.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, specs: Mapping[str, Spec], *, version: str) -> None:
        self._svgs: Mapping[str, str] | None = None
        with TemporaryFile("w+", encoding="utf-8") as given:
            json.dump([specs, version], given)
            given.seek(0)
            self._drawn: IO[str] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - `close` closes it
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CODE],
                    stdin=given,
                    stdout=self._drawn,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                self._drawn.close()
                raise

    def svgs(self) -> Mapping[str, str]:
        """Wait for the drawings; none where the process failed, so that who draws anew meets the error."""
        if self._svgs is None:
            code = self._process.wait()
            self._drawn.seek(0)
            self._svgs = {} if code else json.load(self._drawn)
        return self._svgs

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._drawn.close()


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
