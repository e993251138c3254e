"""Notebook output of a plan and of a report; `tests/integration/report/test_api.py` runs it in a kernel."""

from dataclasses import replace

import pytest
from report_builders import forecast, hostile, plan_of, tpu_vs_gpu

from orchestrator import api
from orchestrator.analysis.findings import collect_findings
from orchestrator.commands.sweep import PlanPreview
from orchestrator.core.budget import Budget, BudgetStatus, Spend
from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import FASTEST
from orchestrator.core.placement import Plan, Skipped
from orchestrator.pipeline.report import write_report
from orchestrator.plan.machine_state import Check, Diagnosis, HostState, TrainerState

UNCAPPED = BudgetStatus(budget=Budget(), spent=Spend())


def planned(plan, *, balance=UNCAPPED, **parts):
    return api.Planned(PlanPreview(plan=plan, prices=(), balance=balance, **{"downloads": (), **parts}))


def test_a_plan_shows_its_totals_and_the_downloads_of_a_run():
    one = planned(plan_of([]), downloads=("MNIST",), expected=("time and cost: likely 3 min",))
    assert repr(one) == (
        "to run: 0 to measure, 0 to rehearse; 0 cached, 0 skipped\ntime and cost: likely 3 min\n"
        "run would first try to download: MNIST"
    )


def test_a_budget_is_shown_with_a_plan_and_what_remained_of_it_with_a_report(tmp_path):
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
    [found] = collect_findings(records, plan).recommendations
    assert (advised["state"], advised["setting"]) == (found.state, found.winner.setting)
    assert advised["seconds"] == found.winner.seconds.median
    assert advised["quality_metric"] == "accuracy"
    assert repr(told).splitlines() == [*told.headline, "report: outputs/example/report.html"]
    assert '<a href="outputs/example/report.html">' in told._repr_html_()


def test_the_headline_of_a_report_is_shown_one_sentence_a_line(tmp_path):
    headline = api.Report(write_report(tmp_path, *tpu_vs_gpu(), FASTEST)).headline
    assert repr(headline) == "\n".join(headline)
    assert len(repr(headline).splitlines()) == len(headline) > 1


def test_predictions_are_a_frame_with_their_provenance_and_the_whole_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = api.predict("workload=mnist_cnn", "device=t4,h100", "report.samples=1000000", "predict.sort=cost")
    frame = told.results
    assert list(frame["device"]) == ["t4", "h100"]
    assert set(frame["provenance"]) == {"predicted"}
    assert list(frame["job_seconds"]) == pytest.approx(list(frame["step_seconds"] * 1_000_000 / 64))
    assert list(frame["job_usd"]) == pytest.approx(list(frame["usd_per_million_samples"]))
    assert "Your job (1,000,000 samples) on " in repr(told)
    assert "<caption>Predicted</caption>" in told._repr_html_()


def test_a_refused_prediction_has_its_reason_and_no_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [one] = api.predict("workload=resnet50", "device=cpu", "num_workers=2").results.to_dict("records")
    assert one["provenance"] == "refused"
    assert one["refusal"]
    assert one["step_seconds"] is None


def test_advice_is_a_frame_of_settings_and_sentences(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("workload=mnist_cnn", "device=t4,h100", "data.source=standin")
    told = api.advise(*words, "trainer=torch_ddp")
    assert set(told.settings["provenance"]) == {"predicted"}
    assert told.settings["chance"].iloc[0] == told.settings["chance"].max()
    [answer] = told.recommendations.to_dict("records")
    assert (answer["state"], answer["setting"]) == ("not settled", told.settings["setting"].iloc[0])
    assert "Not settled, for mnist_cnn" in repr(told)
    with pytest.raises(ConfigError, match=r"^confidence=2 must be a number between 0 and 1$"):
        api.advise(*words, confidence=2)


def test_the_health_of_a_machine_is_a_frame_of_trainers_and_checks():
    host = HostState(
        hostname="h",
        platform="p",
        python="3.11",
        cpu_model="c",
        cores=2,
        load=0.0,
        memory_available_bytes=1e9,
        memory_total_bytes=2e9,
    )
    trainer = {"python": "python", "versions": {}, "builds": {}}
    trainers = (
        TrainerState(name="torch_ddp", missing=None, devices={"cpu": "", "t4": "no driver"}, **trainer),
        TrainerState(name="torch_xla", missing="not installed", **trainer),
    )
    checks = (Check(status="missing", message="<b>"),)
    told = api.Health(Diagnosis(host=host, trainers=trainers, places=(), services=(), checks=checks))
    assert told.trainers[["trainer", "device", "can_train", "reason"]].values.tolist() == [
        ["torch_ddp", "cpu", True, ""],
        ["torch_ddp", "t4", False, "no driver"],
        ["torch_xla", "", False, "not installed"],
    ]
    assert told.checks.values.tolist() == [["missing", "<b>"]]
    assert not told.is_ready
    assert "missing: &lt;b&gt;" in told._repr_html_()


def test_no_text_of_a_hostile_record_is_markup_in_a_notebook(tmp_path):
    records, plan = hostile()
    told = api.Report(write_report(tmp_path, records, plan, FASTEST))
    assert "<img" not in told._repr_html_()
    assert "&lt;img" in told._repr_html_()


@pytest.mark.parametrize("word", ["report", "--all", "+sweep"])
def test_a_word_that_gives_no_key_a_value_is_refused(word):
    with pytest.raises(ConfigError, match=r"is not KEY=VALUE; commands and flags are for the command line$"):
        api.plan(word)
