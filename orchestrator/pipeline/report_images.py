"""The figures of a report as PNG files, drawn by a browser that kaleido starts."""

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from orchestrator.analysis.figures.plots import Figure, shown
from orchestrator.analysis.report.figures import drawn
from orchestrator.core.errors import ConfigError

_WIDTH_PIXELS = 900
_TITLE_PIXELS = 40
_SCALE = 2  # dots per pixel: sharp on paper

_log = logging.getLogger(__name__)


def require_browser() -> None:
    """Find what draws images, before anything is run for them.

    Raises:
        ConfigError: kaleido, or a browser for it, is missing.
    """
    if find_spec("kaleido") is None:
        raise ConfigError(
            "report.images=true needs the package 'kaleido'; pip install '.[images]', or say "
            "report.images=false"
        )
    from choreographer.browsers.chromium import Chromium  # comes with kaleido, which asks it too

    browser = Chromium.find_browser(skip_local=False)
    if not browser or not Path(browser).is_file():
        named = f", and BROWSER_PATH={browser!r} is not a file" if browser else ""
        raise ConfigError(
            f"report.images=true needs Chrome or Chromium{named}; install one, name it in BROWSER_PATH, or "
            "set report.images=false"
        )


def draw_images(figures: Mapping[str, Figure], folder: Path) -> None:
    """Write `NAME.png` of every figure. A browser error is logged in one line and stops nothing else."""
    import kaleido  # seconds; needed for images only

    folder.mkdir(exist_ok=True)
    orders = [
        {
            "fig": _titled(figure),
            "path": folder / f"{name}.png",
            "opts": {
                "width": _WIDTH_PIXELS,
                "height": figure.height_pixels + _TITLE_PIXELS,
                "scale": _SCALE,
            },
        }
        for name, figure in figures.items()
    ]
    try:
        # Without `mathjax` kaleido asks a server for it.
        kaleido.write_fig_from_object_sync(orders, kopts={"mathjax": False}, cancel_on_error=True)
    except (RuntimeError, OSError) as error:
        _log.warning("figures were not drawn as images: %s", *error.args[:1])


def _titled(figure: Figure) -> dict[str, Any]:
    """Dark on white, with the title that stands above the figure in a page."""
    plot = drawn(figure)
    title = {
        "text": shown(figure.title),
        "x": 0.01,
        "xanchor": "left",
        "yref": "container",
        "automargin": True,
    }
    return {**plot, "layout": {**plot["layout"], "paper_bgcolor": "#ffffff", "title": title}}


def forget_images(folder: Path) -> None:
    """Remove the images of an earlier report."""
    for path in folder.glob("*.png"):
        path.unlink()
