"""Hooks of `mkdocs build`: pages from outside `docs/`, links to them, and parts generated from the code."""

from pathlib import Path
from typing import Any

from docsite.generated import with_generated_parts
from docsite.notebook_page import notebook_page
from docsite.pages import NOTEBOOK, PAGES, with_site_links
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parents[1]
_SOURCES = {page: source for source, page in PAGES.items() if source not in ("README.md", NOTEBOOK)}
_FOLDERS = {"Decisions": "decisions", "Findings": "findings"}


def on_config(config: MkDocsConfig) -> None:
    """Add the pages of folders whose pages are only ever appended."""
    for section in config.nav or []:
        for title, pages in section.items():
            if folder := _FOLDERS.get(title):
                found = sorted((_ROOT / "docs" / folder).glob("*.md"))
                pages += [f"{folder}/{page.name}" for page in found if page.name != "README.md"]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside `docs/`."""
    for page, source in _SOURCES.items():
        files.append(File.generated(config, page, abs_src_path=str(_ROOT / source)))
    files.append(File.generated(config, "notebook.md", content=notebook_page(_ROOT / NOTEBOOK)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Complete a page, and let its links lead to pages of the site."""
    place = page.file.src_uri
    if place == "changelog.md":
        page.meta["search"] = {"exclude": True}  # every key is named there, and explained elsewhere
    elif place.startswith("reference/"):
        page.meta["search"] = {"boost": 2}
    source = _SOURCES.get(place, f"docs/{place}")
    return with_generated_parts(with_site_links(markdown, source=source, page=place))
