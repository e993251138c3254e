"""Recording of a terminal as an animated SVG. Pure."""

import html
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyte

_WIDTH, _HEIGHT, _MARGIN = 8.4, 18, 14  # of a character, of a line, around the screen
_FRAME_SECONDS, _LAST_SECONDS = 1.5, 8.0
_PAPER, _INK = "#0d1117", "#e6edf3"
_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "default": _INK,
        "black": "#484f58",
        "red": "#ff7b72",
        "green": "#3fb950",
        "brown": "#d29922",
        "blue": "#58a6ff",
        "magenta": "#bc8cff",
        "cyan": "#39c5cf",
        "white": "#b1bac4",
        "brightblack": "#8b949e",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Bytes that a program wrote to its terminal.

    Attributes:
        seconds: time since its start.
    """

    seconds: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Characters beside each other that look alike."""

    column: int
    text: str
    colour: str
    is_bold: bool


Frame = Sequence[Sequence[Run]]


def frames_of(outputs: Sequence[Output], *, columns: int, lines: int, count: int) -> list[Frame]:
    """Return that many screens, evenly in time, and the last one; equal neighbours are one.

    Args:
        columns, lines: size of the terminal.
    """
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    end = outputs[-1].seconds
    moments = [end * (index + 1) / count for index in range(count)]
    frames: list[Frame] = []
    rest = list(reversed(outputs))
    for moment in moments:
        while rest and rest[-1].seconds <= moment:
            stream.feed(rest.pop().data)
        frames.append(_frame_of(screen))
    return [frame for frame, _ in itertools.groupby(frames)]


def _frame_of(screen: pyte.Screen) -> Frame:
    return [list(_list_runs(screen.buffer[line], screen.columns)) for line in range(screen.lines)]


def _list_runs(row: Mapping[int, pyte.screens.Char], columns: int) -> Iterator[Run]:
    cells = [(column, row[column]) for column in range(columns)]
    for (colour, is_bold), alike in itertools.groupby(cells, key=lambda cell: (cell[1].fg, cell[1].bold)):
        part = list(alike)
        text = "".join(cell.data for _, cell in part)
        if text.strip():
            yield Run(column=part[0][0], text=text.rstrip(), colour=_colour_of(colour), is_bold=is_bold)


def _colour_of(name: str) -> str:
    return _COLOURS.get(name, _COLOURS.get(name.removeprefix("bright"), f"#{name}"))


def draw_svg(frames: Sequence[Frame], *, columns: int, lines: int, title: str) -> str:
    """Return an SVG that shows the frames one after the other, the last one longest, and begins again."""
    width, height = columns * _WIDTH + 2 * _MARGIN, lines * _HEIGHT + 2 * _MARGIN
    total = _FRAME_SECONDS * (len(frames) - 1) + _LAST_SECONDS
    rules = "".join(_rule(index, len(frames), total) for index in range(len(frames)))
    drawn = "".join(
        f'<g class="frame f{index}">{_find_lines(frame)}</g>' for index, frame in enumerate(frames)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">'
        f"<title>{html.escape(title)}</title>"
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}"
        f".b{{font-weight:700}}.frame{{animation:{total:g}s step-end infinite}}{rules}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}"/>{drawn}</svg>\n'
    )


def _rule(index: int, count: int, total: float) -> str:
    start = 100 * index * _FRAME_SECONDS / total
    end = 100.0 if index == count - 1 else 100 * (index + 1) * _FRAME_SECONDS / total
    hidden = "0%{visibility:hidden}" if index else ""
    after = f"{end:.2f}%{{visibility:hidden}}" if index < count - 1 else ""
    shown = f"{start:.2f}%{{visibility:visible}}"
    return f".f{index}{{animation-name:k{index}}}@keyframes k{index}{{{hidden}{shown}{after}}}"


def _find_lines(frame: Frame) -> str:
    return "".join(
        f'<text x="{_MARGIN + run.column * _WIDTH:.1f}" y="{_MARGIN + (line + 0.8) * _HEIGHT:.1f}" '
        f'textLength="{len(run.text) * _WIDTH:.1f}" fill="{run.colour}"'
        f"{_weight(run)}>{html.escape(run.text)}</text>"
        for line, runs in enumerate(frame)
        for run in runs
    )


def _weight(run: Run) -> str:
    return ' class="b"' if run.is_bold else ""
