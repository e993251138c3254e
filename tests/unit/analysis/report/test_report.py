"""The page: whole without the net, inert whatever a record holds, the same for the same records."""

import json
import re
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest
from builders import record, trial_spec
from report_builders import HOSTILE, hostile, measured, plan_of, rehearsed, tpu_vs_gpu

from orchestrator.analysis.findings import findings_of
from orchestrator.analysis.report.method import environment_table
from orchestrator.analysis.report.page import plotly, render

OURS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "script",
    "noscript",
    "section",
    "div",
    "p",
    "ul",
    "li",
}
OURS |= {"h1", "h2", "h3", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "dl", "dt", "dd"}
OURS |= {"a", "span", "header", "main", "nav", "figure", "figcaption", "pre", "code"}


class Page(HTMLParser):
    """The elements of a page, its text, and the values of its data blocks."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self.blocks, self.in_block = [], [], [], False
        self.feed(page.replace(plotly(), ""))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.in_block = ("type", "application/json") in attributes

    def handle_endtag(self, _tag):
        self.in_block = False

    def handle_data(self, data):
        if self.in_block:
            self.blocks.append(json.loads(data))
        else:
            self.text.append(data)


def page_of(case):
    records, plan = case()
    return render(sweep="example", findings=findings_of(records, plan))


@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile])
def test_the_page_holds_only_elements_of_ours(case):
    page = Page(page_of(case))
    assert {tag for tag, _ in page.elements} <= OURS
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_an_attack_is_shown_as_text():
    page = Page(page_of(hostile))
    cells = [words for words in page.text if HOSTILE in words]
    assert len(cells) > 10


def test_an_attack_inside_a_figure_stays_json():
    time, cost, quality, bars, curves, timeline = Page(page_of(hostile)).blocks
    for panel in (time, cost, quality):
        for marks in panel["data"]:
            assert all("&lt;/script&gt;" in words for words in (*marks["y"], *marks["text"]))
    assert [len(marks["y"]) for marks in time["data"]] == [2, 1]
    assert "&lt;/script&gt;" in bars["data"][0]["y"][0]  # Plotly reads markup, and shows this
    assert "&lt;/script&gt;" in curves["data"][0]["name"]
    assert "&lt;/script&gt;" in timeline["data"][0]["customdata"][0][0]
    assert any("&lt;/script&gt;" in item for item in timeline["layout"]["yaxis"]["ticktext"])


@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile])
def test_no_block_holds_markup_that_plotly_would_draw(case):
    words = [word for block in Page(page_of(case)).blocks for word in words_in(block)]
    assert not [
        word
        for word in words
        if "<" in word.replace("<br>", "").replace("<extra>", "").replace("</extra>", "")
    ]


def words_in(value):
    """Every text in a block."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [word for part in parts for word in words_in(part)]


def test_the_page_refers_to_nothing_outside_itself():
    page = Page(page_of(tpu_vs_gpu))
    named = {attributes.get("id") for _, attributes in page.elements}
    links = [attributes["href"] for _, attributes in page.elements if "href" in attributes]
    assert len(links) > 10
    assert all(link[:1] == "#" and link[1:] in named for link in links)
    assert not [attributes for _, attributes in page.elements if "src" in attributes]
    assert "url(" not in page_of(tpu_vs_gpu).replace(plotly(), "")


def test_figures_whose_titles_differ_in_signs_alone_have_ids_of_their_own():
    records = [measured(workload=value) for value in ("<a>", "'a'", HOSTILE)]
    page = Page(render(sweep="example", findings=findings_of(records, plan_of(records))))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z0-9:-]+", id_) for id_ in ids)
    assert {
        "figure:throughput-of-a-stand-in-1f2e3d4c-data",
        "figure:throughput-of-a-stand-in-1f2e3d4c-data-2",
    } <= set(ids)
    plots = {attributes["data-plot"] for _, attributes in page.elements if "data-plot" in attributes}
    assert len(plots) == len(page.blocks)
    assert plots <= set(ids)


def test_the_page_may_run_only_its_own_three_scripts():
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page_of(tpu_vs_gpu))[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 3
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_the_figures_are_what_plotly_knows():
    for block in Page(page_of(tpu_vs_gpu)).blocks:
        go.Figure(block)


def test_a_page_of_many_settings_shows_some_bars_and_curves_and_says_so():
    records = [
        measured(trainer_options={"index": str(index)}, step_seconds=0.01 + index * 1e-4)
        for index in range(70)
    ]
    page = Page(render(sweep="example", findings=findings_of(records, plan_of(records))))
    time, _, bars, curves, _ = page.blocks
    assert len(bars["data"][0]["x"]) == len(curves["data"]) == 60
    assert min(bars["data"][0]["x"]) == pytest.approx(64 / (0.01 + 59e-4))
    assert len(time["data"][0]["x"]) == 40
    assert any(" It shows 60 of 70 settings, the fastest." in words for words in page.text)
    assert any(" 30 settings with lower chances are left out." in words for words in page.text)


def test_a_sweep_without_measurements_does_not_carry_plotly():
    records = [rehearsed()]
    page = render(sweep="example", findings=findings_of(records, plan_of(records)))
    assert page.count("<script") == 1
    assert len(page) < 20_000


def test_an_empty_sweep_is_a_page_too():
    page = render(sweep="example", findings=findings_of([], plan_of([])))
    assert "No trial has been run." in page


def test_without_scripts_a_figure_is_told_in_words():
    assert "<noscript><p>Timeline of 35 attempts on 1 node." in page_of(tpu_vs_gpu)


def test_a_stand_in_is_told_plainly():
    assert "The data is a declared stand-in" in page_of(tpu_vs_gpu)


def test_a_version_that_differs_between_trainers_says_whose_it_is():
    records = [record(environment={"torch": "2.13", "python": "3.11"})]
    records += [record(spec=trial_spec(trainer="torch_xla"), environment={"torch": "2.9", "python": "3.11"})]
    rows = dict(environment_table(records).rows)
    assert rows["torch"] == "2.13 (torch_ddp); 2.9 (torch_xla)"
    assert rows["python"] == "3.11"
    assert rows["cpu, as its driver says"] == "Some CPU"


def test_what_a_rehearsal_ran_on_is_not_told_as_the_device():
    assert "t4, as its driver says" not in dict(environment_table([rehearsed()]).rows)
