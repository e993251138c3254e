"""The figures of a report as image files: SVG for pages and slides, PNG for all else."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.analysis.figures.drawing import draw_png, draw_svg
from orchestrator.analysis.figures.palette import on_paper
from orchestrator.analysis.figures.vega_lite import Figure

SUFFIXES = (".png", ".svg")
_WIDTH_PIXELS = 900
_DOTS_PER_PIXEL = 2  # sharp on paper


def draw_images(figures: Mapping[str, Figure], folder: Path) -> None:
    """Write `NAME.svg` and `NAME.png` of every figure, in colours for white paper."""
    folder.mkdir(exist_ok=True)
    for name, figure in figures.items():
        svg = draw_svg(figure, width=_WIDTH_PIXELS)
        (folder / f"{name}.svg").write_text(on_paper(svg), encoding="utf-8")
        (folder / f"{name}.png").write_bytes(draw_png(svg, scale=_DOTS_PER_PIXEL))


def images_in(folder: Path) -> tuple[Path, ...]:
    """List the images of a report."""
    return tuple(sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES))


def forget_images(folder: Path) -> None:
    """Remove the images of an earlier report."""
    for path in images_in(folder):
        path.unlink()
