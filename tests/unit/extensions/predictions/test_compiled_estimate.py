"""Estimates from what a TPU's compiler told, and their place among the others."""

from dataclasses import replace

import pytest
from builders import record, train_result
from plan_builders import TPU, device, planned, point
from price_builders import price_list

from orchestrator.core.estimate import CompiledStep, Estimate, NotCompiled, Refusal
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.compiled_estimate import (
    COMPILED_FACTOR,
    compiled_estimate,
    estimates_from,
)
from orchestrator.extensions.predictions.step_time.estimator import build_bases, build_estimator
from orchestrator.extensions.predictions.step_time.own_records import step_measurements
from orchestrator.extensions.predictions.step_time.plan_forecasts import build_forecasts
from orchestrator.extensions.predictions.step_time.step_priors import predict_step_priors
from orchestrator.plan.memory import memory_key
from orchestrator.plan.pricing import PriceBook

STEP = CompiledStep(
    device_seconds=0.1,
    unpriced_seconds=0.01,
    link_seconds=0.002,
    host_seconds=0.02,
    compiler="libtpu 0.0.52",
)
V3 = replace(
    TPU,
    peak_flops_per_second={"bf16": 4.9e14},
    memory_bytes_per_second=3.6e12,
    link_bytes_per_second=3.28e11,
)
POINT = point(trainer="tensorflow", device=V3, precision="bf16")
MODELS = default_models()
DEVICES = {value.name: value for value in (V3, device())}
BASIS = build_bases(DEVICES, MODELS)


def test_a_step_takes_as_long_as_the_slower_of_device_and_host():
    assert STEP.seconds == pytest.approx(0.112)
    assert not STEP.is_host_bound
    waiting = replace(STEP, host_seconds=0.3)
    assert waiting.seconds == 0.3
    assert waiting.is_host_bound
    assert replace(STEP, host_seconds=None).seconds == pytest.approx(0.112)


def test_an_estimate_shows_that_it_is_compiled_and_what_it_is_made_of():
    estimate = compiled_estimate(STEP)
    assert estimate.provenance == "compiled"
    assert (estimate.low, estimate.high) == (
        pytest.approx(0.112 / COMPILED_FACTOR),
        pytest.approx(0.112 * COMPILED_FACTOR),
    )
    assert estimate.source == "compiled, libtpu 0.0.52: cycles 100 ms, memory alone 10 ms, links 2 ms"


def test_a_host_that_is_nearly_as_slow_widens_the_interval_upwards_alone():
    estimate = compiled_estimate(replace(STEP, host_seconds=0.1))
    assert estimate.likely == pytest.approx(0.112)
    assert estimate.low == pytest.approx(0.112 / COMPILED_FACTOR)
    assert estimate.high == pytest.approx(0.3)


def test_a_step_that_waits_for_the_host_shows_it():
    estimate = compiled_estimate(replace(STEP, host_seconds=0.3))
    assert estimate.likely == 0.3
    assert estimate.low == pytest.approx(0.1)
    assert "the device waits for the host, 300 ms on this one" in estimate.source
    assert "the host's part is not known" in compiled_estimate(replace(STEP, host_seconds=None)).source


def steps(told: CompiledStep | NotCompiled):
    (placed,) = planned(POINT).placements
    return {memory_key(placed.trial): told}


def forecast(told: CompiledStep | NotCompiled, own=()):
    estimate = build_estimator(BASIS, own, MODELS, estimates_from(steps(told)))
    book = PriceBook(devices=DEVICES, prices=price_list(), today="2026-09-22")
    (found,) = build_forecasts(planned(POINT), book, estimate)
    return found.step


def test_a_compiled_step_precedes_published_data_and_a_refusal_leaves_them():
    assert forecast(STEP) == compiled_estimate(STEP)
    published = forecast(NotCompiled(reason="no compiler"))
    assert not isinstance(published, Refusal)
    assert published.provenance == "predicted"


def test_own_records_of_the_very_step_come_before_the_compiler():
    (placed,) = planned(POINT).placements
    measured = record(spec=placed.trial, result=train_result(block_seconds=((0.5,) * 6,)))
    found = forecast(STEP, step_measurements([measured], devices=DEVICES))
    assert isinstance(found, Estimate)
    assert found.provenance == "predicted"
    assert found.source.startswith("own records of this very step")


def test_a_prior_keeps_the_provenance_of_its_estimate():
    plan = planned(POINT)
    (prior,) = predict_step_priors(plan, BASIS, (), MODELS, estimates_from(steps(STEP))).values()
    assert prior.provenance == "compiled"
    (other,) = predict_step_priors(plan, BASIS, (), MODELS, estimates_from({})).values()
    assert other.provenance == "predicted"
    assert prior.device**2 + prior.network**2 < other.device**2 + other.network**2
