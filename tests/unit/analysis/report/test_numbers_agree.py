"""Every number of a setting on the page and in MLflow, worked out from the others."""

import re
from dataclasses import replace

import pytest
from builders import pursuit
from report_builders import PRICE, forecast, measured, plan_of

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.analysis.recommendation.time_to_target import compute_times_to_target
from orchestrator.analysis.report.settings_table import settings_table
from orchestrator.core.objective import Objective
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.extensions.mlflow_tracking.summary import summarise_sweep
from orchestrator.pipeline.tracking import logged
from orchestrator.record.tracking.units import in_tracked_units

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
    return collect_findings(records, plan_of(records, forecasts=[forecast()]))


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
        cells = dict(re.findall(r'class="number(?: plotted)? ([a-z-]+)" data-value="([^"]+)"', row))
        facts = dict(re.findall(r'data-(fixed|rate|price)="([^"]+)"', row))
        rows[setting] = ({key: float(value) for key, value in cells.items()}, facts)
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
        assert cells["rate"] == pytest.approx(one.samples_per_second.median) == pytest.approx(rate, rel=1e-5)
        assert cells["job-time"] == pytest.approx(fixed + JOB / rate, rel=1e-4)
        assert cells["job-usd"] == pytest.approx(cells["job-time"] * price, rel=1e-4)
        assert cells["usd"] == pytest.approx(1e6 * price / rate, rel=1e-4)


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
    found = in_tracked_units(collect_metrics(record))
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
    assert "epoch_seconds" not in collect_metrics(measured())
    whole = collect_metrics(measured(data="real:" + "1f2e3d4c5b6a7988" * 4))
    assert whole["epoch_seconds"] == pytest.approx(4000 / whole["steady_samples_per_second"])


def in_phases(step, *, repeat=0, pretraining=0.004, **changes):
    """A training whose first 200 of 300 steps take another time than the timed ones."""
    seconds = {"pretraining": 0.2 + 199 * pretraining, "fine_tuning": 100 * step}
    recorded = {"phase_seconds": seconds, "training_seconds": sum(seconds.values()), **changes}
    return measured(step_seconds=step, repeat=repeat, price=PRICE, recorded=recorded)


@pytest.fixture(scope="module")
def phased():
    """A setting of two trainings in phases."""
    records = [in_phases(step, repeat=repeat) for repeat, step in enumerate((0.011, 0.0125))]
    return records, collect_findings(records, plan_of(records))


def test_a_training_in_phases_has_the_rate_of_all_its_steps_everywhere(phased):
    records, findings = phased
    (one,), (standing,) = findings.measured, findings.recommendations[0].standings
    rate = one.samples_per_second.median
    assert standing.samples_per_second.median == pytest.approx(rate)
    assert one.step_seconds.median == pytest.approx(BATCH / rate)
    assert one.where_known["epoch_seconds"].median == pytest.approx(EPOCH / rate)
    assert standing.seconds.median == pytest.approx(standing.fixed_seconds + JOB / rate)
    assert one.usd_per_million_samples.median == pytest.approx(standing.usd_per_million_samples.median)
    assert one.usd_per_million_samples.median == pytest.approx(1e6 * standing.usd_per_second / rate)
    for each in records:
        found = in_tracked_units(collect_metrics(each))
        steps = found["time/training_seconds"] - found["time/first_step_ms"] / 1000
        assert found["time/step_ms"] == pytest.approx(1000 * steps / 299)
        assert found["time/samples_per_second"] == pytest.approx(1000 * BATCH / found["time/step_ms"])
        phases = found["time/phase_seconds.pretraining"] + found["time/phase_seconds.fine_tuning"]
        assert phases == pytest.approx(found["time/training_seconds"])
        assert found["time/last_phase_step_ms"] == pytest.approx(
            10 * found["time/phase_seconds.fine_tuning"], rel=1e-3
        )


def test_a_training_without_phases_has_no_step_of_a_last_phase(findings):
    assert "time/last_phase_step_ms" not in in_tracked_units(collect_metrics(measured()))
    assert all(one.timed_step_seconds == one.step_seconds for one in findings.measured)


