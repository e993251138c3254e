"""Predictions for a plan's trials on missing devices."""

from dataclasses import replace

import pytest
from builders import record
from plan_builders import T4, TPU, device, held, here, planned, point
from price_builders import price_list

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import Failure
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.estimator import build_bases, build_estimator
from orchestrator.extensions.predictions.step_time.own_records import step_key
from orchestrator.extensions.predictions.step_time.plan_forecasts import build_forecasts, predict_backtests
from orchestrator.plan.pricing import PriceBook, forecasts_repriced

GPU = replace(
    T4,
    peak_flops_per_second={"fp32": 8.1e12, "fp16": 6.5e13},
    memory_bytes_per_second=3.2e11,
    instances={1: "t4-box", 2: "2xt4-box"},
)

MODELS = default_models()
BASIS = build_bases({value.name: value for value in (GPU, TPU, device())}, MODELS)
ESTIMATE = build_estimator(BASIS, (), MODELS)


def price_book(**changes):
    devices = {value.name: value for value in (GPU, TPU)}
    return PriceBook(devices=devices, prices=price_list(**changes), today="2026-09-22")


def forecasts(*points, **changes):
    return build_forecasts(planned(*points, **changes), price_book(), ESTIMATE)


def test_every_point_of_a_device_that_is_not_here_has_a_forecast_rehearsed_or_skipped():
    points = (point(), point(device=GPU), point(device=TPU, trainer="tensorflow", precision="bf16"))
    gpu, tpu = forecasts(*points)
    assert (gpu.trial.device, type(gpu.step), gpu.step.source) == (
        "t4",
        Estimate,
        "other networks on this device in fp32 (PROFET)",
    )
    assert (tpu.trial.device, type(tpu.step)) == ("tpu_v3_8", Refusal)
    assert tpu.step.reason == "the peaks of tpu_v3_8 are unknown"
    assert forecasts(*points, missing_device="skip") == (gpu, tpu)


def test_a_point_that_is_here_impossible_or_without_training_has_no_forecast():
    assert not forecasts(point(device=GPU), inventory=here(devices={"t4": held(1)}))
    assert not forecasts(point(device=GPU, precision="bf16"))
    plan = planned(point(device=GPU))
    idle = replace(plan.placements[0], trial=replace(plan.placements[0].trial, trainer="noop"))
    assert not build_forecasts(replace(plan, placements=(idle,)), price_book(), ESTIMATE)


def test_trials_that_differ_in_their_seed_are_one_forecast_and_others_are_not():
    seeds = [point(device=GPU, seed=index) for index in range(3)]
    (one,) = forecasts(*seeds)
    assert one.num_trials == 3
    assert len(forecasts(*seeds, point(device=GPU, steps=240), point(device=GPU, global_batch_size=32))) == 3


def test_trials_with_a_target_are_another_forecast_and_phases_are_counted():
    targeted = point(device=GPU, timing=TimingSpec(max_blocks=6, target=0.9))
    assert len(forecasts(point(device=GPU), targeted)) == 2
    found = forecasts(point(device=GPU), point(device=GPU, workload="mnist_dbn", steps=400))
    assert [item.num_phases for item in found] == [1, 3]


@pytest.mark.parametrize(
    "change",
    [
        {"data": "real:1"},
        {"workload_version": 99},
        {"workload_options": {"dense_units": 64}},
        {"trainer_options": {"compile": "on"}},
        {"global_batch_size": 32},
        {"host_cpu": "Other x1"},
    ],
)
def test_a_step_on_other_data_of_other_code_or_of_another_size_is_another_one(change):
    (one,) = planned(point()).placements
    assert step_key(replace(one.trial, seed=7, repeat=2, steps=240)) == step_key(one.trial)
    assert step_key(replace(one.trial, **change)) != step_key(one.trial)


def test_what_was_measured_has_a_hindcast_for_each_point_and_what_would_be_refused_has_none():
    there = here(devices={"t4": held(2)})
    points = (point(device=GPU), point(device=GPU, seed=1), point(device=GPU, precision="bf16"), point())
    plan = planned(*points, repeats=2, inventory=there)
    records = [record(placement=item) for item in plan.placements]
    first, second, *_ = (placement.trial_id for placement in plan.placements if not placement.trial.repeat)
    found = predict_backtests(plan, records, ESTIMATE)
    assert set(found) == {first, second}
    assert found[first] == forecasts(point(device=GPU))[0].step
    assert set(predict_backtests(plan, records[:1], ESTIMATE)) == {first}


def test_a_failure_or_a_rehearsal_or_a_trial_of_another_plan_has_no_hindcast():
    (placed,) = planned(point(device=GPU), inventory=here(devices={"t4": held(1)})).placements
    plan = Plan(sweep="example", placements=(placed,), cached=(), skipped=())
    failed = record(placement=placed, failure=Failure(kind="oom", message="too large"))
    rehearsed = record(placement=replace(placed, provenance="rehearsed"))
    idle = record(placement=replace(placed, trains=False))
    assert not predict_backtests(plan, [failed, rehearsed, idle], ESTIMATE)
    assert not predict_backtests(replace(plan, placements=()), [record(placement=placed)], ESTIMATE)


def test_a_forecast_is_priced_as_what_would_be_rented_and_anew_when_that_is_asked():
    plan = planned(point(device=GPU, num_workers=2))
    plan = replace(plan, forecasts=build_forecasts(plan, price_book(), ESTIMATE))
    (found,) = plan.forecasts
    assert isinstance(found.price, Price)
    assert (found.price.instance, found.price.usd_per_hour) == ("2xt4-box", 3.0)
    (spot,) = forecasts_repriced(plan, price_book(provisioning="spot")).forecasts
    assert spot.price.usd_per_hour == 1.0
    (without,) = build_forecasts(plan, price_book(rows={}, region=None), ESTIMATE)
    assert isinstance(without.price, Unpriced)
    elsewhere = replace(price_book(), devices={})
    assert forecasts_repriced(plan, elsewhere) == plan
