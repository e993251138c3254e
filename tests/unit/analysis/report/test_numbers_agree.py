"""Every number of a setting on the page and in MLflow, worked out from the others."""

import re
from dataclasses import replace

import pytest
from report_builders import PRICE, forecast, measured, plan_of

from orchestrator.analysis.findings import findings_of
from orchestrator.analysis.metrics.definitions import metrics_of
from orchestrator.analysis.metrics.units import in_tracked_units
from orchestrator.analysis.report.settings_table import settings_table

BATCH, EPOCH, JOB = 64, 60_000, 15 * 60_000
STEPS = {"torch_ddp": (0.011, 0.012, 0.0145, 0.0115), "tensorflow": (0.014, 0.0152), "torch_xla": (0.024,)}
LAUNCH = (0.6, 9.0, 1.0, 2.0)
BUSY = {"load_average": (9.0, 9.0)}


@pytest.fixture(scope="module")
def findings():
    """Settings with one, two and four repeats that decide, a noisy one, an outlier, and a prediction."""
    records = [
        measured(trainer, repeat=index, step_seconds=step, price=PRICE, recorded={"launch_seconds": launch})
        for trainer, steps in STEPS.items()
        for index, (step, launch) in enumerate(zip(steps, LAUNCH, strict=False))
    ]
    records += [
        measured("torch_ddp", repeat=8, step_seconds=0.05, price=PRICE, recorded=BUSY),
        measured("torch_ddp", repeat=9, step_seconds=0.3, price=PRICE),
    ]
    return findings_of(records, plan_of(records, forecasts=[forecast()]))


@pytest.fixture(scope="module")
def answer(findings):
    (only,) = findings.recommendations
    assert only.samples == JOB
    assert only.epoch_samples == EPOCH
    return only


@pytest.fixture(scope="module")
def page(answer):
    """Setting -> (numbers of its row on the page, numbers that its script computes with)."""
    names = {one.setting: f"row-{index}" for index, one in enumerate(answer.standings)}
    markup = settings_table(answer, names, named_by="title")
    rows = {}
    for setting, name in names.items():
        row = re.search(rf'<tr id="{name}".*?</tr>', markup, flags=re.DOTALL).group()
        cells = dict(re.findall(r'data-header="([^"]+)" data-value="([^"]+)"', row))
        facts = dict(re.findall(r'data-(fixed|rate|price)="([^"]+)"', row))
        rows[setting] = ({key: float(value) for key, value in cells.items() if key != "setting"}, facts)
    return rows


def test_time_and_cost_of_the_job_follow_from_rate_set_up_and_price(answer):
    for one in answer.standings:
        rate = one.samples_per_second.median
        assert rate * one.likely == pytest.approx(BATCH)
        assert one.seconds.median == pytest.approx(one.fixed_seconds + JOB / rate)
        assert one.seconds.low <= one.seconds.median <= one.seconds.high
        assert one.usd.median == pytest.approx(one.seconds.median * one.usd_per_second)
        assert one.usd_per_million_samples.median == pytest.approx(1e6 * one.usd_per_second / rate)


def test_the_page_shows_these_numbers_and_gives_its_script_the_same(answer, page):
    for one in answer.standings:
        cells, facts = page[one.setting]
        fixed, rate, price = (float(facts[name]) for name in ("fixed", "rate", "price"))
        assert cells["samples/s"] == one.samples_per_second.median == pytest.approx(rate, rel=1e-5)
        assert cells["time of the job"] == pytest.approx(fixed + JOB / rate, rel=1e-4)
        assert cells["$ of the job"] == pytest.approx(cells["time of the job"] * price, rel=1e-4)
        assert cells["$/M samples"] == pytest.approx(1e6 * price / rate, rel=1e-4)


def test_measurements_and_the_recommendation_have_one_rate_cost_and_epoch(findings, answer):
    standings = {one.factors["trainer"]: one for one in answer.standings if one.provenance == "measured"}
    assert set(standings) == set(STEPS)
    for one in findings.measured:
        standing, rate = standings[one.setting.trainer], one.samples_per_second.median
        assert rate == pytest.approx(standing.samples_per_second.median)
        assert one.step_seconds.median == pytest.approx(BATCH / rate)
        assert one.where_known["epoch_seconds"].median == pytest.approx(EPOCH / rate)
        assert one.usd_per_million_samples.median == pytest.approx(standing.usd_per_million_samples.median)
        assert 15 * one.where_known["epoch_seconds"].median == pytest.approx(
            standing.seconds.median - standing.fixed_seconds
        )
        assert one.num_deciding == len(standing.rates) == len(STEPS[one.setting.trainer])


def test_ratios_are_those_of_the_rates(findings):
    rates = {one.setting.trainer: one.samples_per_second.median for one in findings.measured}
    for comparison in (one for group in findings.compared for one in group):
        ratio = rates[comparison.first] / rates[comparison.second]
        assert comparison.ratio.median == pytest.approx(ratio)


def test_metrics_of_a_trial_in_mlflow_follow_from_each_other():
    record = replace(measured(price=PRICE, recorded={"energy_joules": {"host": 50.0}}), epoch_samples=EPOCH)
    found = in_tracked_units(metrics_of(record))
    rate = found["time/samples_per_second"]
    assert found["time/step_ms"] == pytest.approx(1000 * BATCH / rate)
    assert found["time/epoch_seconds"] == pytest.approx(EPOCH / rate)
    assert found["cost/usd_per_million_samples"] == pytest.approx(1e6 / rate * PRICE.usd_per_hour / 3600)
    timed = 10 * BATCH * len(record.result.block_seconds[0])
    assert found["cost/host_millijoules_per_sample"] == pytest.approx(
        1000 * found["cost/host_joules"] / timed
    )
    billed = found["cost/billed_node_seconds"] * PRICE.usd_per_hour / 3600
    assert found["cost/usd"] == pytest.approx(billed)


def test_an_epoch_of_a_stand_in_is_no_epoch_of_the_job():
    assert "epoch_seconds" not in metrics_of(measured())
    whole = metrics_of(measured(data="real:" + "1f2e3d4c5b6a7988" * 4))
    assert whole["epoch_seconds"] == pytest.approx(4000 / whole["steady_samples_per_second"])
