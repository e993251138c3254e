"""Paths that the documentation names exist."""

import re

import pytest
from repository import ROOT

HISTORY = ("docs/decisions", "docs/findings")  # they name files of their day
PAGES = (
    "README.md",
    "SECURITY.md",
    "deploy/README.md",
    "benchmarks/README.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md")),
    *sorted(
        str(page.relative_to(ROOT))
        for folder in ("tutorials", "how_to", "reference", "explanation")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ),
)
LINKED = (
    *PAGES,
    *sorted(str(page.relative_to(ROOT)) for folder in HISTORY for page in (ROOT / folder).glob("*.md")),
)
USER_FILES = {"conf/pools/mine.yaml", "conf/prices/mine.yaml", "conf/workload/text_transformer.yaml"}
PATH = re.compile(r"`((?:orchestrator|workloads|conf|tests|tools|docs|deploy|benchmarks)/[\w./-]+)[`:]")
LINK = re.compile(r"\]\(([\w./-]+)\)")


@pytest.mark.parametrize("page", PAGES)
def test_every_path_on_the_page_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    paths = [path for path in PATH.findall(text) if not re.search(r"[A-Z]{4}", path)]
    assert not [path for path in paths if path not in USER_FILES and not (ROOT / path).exists()]


@pytest.mark.parametrize("page", LINKED)
def test_every_link_of_the_page_leads_to_a_file(page: str) -> None:
    links = [(ROOT / page).parent / link for link in LINK.findall((ROOT / page).read_text())]
    assert not [str(link) for link in links if not link.exists()]


@pytest.mark.parametrize("folder", HISTORY)
def test_the_list_of_a_folder_has_each_of_its_pages(folder: str) -> None:
    listed = LINK.findall((ROOT / folder / "README.md").read_text())
    pages = [page.name for page in (ROOT / folder).glob("*.md") if page.name != "README.md"]
    assert pages
    assert not set(pages) - set(listed)


def test_the_page_describes_every_package() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text()
    packages = [folder for folder in (ROOT / "orchestrator").rglob("*") if (folder / "__init__.py").exists()]
    missing = [folder.name for folder in packages if not re.search(rf"\b{folder.name}\b", text)]
    assert packages
    assert not missing


@pytest.mark.parametrize("name", ["terminal.svg", "sample_report.html"])
def test_pictures_show_no_path_of_a_machine(name: str) -> None:
    text = (ROOT / "docs/assets" / name).read_text(encoding="utf-8")
    assert re.findall(r"/(?:root|home|tmp|usr|opt|var|work)/[\w./-]+", text) == []
