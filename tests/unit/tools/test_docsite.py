"""Generated parts of the documentation site."""

import json
from dataclasses import dataclass

import pytest
from docsite.command_reference import command_reference
from docsite.config_reference import Files, config_reference, files_of, keys_of
from docsite.docstrings import meanings_of, summarise_sweep
from docsite.generated import with_generated_parts
from docsite.markdown import table
from docsite.metric_reference import metric_reference
from docsite.notebook_page import notebook_page
from docsite.pages import with_site_links
from docsite.recording import Output, draw_svg, frames_of
from repository import ROOT

from orchestrator.analysis.metrics.cost import COSTS
from orchestrator.analysis.metrics.definitions import METRICS
from orchestrator.commands.catalogue.catalogue import list_commands


@pytest.fixture(scope="module")
def files() -> Files:
    return files_of(ROOT)


def test_every_key_of_the_configuration_has_a_meaning_and_a_type(files):
    keys = keys_of(files)
    assert {"budget.usd", "steps", "report.goal", "trainer.compile", "pools.nodes.POOL.zone"} <= {
        key.name for key in keys
    }
    assert not [key.name for key in keys if not (key.meaning and key.kind)]


def test_the_reference_has_every_option_with_the_default_marked(files):
    page = config_reference(files)
    named = {path.stem for path in (ROOT / "conf").glob("*/*.yaml")}
    assert not [name for name in named if f"| `{name}` |" not in page]
    assert "| `mlflow` | default |" in page
    assert "| `prices.max_age_days` | integer | `180` |" in page
    assert "| `workload.momentum` | number | `0.95` |" in page


def test_the_reference_has_every_command_with_its_flags():
    page = command_reference()
    for command in list_commands():
        assert f"## {command.name}\n" in page
        assert not [flag for flag in command.flags if f"| `{flag.usage}` |" not in page]


def test_the_reference_has_every_metric():
    page = metric_reference()
    assert not [key for key in (*METRICS, *COSTS) if f"| `{key}` |" not in page]


def test_meanings_come_from_the_docstring_of_a_class_and_its_bases():
    class Base:
        """A base.

        Attributes:
            rate: of the base.
        """

    @dataclass
    class Point(Base):
        """A point on
        a plane.

        Attributes:
            x, y: place: in
                metres.
        """

    assert meanings_of([Point]) == {
        "x": "place: in metres.",
        "y": "place: in metres.",
        "rate": "of the base.",
    }
    assert summarise_sweep(Point) == "A point on a plane."


def test_a_bar_in_a_cell_does_not_end_it():
    assert table(("a",), [["x|y"]]) == "| a |\n| --- |\n| x\\|y |\n"


@pytest.mark.parametrize(
    ("source", "page", "link", "moved"),
    [
        ("docs/how_to/search.md", "how_to/search.md", "compiled.md#tpus", "compiled.md#tpus"),
        ("docs/README.md", "README.md", "../CHANGELOG.md", "changelog.md"),
        (
            "docs/how_to/clusters.md",
            "how_to/clusters.md",
            "../../deploy/README.md",
            "../tutorials/google_cloud.md",
        ),
        ("CHANGELOG.md", "changelog.md", "docs/how_to/search.md#pruned", "how_to/search.md#pruned"),
        (
            "deploy/README.md",
            "tutorials/google_cloud.md",
            "../docs/reference/support.md",
            "../reference/support.md",
        ),
        ("docs/reference/python.md", "reference/python.md", "../notebook.ipynb", "../notebook.md"),
    ],
)
def test_links_lead_to_pages_of_the_site(source, page, link, moved):
    assert with_site_links(f"see [x]({link})", source=source, page=page) == f"see [x]({moved})"


def test_code_and_addresses_stay():
    text = "[x](https://example.org)\n\n```python\nrun[0](docs/how_to/search.md)\n```\n"
    assert with_site_links(text, source="README.md", page="README.md") == text


def test_a_mark_becomes_what_readers_see():
    shown = with_generated_parts(
        "<!-- needs: a GPU -->\n```bash\nmake gpu\n```\n<!-- generated: commands -->\n"
    )
    assert shown.startswith('<p class="needs">Needs a GPU.</p>\n\n```bash')
    assert "## predict advise" in shown


def test_a_notebook_shows_code_and_what_it_gave(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        {
            "cell_type": "code",
            "source": ["1 + 1"],
            "outputs": [
                {"data": {"text/plain": ["2"]}},
                {"text": ["said\n"]},
                {"data": {"text/html": ["<b>\n\n2</b>"]}},
            ],
        },
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    page = notebook_page(tmp_path / "n.ipynb")
    assert page.startswith("# Title\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n\n```text\nsaid\n")
    assert '<div class="cell-output"><b>\n2</b></div>' in page


def test_a_recording_shows_screens_and_not_bytes():
    outputs = [
        Output(seconds=0, data=b"$ run\r\n"),
        Output(seconds=5, data=b"\x1b[1;32m1 of 2\x1b[0m"),
        Output(seconds=10, data=b"\r\x1b[K2 < 3"),
    ]
    first, second = frames_of(outputs, columns=20, lines=3, count=2)
    assert [run.text for line in first for run in line] == ["$ run", "1 of 2"]
    assert (first[1][0].is_bold, first[1][0].colour) == (True, "#3fb950")
    assert [run.text for line in second for run in line] == ["$ run", "2 < 3"]
    picture = draw_svg([first, second], columns=20, lines=3, title="a & b")
    assert "<title>a &amp; b</title>" in picture
    assert "2 &lt; 3</text>" in picture
    assert picture.count('<g class="frame') == 2
