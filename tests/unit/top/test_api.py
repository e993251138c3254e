"""Notebook output of a plan and of a report; `tests/integration/report/test_api.py` runs it in a kernel."""

from dataclasses import replace

import pytest
from report_builders import forecast, hostile, plan_of, tpu_vs_gpu

from orchestrator import api
from orchestrator.analysis.findings import findings_of
from orchestrator.commands.sweep import PlanPreview
from orchestrator.core.budget import Budget, BudgetStatus, Spend
from orchestrator.core.objective import FASTEST
from orchestrator.core.placement import Plan, Skipped
from orchestrator.pipeline.report import write_report

UNCAPPED = BudgetStatus(budget=Budget(), spent=Spend())


def planned(plan, *, balance=UNCAPPED, **parts):
    return api.Planned(PlanPreview(plan=plan, prices=(), balance=balance, **{"downloads": (), **parts}))


def test_a_plan_tells_its_totals_and_what_a_run_would_download():
    one = planned(plan_of([]), downloads=("MNIST",), expected=("time and cost: likely 3 min",))
    assert repr(one) == (
        "to run: 0 to measure, 0 to rehearse; 0 cached, 0 skipped\ntime and cost: likely 3 min\n"
        "run would first try to download: MNIST"
    )


def test_a_budget_is_told_with_a_plan_and_what_remained_of_it_with_a_report(tmp_path):
    one = planned(plan_of([]), balance=BudgetStatus(budget=Budget(usd=5), spent=Spend()))
    assert repr(one).splitlines()[1].startswith("budget: $0 of $5 and 0 node-hours spent; ")
    written = write_report(tmp_path, *tpu_vs_gpu(), FASTEST)
    told = api.Report(replace(written, remarks=("budget: <all> of it",)))
    assert repr(told).splitlines()[-2] == "budget: <all> of it"
    assert "<p>budget: &lt;all&gt; of it</p>" in told._repr_html_()


def test_a_long_plan_is_cut_on_the_page_and_whole_as_a_frame():
    skipped = tuple(Skipped(point=f"point{index}", reason="") for index in range(101))
    one = planned(Plan(sweep="example", placements=(), cached=(), skipped=skipped))
    drawn = one._repr_html_()
    assert "point99<" in drawn
    assert "point100<" not in drawn
    assert "The first 100 of 101 rows; `points` has every one." in drawn
    assert len(one.points) == 101


def test_a_plan_shows_what_is_predicted_of_devices_that_are_not_here():
    drawn = planned(plan_of([], forecasts=[forecast(source="fitted to T4")]))._repr_html_()
    assert "<caption>Predicted</caption>" in drawn
    assert "fitted to T4" in drawn


def test_a_report_has_frames_sentences_and_its_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records, plan = tpu_vs_gpu()
    told = api.Report(write_report(tmp_path / "outputs/example", records, plan, FASTEST))
    assert len(told.results) == 34
    assert set(told.comparisons["kind"]) == {"baseline", "pair"}
    [advised] = told.recommendations.to_dict("records")
    [found] = findings_of(records, plan).recommendations
    assert (advised["state"], advised["setting"]) == (found.state, found.winner.setting)
    assert advised["seconds"] == found.winner.seconds.median
    assert advised["quality_metric"] == "accuracy"
    assert repr(told).splitlines() == [*told.headline, "report: outputs/example/report.html"]
    assert '<a href="outputs/example/report.html">' in told._repr_html_()


def test_nothing_of_a_hostile_record_is_markup_in_a_notebook(tmp_path):
    records, plan = hostile()
    told = api.Report(write_report(tmp_path, records, plan, FASTEST))
    assert "<img" not in told._repr_html_()
    assert "&lt;img" in told._repr_html_()


@pytest.mark.parametrize("word", ["report", "--all", "+sweep"])
def test_a_word_that_gives_no_key_a_value_is_refused(word):
    with pytest.raises(
        api.ConfigError, match=r"is not KEY=VALUE; commands and flags are for the command line$"
    ):
        api.plan(word)
