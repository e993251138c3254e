"""The page: whole without the net, inert whatever a record holds, the same for the same records."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from builders import record, trial_spec
from report_builders import HOSTILE, forecast, hostile, measured, plan_of, rehearsed, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.recommendation.answer.summary import title_words
from orchestrator.analysis.report.drawings import Drawings
from orchestrator.analysis.report.figures import build_figures
from orchestrator.analysis.report.method import environment_table
from orchestrator.analysis.report.page import drawings_wanted, render

OURS = {"html", "head", "meta", "title", "style", "body", "script", "section", "div", "p", "ul", "li"}
OURS |= {"h1", "h2", "h3", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "dl", "dt", "dd"}
OURS |= {"a", "b", "span", "small", "header", "footer", "main", "nav", "figure", "figcaption", "pre", "code"}
OURS |= {"label", "input", "select", "option", "details", "summary"}
OURS |= {"svg", "g", "path", "line", "circle", "text"}
FILES = {"results.csv", "comparisons.csv", "report.md", "plan.json"}


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


def page_of(case):
    records, plan = case()
    return render(sweep="example", findings=collect_findings(records, plan))


@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile])
def test_a_page_with_the_drawings_of_its_former_version_is_the_same(case, monkeypatch):
    records, plan = case()
    first = render(sweep="example", findings=collect_findings(records, plan))
    monkeypatch.setattr("orchestrator.analysis.report.drawings.vega_svg", None)  # nothing is drawn
    assert (
        render(sweep="example", findings=collect_findings(records, plan), drawings=Drawings(first)) == first
    )


def test_a_page_with_figures_drawn_by_another_process_is_the_same(monkeypatch):
    records, plan = tpu_vs_gpu()
    findings = collect_findings(records, plan)
    here = render(sweep="example", findings=findings)
    figures = build_figures(findings)
    monkeypatch.setattr("orchestrator.analysis.report.drawings.vega_svg", None)  # nothing is drawn here
    with Drawings() as drawings:
        drawings.begin(drawings_wanted(figures))
        assert render(sweep="example", findings=findings, figures=figures, drawings=drawings) == here


@pytest.mark.parametrize("program", ["false", "no such program"])
def test_figures_are_drawn_here_where_another_process_fails_or_cannot_start(program, monkeypatch):
    records, plan = tpu_vs_gpu()
    findings = collect_findings(records, plan)
    monkeypatch.setattr("sys.executable", program)
    with Drawings() as drawings:
        drawings.begin(drawings_wanted(build_figures(findings)))
        page = render(sweep="example", findings=findings, drawings=drawings)
    assert page == render(sweep="example", findings=findings)


def test_what_shows_something_else_is_drawn_again():
    records, plan = tpu_vs_gpu()
    former = render(sweep="example", findings=collect_findings(records, plan))
    fewer = collect_findings(records[:-1], plan_of(records[:-1]))
    assert render(sweep="example", findings=fewer, drawings=Drawings(former)) == render(
        sweep="example", findings=fewer
    )


@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile])
def test_the_page_holds_only_elements_of_ours(case):
    page = Page(page_of(case))
    assert {tag for tag, _ in page.elements} <= OURS
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_an_attack_is_shown_as_text():
    page = Page(page_of(hostile))
    cells = [words for words in page.text if HOSTILE in words]
    assert len(cells) > 10


def test_an_attack_inside_a_figure_is_a_text_of_it():
    page = page_of(hostile)
    figures = page[page.index("<figure") : page.rindex("</figure>")]
    assert "&lt;/script&gt;&lt;img src=x" in figures
    assert "<img" not in page


def test_the_page_refers_only_to_itself_and_its_files():
    page = Page(page_of(tpu_vs_gpu))
    named = {attributes.get("id") for _, attributes in page.elements}
    links = [attributes["href"] for _, attributes in page.elements if "href" in attributes]
    assert len(links) > 10
    own = [link for link in links if not (link[:1] == "#" and link[1:] in named)]
    assert {link for link in own if not link.startswith("logs/")} == FILES
    assert not [attributes for _, attributes in page.elements if "src" in attributes]
    assert "url(" not in page_of(tpu_vs_gpu)


def test_every_mark_of_a_figure_names_a_row_of_the_page():
    page = Page(page_of(tpu_vs_gpu))
    rows = {attributes.get("id") for tag, attributes in page.elements if tag == "tr"}
    marks = [attributes["data-row"] for _, attributes in page.elements if "data-row" in attributes]
    assert len(marks) > 6
    assert set(marks) <= rows


def test_figures_with_titles_that_differ_only_in_signs_have_ids_of_their_own():
    records = [measured(workload=value) for value in ("<a>", "'a'", HOSTILE)]
    page = Page(render(sweep="example", findings=collect_findings(records, plan_of(records))))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z0-9:-]+", id_) for id_ in ids)
    assert {
        "figure:training-loss-a-stand-in-1f2e3d4c-data",
        "figure:training-loss-a-stand-in-1f2e3d4c-data-2",
    } <= set(ids)


def test_the_page_may_run_only_its_own_script():
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page_of(tpu_vs_gpu))[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 1
    assert "unsafe-inline" not in policy.split("style-src")[0]


def many_settings(count):
    return [
        measured(trainer_options={"index": str(index)}, step_seconds=0.01 + index * 1e-4)
        for index in range(count)
    ]


def test_a_page_of_many_settings_lists_all_and_its_figures_name_what_they_leave_out():
    records = many_settings(70)
    page = Page(render(sweep="example", findings=collect_findings(records, plan_of(records))))
    rows = [attributes for tag, attributes in page.elements if tag == "tr" and "id" in attributes]
    assert len(rows) == 70
    assert any(" It shows 20 of 70 settings, those that took longest." in words for words in page.text)
    assert any(" It shows 6 of 70 groups of settings, the first." in words for words in page.text)


@pytest.mark.parametrize("seconds", [5e-324, 1e300])
def test_a_record_of_impossible_times_does_not_hide_the_others(seconds):
    records = [measured(), measured("torch_xla", recorded={"block_seconds": ((seconds,) * 15,)})]
    page = render(sweep="example", findings=collect_findings(records, plan_of(records)))
    assert "5,818 samples/s" in page
    assert ("no clock can have shown the times of its blocks" in page) == (seconds < 1)


def test_a_page_is_small():
    records = many_settings(32)
    page = render(sweep="example", findings=collect_findings(records, plan_of(records)))
    assert len(page.encode()) < 600_000


def test_a_sweep_without_measurements_has_a_small_page():
    records = [rehearsed()]
    page = render(sweep="example", findings=collect_findings(records, plan_of(records)))
    assert page.count("<script") == 1
    assert len(page) < 40_000


def test_an_empty_sweep_is_a_page_too_and_shows_what_to_do():
    page = render(sweep="example", findings=collect_findings([], plan_of([])))
    assert "example: nothing is measured or predicted yet." in "".join(Page(page).text)
    assert "python -m orchestrator +sweep=example" in page


def test_a_figure_without_scripts_is_drawn_and_has_a_text_alternative():
    page = Page(page_of(tpu_vs_gpu))
    figures = [attributes for _, attributes in page.elements if attributes.get("role") == "img"]
    told = [attributes["aria-label"] for attributes in figures]
    assert any(words.startswith("Timeline of 35 attempts on 1 node.") for words in told)
    assert "<noscript" not in page_of(tpu_vs_gpu)


def test_the_head_names_the_command_the_version_and_the_files():
    records, plan = tpu_vs_gpu()
    planned = replace(plan, words=("+sweep=example", "outputs=my results"))
    page = render(sweep="example", findings=collect_findings(records, planned), version="1.2.3")
    words = "".join(Page(page).text)
    assert "python -m orchestrator +sweep=example 'outputs=my results'" in words
    assert "orchestrator 1.2.3" in words
    assert all(f'href="{name}"' in page for name in FILES)


def test_a_stand_in_is_named_plainly():
    assert "The data is a declared stand-in" in page_of(tpu_vs_gpu)


def test_a_version_that_differs_between_trainers_names_its_trainer():
    records = [record(environment={"torch": "2.13", "python": "3.11"})]
    records += [record(spec=trial_spec(trainer="torch_xla"), environment={"torch": "2.9", "python": "3.11"})]
    rows = dict(environment_table(records).rows)
    assert rows["torch"] == "2.13 (torch_ddp); 2.9 (torch_xla)"
    assert rows["python"] == "3.11"
    assert rows["cpu, as its driver says"] == "Some CPU"


def test_the_hardware_of_a_rehearsal_is_not_shown_as_the_device():
    assert "t4, as its driver says" not in dict(environment_table([rehearsed()]).rows)


def test_the_title_of_noisy_trials_names_measurements_that_decide_no_answer():
    noisy = [measured(repeat=index, recorded={"load_average": (9.0, 9.0)}) for index in range(3)]
    forecasts = [forecast(device="t4", step_seconds=0.001)]
    findings = collect_findings(noisy, plan_of(noisy, forecasts=forecasts))
    assert title_words(findings.recommendations[0]).startswith("No measurement decides for mnist_cnn; t4")
