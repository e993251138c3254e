"""Paths that the documentation names exist."""

import re

import pytest
from repository import ROOT

PAGES = ("README.md", "docs/architecture.md")
PATH = re.compile(r"`((?:orchestrator|workloads|conf|tests|tools|docs|deploy|benchmarks)/[\w./-]+)[`:]")
LINK = re.compile(r"\]\(([\w./-]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_every_path_on_the_page_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    paths = [ROOT / path for path in PATH.findall(text) if not re.search(r"[A-Z]{4}", path)]
    links = [(ROOT / page).parent / link for link in LINK.findall(text)]
    assert paths or links
    assert not [str(path) for path in (*paths, *links) if not path.exists()]


def test_the_page_describes_every_package() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    packages = [folder for folder in (ROOT / "orchestrator").rglob("*") if (folder / "__init__.py").exists()]
    missing = [folder.name for folder in packages if not re.search(rf"\b{folder.name}\b", text)]
    assert packages
    assert not missing
