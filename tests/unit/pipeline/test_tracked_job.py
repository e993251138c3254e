"""The job's time and cost at runs in MLflow, and settings that nobody measured as runs of their own."""

from dataclasses import replace

import pytest
from builders import pursuit
from report_builders import PRICE, forecast, measured, plan_of, rehearsed

from orchestrator.analysis.findings import collect_findings
from orchestrator.core.objective import Objective
from orchestrator.core.placement import FullTraining
from orchestrator.core.result import Failure
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.extensions.mlflow_tracking.predicted_run import build_predicted_params, build_predicted_tags
from orchestrator.pipeline.tracking import compute_tracked_metrics, list_predictions

BATCH, JOB = 64, 15 * 60_000
JOB_NAMES = {"time/job_samples", "time/job_seconds", "cost/job_usd"}


def tracked(record, *, plan=None, objective=None):
    return compute_tracked_metrics(record, plan or plan_of([record]), objective or Objective())


def test_a_trial_has_the_time_and_cost_of_the_job_which_follow_from_its_other_numbers():
    found = tracked(measured(price=PRICE))
    step = found["time/step_ms"] / 1000
    fixed = found["time/launch_seconds"] + found["time/first_step_ms"] / 1000 - step
    fixed += found["time/evaluation_ms"] / 1000
    assert found["time/job_samples"] == JOB
    assert found["time/job_seconds"] == pytest.approx(fixed + JOB / found["time/samples_per_second"])
    assert found["cost/job_usd"] == pytest.approx(found["time/job_seconds"] * PRICE.usd_per_hour / 3600)


def test_another_length_that_a_command_asks_for_is_that_of_the_job():
    found = tracked(measured(), objective=Objective(samples=6400))
    assert found["time/job_samples"] == 6400
    assert "cost/job_usd" not in found


def test_the_time_of_a_job_to_a_target_is_launch_training_and_evaluations():
    timing = TimingSpec(target=0.9, evaluate_every_steps=10)
    found = tracked(measured(price=PRICE, timing=timing, recorded={"pursuit": pursuit(0.5, 0.95)}))
    assert found["time/job_seconds"] == pytest.approx(
        found["time/launch_seconds"]
        + found["time/seconds_to_target"]
        + found["time/pursuit_evaluation_ms"] / 1000
    )
    assert found["cost/job_usd"] == pytest.approx(found["cost/usd_to_target"])
    assert "time/job_samples" not in found
    missed = tracked(measured(timing=timing, recorded={"pursuit": pursuit(0.5)}))
    assert not JOB_NAMES & missed.keys()


def test_a_job_of_unknown_length_a_rehearsal_and_a_failure_have_neither():
    undeclared = replace(plan_of([]), trainings={"mnist_cnn": FullTraining(epochs=None, train_samples=None)})
    failed = rehearsed(failure=Failure(kind="oom", message="killed"))
    found = [
        tracked(measured(), plan=undeclared),
        compute_tracked_metrics(measured(), None, Objective()),
        tracked(rehearsed()),
        tracked(failed),
    ]
    assert not any(JOB_NAMES & metrics.keys() for metrics in found)


def predicted_in(*forecasts, objective=None):
    records = [measured(price=PRICE)]
    plan = plan_of(records, forecasts=forecasts)
    findings = collect_findings(records, plan, objective or Objective())
    return list_predictions(findings), findings


def test_a_predicted_setting_has_numbers_that_follow_from_each_other_and_are_those_of_the_page():
    (one,), findings = predicted_in(forecast())
    standing = next(each for each in findings.recommendations[0].standings if each.provenance == "predicted")
    found, rate = one.metrics, one.metrics["time/samples_per_second"]
    assert (one.setting, one.provenance) == (standing.setting, "predicted")
    assert rate == pytest.approx(1000 * BATCH / found["time/step_ms"])
    assert found["time/step_ms_low"] < found["time/step_ms"] < found["time/step_ms_high"]
    assert found["time/job_seconds"] == pytest.approx(standing.fixed_seconds + JOB / rate)
    assert found["cost/job_usd"] == pytest.approx(found["time/job_seconds"] * PRICE.usd_per_hour / 3600)
    assert found["cost/usd_per_million_samples"] == pytest.approx(1e6 / rate * PRICE.usd_per_hour / 3600)
    tags = build_predicted_tags(one)
    assert (build_predicted_params(one)["device"], tags["outcome"]) == ("t4", "predicted")
    assert tags["provenance"] == "predicted"


def test_a_refused_setting_is_no_prediction_and_many_are_the_likeliest():
    refused, _ = predicted_in(forecast(step_seconds=None))
    assert refused == ()
    many, findings = predicted_in(*(forecast(global_batch_size=32 + size) for size in range(60)))
    chances = {one.setting: one.chance for one in findings.recommendations[0].standings}
    assert len(many) == 50
    left = chances.keys() - {one.setting for one in many}
    assert min(chances[one.setting] for one in many) >= max(
        chance for name, chance in chances.items() if name in left and not name.startswith("cpu")
    )
