"""What is thought of the trials of a plan whose device is not at hand."""

from dataclasses import replace

import pytest
from plan_values import T4, TPU, held, here, planned, point
from price_values import price_list

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.price import Price, Unpriced
from orchestrator.plan.prices import Market, forecasts_repriced
from orchestrator.predict.defaults import default_models
from orchestrator.predict.forecasts import forecasts_of
from orchestrator.predict.shape import shape_of

GPU = replace(
    T4,
    peak_flops_per_second={"fp32": 8.1e12, "fp16": 6.5e13},
    memory_bytes_per_second=3.2e11,
    instances={1: "t4-box", 2: "2xt4-box"},
)


def market(**changes):
    devices = {each.name: each for each in (GPU, TPU)}
    return Market(devices=devices, prices=price_list(**changes), today="2026-09-22")


def forecasts(*points, **changes):
    return forecasts_of(planned(*points, **changes), market(), default_models())


def test_every_point_of_a_device_that_is_not_here_has_a_forecast_rehearsed_or_skipped():
    points = (point(), point(device=GPU), point(device=TPU, trainer="tensorflow", precision="bf16"))
    gpu, tpu = forecasts(*points)
    assert (gpu.trial.device, type(gpu.step), gpu.step.source) == (
        "t4",
        Estimate,
        "fitted to T4, g4dn.xlarge",
    )
    assert (tpu.trial.device, type(tpu.step), tpu.step.reason) == ("tpu_v3_8", Refusal, "no TPU was measured")
    assert forecasts(*points, missing_device="skip") == (gpu, tpu)


def test_what_is_here_or_runs_nowhere_or_trains_nothing_has_none():
    assert not forecasts(point(device=GPU), inventory=here(devices={"t4": held(1)}))
    assert not forecasts(point(device=GPU, precision="bf16"))
    plan = planned(point(device=GPU))
    idle = replace(plan.placements[0], trial=replace(plan.placements[0].trial, trainer="noop"))
    assert not forecasts_of(replace(plan, placements=(idle,)), market(), default_models())


def test_trials_that_differ_in_their_seed_are_one_forecast_and_others_are_not():
    seeds = [point(device=GPU, seed=each) for each in range(3)]
    (one,) = forecasts(*seeds)
    assert one.num_trials == 3
    assert len(forecasts(*seeds, point(device=GPU, steps=240), point(device=GPU, global_batch_size=32))) == 3


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
    assert shape_of(replace(one.trial, seed=7, repeat=2, steps=240)) == shape_of(one.trial)
    assert shape_of(replace(one.trial, **change)) != shape_of(one.trial)


def test_a_forecast_is_priced_as_what_would_be_rented_and_anew_when_that_is_asked():
    plan = planned(point(device=GPU, num_workers=2))
    plan = replace(plan, forecasts=forecasts_of(plan, market(), default_models()))
    (found,) = plan.forecasts
    assert isinstance(found.price, Price)
    assert (found.price.instance, found.price.usd_per_hour) == ("2xt4-box", 3.0)
    (spot,) = forecasts_repriced(plan, market(provisioning="spot")).forecasts
    assert spot.price.usd_per_hour == 1.0
    (without,) = forecasts_of(plan, market(rows={}, region=None), default_models())
    assert isinstance(without.price, Unpriced)
    elsewhere = replace(market(), devices={})
    assert forecasts_repriced(plan, elsewhere) == plan
