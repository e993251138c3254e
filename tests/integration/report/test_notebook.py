"""`docs/notebook.ipynb` runs as it stands, gives what it shows, and shows no machine's paths."""

import re

import nbformat
import pytest
from run_notebook import NOTEBOOK, executed, paths_in


@pytest.fixture(scope="module")
def kept():
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def again(kept, tmp_path_factory):
    """The notebook, run in a folder of its own: a cell that raises fails every test of it."""
    return executed(kept, tmp_path_factory.mktemp("notebook"))


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def find_shapes(cell):
    """Return the kind of each output; columns and number of rows of data frames, lines of streams.

    A question about memory is printed only where its answer is not cached.
    """
    for output in cell.outputs:
        if output.output_type == "stream":
            starts = [line.split()[0] for line in output.text.splitlines()]
            yield output.name, [start for start in starts if start != "memory:"]
            continue
        page = output.data.get("text/html", "")
        is_frame = 'class="dataframe"' in page
        yield sorted(output.data), re.findall(r"<th>(.*?)</th>", page) if is_frame else page.count("<table>")


@pytest.mark.slow
def test_it_gives_what_it_shows(kept, again):
    assert [cell.source for cell in code(again)] == [cell.source for cell in code(kept)]
    assert [[*find_shapes(cell)] for cell in code(again)] == [[*find_shapes(cell)] for cell in code(kept)]


def test_it_shows_a_plan_a_sweep_data_frames_a_figure_and_the_page(kept):
    shown = [output for cell in code(kept) for output in cell.outputs]
    assert sum('class="dataframe"' in str(item.get("data")) for item in shown) >= 4
    assert any("image/png" in item.get("data", {}) for item in shown)
    assert 'href="outputs/smoke/report.html"' in str(shown)


def test_every_cell_was_run_in_its_order_without_an_error(kept):
    assert [cell.execution_count for cell in code(kept)] == [*range(1, len(code(kept)) + 1)]
    assert not [output for cell in code(kept) for output in cell.outputs if output.output_type == "error"]


def test_no_output_has_a_path_of_a_machine(kept):
    assert paths_in([cell.outputs for cell in code(kept)]) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("report: /home/me/outputs/report.html", ["/home/me"]),
        ("PosixPath('/tmp/x')", ["/tmp/x"]),
        ("1,234 samples/s, $/M samples, </td><td>, text/html", []),
        ("report: outputs/smoke/report.html", []),
    ],
)
def test_a_path_is_known_by_its_beginning(text, found):
    assert paths_in([{"data": {"text/plain": text}}]) == found
