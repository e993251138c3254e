"""Pages of the site that lie outside `docs/`, and links to them."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

NOTEBOOK = "docs/notebook.ipynb"

PAGES: Mapping[str, str] = MappingProxyType(
    {
        "CHANGELOG.md": "changelog.md",
        "SECURITY.md": "security.md",
        "deploy/README.md": "tutorials/google_cloud.md",
        "benchmarks/README.md": "benchmark_programs.md",
        "README.md": "README.md",
        NOTEBOOK: "notebook.md",
    }
)
"""File of the repository -> page of the site; its README stands for the start page of the site."""

_FENCE = re.compile(r"^(```+).*?^\1`*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([\w./-]+)(#[\w-]+)?(\))")


def with_site_links(markdown: str, *, source: str, page: str) -> str:
    """Return a page whose links lead to pages of the site.

    Args:
        source: place of the file in the repository.
        page: place of the page below `docs/`.
    """
    parts = []
    for text, is_code in _split(markdown):
        parts.append(
            text if is_code else _LINK.sub(lambda link: _moved(link, source=source, page=page), text)
        )
    return "".join(parts)


def _moved(link: re.Match[str], *, source: str, page: str) -> str:
    opening, target, anchor, closing = link[1], link[2], link[3] or "", link[4]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    place = PAGES.get(file, file.removeprefix("docs/"))
    return f"{opening}{posixpath.relpath(place, posixpath.dirname(page) or '.')}{anchor}{closing}"


def _split(markdown: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a page, and whether each is a block of code."""
    start = 0
    for fence in _FENCE.finditer(markdown):
        yield markdown[start : fence.start()], False
        yield fence[0], True
        start = fence.end()
    yield markdown[start:], False
