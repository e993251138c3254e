"""Own steps in made-up worlds: what a host and a device that differ teach, each of its own part."""

import math
from dataclasses import replace
from functools import cache
from statistics import fmean

import pytest
from shipped_devices import shipped_catalogue

from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.estimator import OwnStep, effects_given
from orchestrator.extensions.predictions.step_time.published_estimate import (
    build_published_estimate,
    estimate_by,
)
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.registry import cached_workload

MODELS = default_models()
CATALOGUE = shipped_catalogue()
LARGE = (("image_size", 224), ("num_classes", 1000))
SMALL_JOBS = (("lenet5", (), 32), ("mnist_cnn", (), 64), ("resnet18", (), 16), ("mobilenet_v2", (), 8))
LARGE_JOBS = (
    ("vgg16", LARGE, 64),
    ("resnet50", LARGE, 128),
    ("inception_v3", (("image_size", 299), ("num_classes", 1000)), 64),
    ("alexnet", LARGE, 256),
)


@cache
def basis(job, device="a10g", precision="fp32"):
    name, options, batch = job
    query = StepQuery(
        spec=cached_workload(name, dict(options)),
        device=CATALOGUE.devices[device],
        precision=precision,
        num_workers=1,
        global_batch_size=batch,
    )
    return build_published_estimate(query, MODELS)


def truth(job, *, device, host):
    """Compute the step of a world whose device and host take so many times what is predicted."""
    found = basis(job)
    effects = MODELS.effects.posterior(found.query.own_labels)
    parts = found.ordered.parts.times(
        device=device * math.exp(effects.device), host=host * math.exp(effects.host)
    )
    return parts.seconds


@cache
def effects_after(measured, *, device, host):
    own = [
        OwnStep(
            labels=basis(one).query.own_labels,
            parts=basis(one).ordered.parts,
            seconds=truth(one, device=device, host=host),
        )
        for one in measured
    ]
    return effects_given(MODELS.effects, own)


def error(job, measured, *, device, host):
    """Logarithm of the true over the predicted time, after such steps were measured."""
    asked = basis(job)
    effects = effects_after(measured, device=device, host=host)
    found = estimate_by(asked.query, asked.ordered, MODELS, effects=effects, refusal=None)
    assert found.step.holds(truth(job, device=device, host=host))
    return math.log(truth(job, device=device, host=host) / found.seconds)


def test_a_host_twice_as_slow_is_learned_from_one_small_step_and_leaves_large_ones():
    world = {"device": 1.0, "host": 2.0}
    small, *others = SMALL_JOBS
    before = fmean(abs(error(job, (), **world)) for job in others)
    after = fmean(abs(error(job, (small,), **world)) for job in others)
    assert before > 0.4
    assert after < before / 2
    assert max(abs(error(job, (small,), **world)) for job in LARGE_JOBS) < 0.06


def test_a_device_half_as_slow_again_is_learned_from_a_large_step_and_leaves_small_ones():
    world = {"device": 1.5, "host": 1.0}
    large, *others = LARGE_JOBS
    before = fmean(abs(error(job, (), **world)) for job in others)
    after = fmean(abs(error(job, (large,), **world)) for job in others)
    assert before > 0.35
    assert after < 0.7 * before, "networks differ on a device by more than devices do"
    assert max(abs(error(job, (large,), **world)) for job in SMALL_JOBS) < 0.15
    three = fmean(abs(error(job, LARGE_JOBS[:3], **world)) for job in LARGE_JOBS[3:])
    assert three < abs(error(LARGE_JOBS[3], (large,), **world)), "three tell more than one"


@pytest.mark.parametrize("world", [{"device": 1.5, "host": 2.0}, {"device": 1.5, "host": 0.5}])
def test_one_small_and_one_large_step_halve_the_errors_of_all_others(world):
    measured = (SMALL_JOBS[0], LARGE_JOBS[0])
    others = (*SMALL_JOBS[1:], *LARGE_JOBS[1:])
    before = fmean(abs(error(job, (), **world)) for job in others)
    after = fmean(abs(error(job, measured, **world)) for job in others)
    assert after < 0.6 * before


def test_own_steps_that_match_predictions_do_not_move_them():
    asked, measured = LARGE_JOBS[1], LARGE_JOBS[0]
    assert abs(error(asked, (measured,), device=1.0, host=1.0)) < 0.01


def test_steps_of_one_cpu_move_its_own_predictions_more_than_those_of_another():
    """Each is predicted from its own calibration; what networks and the user do is common."""

    def of_cpu(cpu, rate):
        figures = DeviceBenchmark(
            driver_name=cpu,
            layer_seconds={"fp32": 6e-5},
            step_seconds={"fp32": 1e-3},
            flops_per_second={"fp32": rate},
            memory_bytes_per_second=1e10,
        )
        query = replace(basis(LARGE_JOBS[1], device="cpu").query, calibration=figures, host_cpu=cpu)
        return build_published_estimate(query, MODELS)

    here, there = of_cpu("this x8", 5e11), of_cpu("that x8", 5e11)
    own = OwnStep(labels=here.query.own_labels, parts=here.ordered.parts, seconds=3.0 * here.seconds)
    effects = effects_given(MODELS.effects, [own])
    both = [
        estimate_by(one.query, one.ordered, MODELS, effects=effects, refusal=None) for one in (here, there)
    ]
    assert both[0].seconds / here.seconds > 1.5 * both[1].seconds / there.seconds