def test_a_training_in_phases_that_was_resumed_counts_the_steps_of_all_attempts():
    whole = collect_metrics(in_phases(0.011))["steady_samples_per_second"]
    resumed = in_phases(
        0.011,
        phase_seconds={"pretraining": 0.0, "fine_tuning": 1.1},
        training_seconds=0.3 + 1.1 - 0.011,
        first_step_seconds=0.3,
        resumed_from_step=200,
        resumed_seconds=199 * 0.004,
    )
    found = collect_metrics(resumed)["steady_samples_per_second"]
    assert found == pytest.approx(whole, rel=0.02)


TARGET = TimingSpec(target=0.9, evaluate_every_steps=10)
WAYS = ((0.5, 0.95), (0.3, 0.5, 0.6, 0.93), (0.2, 0.5, 0.91))


def to_target(*qualities, seed, **recorded):
    """A training that looks at its quality every ten steps, a second apart."""
    found = {"pursuit": pursuit(*qualities), "launch_seconds": len(qualities), **recorded}
    return measured(timing=TARGET, price=PRICE, seed=seed, recorded=found)


@pytest.fixture(scope="module")
def chased():
    """A setting of three trainings to a target, and a noisy one."""
    records = [to_target(*way, seed=seed) for seed, way in enumerate(WAYS, start=1)]
    records.append(to_target(*(0.1,) * 12, 0.99, seed=9, **BUSY))
    return records, collect_findings(records, plan_of(records))


def test_the_time_to_a_target_is_launch_training_and_evaluations_everywhere(chased):
    records, findings = chased
    (one,), (way,) = findings.recommendations[0].standings, compute_times_to_target(records)
    launches = sorted(each.result.launch_seconds for each in records[:3])
    assert one.seconds.median == pytest.approx(
        launches[1] + way.seconds.median + way.evaluation_seconds.median
    )
    assert one.usd.median == pytest.approx(one.seconds.median * one.usd_per_second)
    assert way.steps.median / way.seconds.median == pytest.approx(10)  # of `pursuit`
    assert one.samples_per_second.median == pytest.approx(findings.measured[0].samples_per_second.median)


def test_a_trial_s_cost_to_its_target_in_mlflow_follows_from_its_times(chased):
    for each in chased[0]:
        found = in_tracked_units(collect_metrics(each))
        seconds = (
            found["time/launch_seconds"]
            + found["time/seconds_to_target"]
            + found["time/pursuit_evaluation_ms"] / 1000
        )
        assert found["cost/usd_to_target"] == pytest.approx(seconds * PRICE.usd_per_hour / 3600)


def test_the_best_of_a_sweep_in_mlflow_is_the_page_s_best_measured_setting(findings, answer):
    rows = [*logged(findings.records, findings.plan, Objective())]
    found = summarise_sweep(rows, planned=None)
    measured_ones = [one for one in answer.standings if one.provenance == "measured"]
    assert found["best/samples_per_second"] == pytest.approx(
        max(one.samples_per_second.median for one in measured_ones)
    )
    assert found["best/usd_per_million_samples"] == pytest.approx(
        min(one.usd_per_million_samples.median for one in measured_ones)
    )
    assert found["trials/measured"] == len(rows)
    assert found["cost/usd"] == pytest.approx(sum(metrics["cost/usd"] for _, metrics in rows))


def test_the_job_of_a_setting_s_only_trial_in_mlflow_is_that_of_the_page(findings, answer):
    (one,) = (each for each in answer.standings if each.factors["trainer"] == "torch_xla")
    (row,) = (
        metrics
        for each, metrics in logged(findings.records, findings.plan, Objective())
        if each.spec.trainer == "torch_xla"
    )
    assert row["time/job_seconds"] == pytest.approx(one.seconds.median)
    assert row["cost/job_usd"] == pytest.approx(one.usd.median)
    assert row["time/job_samples"] == JOB
