"""Rates that others published: what is kept of them, what they say of each other, and the fits of all."""

import math
from pathlib import Path

import pytest
from fit_bundled_models import query_of
from imagenet_rates import RATES

from orchestrator.config.cluster import load_cluster
from orchestrator.core.estimate import Estimate
from orchestrator.predict.step_time.bundled_models import default_models
from orchestrator.predict.step_time.published_estimate import published_estimate_of, sum_of_parts
from orchestrator.predict.step_time.published_rates import PublishedStep, rated_of

MODELS = default_models()
_, CATALOGUE = load_cluster((), working_directory=Path.cwd())
CLASSIFIERS = tuple(step for step in MODELS.rated if step.family == "classifier")


def asked(rate):
    return query_of(rate, CATALOGUE.devices[rate.device])


def name_of(rate):
    return f"{rate.device} {rate.precision} {rate.workload}"


@pytest.mark.parametrize(
    ("rate", "kept"), tuple(zip(RATES, CLASSIFIERS, strict=True)), ids=[name_of(rate) for rate in RATES]
)
def test_what_is_kept_is_the_published_step_over_its_parts_on_that_device(rate, kept):
    seconds = rate.global_batch_size / rate.samples_per_second
    assert kept.log == pytest.approx(math.log(seconds / sum_of_parts(asked(rate), MODELS.any_gpu)))
    assert name_of(kept) == name_of(rate)


@pytest.mark.parametrize("workload", ["resnet50", "inception_v3", "vgg16"])
def test_the_fit_to_a_device_holds_rates_that_it_never_saw(workload):
    (rate,) = (rate for rate in RATES if name_of(rate) == f"v100 fp32 {workload}" and rate.num_workers == 1)
    step = published_estimate_of(asked(rate), MODELS).step
    assert isinstance(step, Estimate)
    assert step.source.startswith("fitted to V100")
    assert step.holds(rate.global_batch_size / rate.samples_per_second)


@pytest.mark.parametrize("kept", CLASSIFIERS, ids=name_of)
def test_the_interval_of_each_network_holds_by_the_others_alone(kept):
    kin = [step for step in CLASSIFIERS if (step.kind, step.precision) == (kept.kind, kept.precision)]
    others = [step for step in kin if step.workload != kept.workload] or [
        step for step in kin if step.device != kept.device
    ]
    prior = MODELS.prior
    found = rated_of(others, device=kept.device, between_devices=prior.device, workload=2 * prior.workload)
    assert abs(kept.log - found.learned.mean) < prior.quantile * found.learned.deviation


def rated(device, workload, log):
    return PublishedStep(
        device=device,
        kind="gpu",
        precision="fp16",
        family="classifier",
        workload=workload,
        log=log,
        source=f"{device} inc.",
    )


KNOWN = (
    rated("one", "vgg16", -1.0),
    rated("one", "vgg16", -0.6),
    rated("one", "resnet50", 0.0),
    rated("two", "resnet50", -0.2),
)


@pytest.mark.parametrize(
    ("device", "mean", "of_mean", "source"),
    [
        ("one", -0.4, 0.7 / math.sqrt(2), "vgg16, resnet50 in fp16 as published there (one inc.)"),
        ("two", -0.2, 0.7, "resnet50 in fp16 as published there (two inc.)"),
        (
            "new",
            (-0.8 - 0.1) / 2,
            math.hypot(0.7 / math.sqrt(2), 0.5 * math.sqrt(1.5)),
            "vgg16, resnet50 in fp16 as published for one, two",
        ),
    ],
)
def test_rates_of_the_very_device_come_first_and_each_network_counts_once(device, mean, of_mean, source):
    found = rated_of(KNOWN, device=device, between_devices=0.5, workload=0.7)
    assert found.source == f"rough: {source}"
    assert found.learned.mean == pytest.approx(mean)
    assert found.learned.of_mean == pytest.approx(of_mean)
    assert found.learned.of_one == 0.7


def test_without_rates_nothing_is_known():
    assert rated_of((), device="one", between_devices=0.5, workload=0.7) is None
