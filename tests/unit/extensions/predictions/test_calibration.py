"""A machine of one's own, measured by a micro-benchmark: what its figures are worth, by replay."""

import csv
import math
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean

import pytest
from laboratory_rates import laboratory_devices, laboratory_rates
from published_steps import PROJECT, build_query, project_steps
from shipped_devices import shipped_catalogue

from orchestrator.core import codec
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.step_time.analytic import LAUNCH_SECONDS
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.estimator import OwnStep, effects_given
from orchestrator.extensions.predictions.step_time.published_estimate import (
    build_published_estimate,
    estimate_by,
)
from orchestrator.extensions.predictions.step_time.step_query import (
    COPY_OF_PEAK,
    PRODUCT_OF_PEAK,
    SMALL_LAYERS_OF_A_LAYER,
    StepQuery,
)
from workloads.registry import cached_workload

MODELS = default_models()
CATALOGUE = shipped_catalogue()
L4 = CATALOGUE.devices["l4"]
SLOWED, STARVED = 0.4, 3.0
"""A card that keeps so much of its rates, on a host that launches so many times as slowly."""

JOBS = (
    ("mnist_cnn", (), 64),
    ("lenet5", (), 32),
    ("resnet18", (), 32),
    ("resnet50", (("image_size", 224), ("num_classes", 1000)), 64),
    ("vgg16", (("image_size", 224), ("num_classes", 1000)), 64),
    ("mobilenet_v2", (("image_size", 224), ("num_classes", 1000)), 64),
)
LAYER_SECONDS = MODELS.parts.coefficients[3] * LAUNCH_SECONDS / SMALL_LAYERS_OF_A_LAYER
"""Seconds of a small layer of the benchmark on the host that the bundled models assume."""

FIGURES = DeviceBenchmark(
    driver_name="made up",
    layer_seconds={"fp32": STARVED * LAYER_SECONDS},
    flops_per_second={"fp32": SLOWED * PRODUCT_OF_PEAK * L4.peak_flops_per_second["fp32"]},
    memory_bytes_per_second=SLOWED * COPY_OF_PEAK * L4.memory_bytes_per_second,
)


def query(name, options, batch, *, device=L4, calibration=None, num_workers=1):
    return StepQuery(
        spec=cached_workload(name, dict(options)),
        device=device,
        precision="fp32",
        num_workers=num_workers,
        global_batch_size=batch,
        calibration=calibration,
    )


def estimate(*job, **changes):
    step = build_published_estimate(query(*job, **changes), MODELS).step
    assert isinstance(step, Estimate)
    return step


def true_seconds(*job):
    """Compute the step of a machine that differs in its rates alone: by the parts, without any effects."""
    slow = replace(
        L4,
        peak_flops_per_second={"fp32": SLOWED * L4.peak_flops_per_second["fp32"]},
        memory_bytes_per_second=SLOWED * L4.memory_bytes_per_second,
    )
    asked = query(*job, device=slow)
    parts = MODELS.parts.parts(asked.demand, peaks=asked.peaks, precision="fp32", num_workers=1)
    return parts.times(device=1.0, host=STARVED).seconds


def test_by_replay_the_error_at_least_halves_and_the_intervals_narrow():
    errors = {"before": [], "after": []}
    for job in JOBS:
        for when, calibration in (("before", None), ("after", FIGURES)):
            step = estimate(*job, calibration=calibration)
            errors[when].append(abs(math.log(step.likely / true_seconds(*job))))
        narrow, wide = estimate(*job, calibration=FIGURES), estimate(*job)
        assert narrow.high / narrow.likely < wide.high / wide.likely
        assert narrow.holds(true_seconds(*job))
    assert fmean(errors["after"]) < fmean(errors["before"]) / 2


def test_by_replay_of_a_real_h100_the_error_nearly_halves():
    """ResNet50 on 32 pixels, where the host decides; the launches of a layer are of these very steps."""
    folder = Path("benchmarks/measured")
    text = (folder / "h100_calibration.json").read_text(encoding="utf-8")
    figures = codec.from_json(DeviceBenchmark, text)
    models = replace(MODELS, steps=tuple(one for one in MODELS.steps if one.labels.laboratory != PROJECT))
    errors = {"before": [], "after": []}
    with (folder / "h100_steps.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == "resnet50" and not row["error"]]
    assert len(rows) == 12
    for row, (when, calibration) in product(rows, (("before", None), ("after", figures))):
        asked = query("resnet50", (), int(row["global_batch_size"]), device=CATALOGUE.devices["h100"])
        asked = replace(asked, precision=row["precision"], calibration=calibration)
        step = build_published_estimate(asked, models).step
        errors[when].append(abs(math.log(float(row["step_seconds"]) / step.likely)))
        assert step.holds(float(row["step_seconds"])), when
    assert fmean(errors["after"]) < 0.6 * fmean(errors["before"])


def test_by_replay_of_published_steps_a_card_unlike_the_others_is_met_better():
    """The figures of the K80 and the K40 are assumed: their clocks fall to about half of the peak."""
    devices = {**laboratory_devices(), **CATALOGUE.devices}
    old = ("k40c", "k80")
    models = replace(MODELS, steps=tuple(step for step in MODELS.steps if step.labels.device not in old))
    errors = {"before": [], "after": []}
    for rate in (rate for rate in laboratory_rates() if rate.device in old):
        device = devices[rate.device]
        figures = DeviceBenchmark(
            driver_name="made up",
            flops_per_second={"fp32": 0.5 * device.peak_flops_per_second["fp32"]},
            memory_bytes_per_second=0.6 * device.memory_bytes_per_second,
        )
        for when, calibration in (("before", None), ("after", figures)):
            asked = replace(build_query(rate, device), calibration=calibration)
            step = build_published_estimate(asked, models).step
            seconds = rate.global_batch_size / rate.samples_per_second
            errors[when].append(abs(math.log(seconds / step.likely)))
    assert fmean(errors["after"]) < 0.6 * fmean(errors["before"])


def test_a_launch_alone_moves_small_steps_and_leaves_large_ones():
    slow = DeviceBenchmark(driver_name="made up", layer_seconds={"fp32": 5 * LAYER_SECONDS})
    small, large = JOBS[0], JOBS[4]
    assert estimate(*small, calibration=slow).likely > 3 * estimate(*small).likely
    assert estimate(*large, calibration=slow).likely < 1.2 * estimate(*large).likely


def test_a_measured_exchange_replaces_the_bandwidth_of_the_maker():
    narrow = DeviceBenchmark(driver_name="made up", exchange_bytes_per_second=1e8)
    job = JOBS[4]
    alone, together = (estimate(*job, calibration=narrow, num_workers=count) for count in (1, 2))
    exchanged = query(*job).demand.gradient_bytes / 1e8
    assert together.likely > exchanged
    assert alone.likely == pytest.approx(
        estimate(*job, calibration=DeviceBenchmark(driver_name="made up")).likely
    )


def test_a_cpu_is_predicted_from_its_own_figures_and_refused_without():
    cpu, job = CATALOGUE.devices["cpu"], JOBS[3]
    refused = build_published_estimate(query(*job, device=cpu), MODELS).step
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("no CPU of this kind was measured")
    figures = DeviceBenchmark(
        driver_name="made up", flops_per_second={"fp32": 5e11}, memory_bytes_per_second=2e10
    )
    step = estimate(*job, device=cpu, calibration=figures)
    assert 1.0 < step.likely < 60.0
    assert step.high / step.likely > 1.6


def test_a_core_of_a_real_cpu_is_predicted_from_its_calibration_alone():
    """The effects of other kinds of devices, without any step of that CPU: two thirds within a factor of 2.

    A GRU and a convolution of 1,500 kernels took 3 to 4 times as long.
    """
    steps = [one for one in project_steps(CATALOGUE.devices) if one.query.device.kind == "cpu"]
    models = replace(MODELS, steps=tuple(one for one in MODELS.steps if one.labels.kind != "cpu"))
    found = [build_published_estimate(one.query, models) for one in steps]
    factors = [
        math.exp(abs(math.log(one.seconds / estimate.seconds)))
        for one, estimate in zip(steps, found, strict=True)
    ]
    inside = [estimate.step.holds(one.seconds) for one, estimate in zip(steps, found, strict=True)]
    assert len(steps) > 20
    assert fmean(factor < 2.0 for factor in factors) > 0.6
    assert fmean(inside) > 0.85


def test_one_own_record_of_a_network_on_a_cpu_makes_its_other_batches_better():
    """Of another network it does not: benchmarks/other_laboratories.py."""
    cpu = [one for one in project_steps(CATALOGUE.devices) if one.query.device.kind == "cpu"]
    models = replace(MODELS, steps=tuple(one for one in MODELS.steps if one.labels.kind != "cpu"))
    by_network = defaultdict(list)
    for one in cpu:
        by_network[one.query.spec.name].append(one)
    errors = {"before": [], "after": []}
    for own, others in (
        (own, [one for one in same if one is not own]) for same in by_network.values() for own in same
    ):
        basis = build_published_estimate(own.query, models)
        step = OwnStep(labels=own.query.own_labels, parts=basis.ordered.parts, seconds=own.seconds)
        effects = effects_given(models.effects, [step])
        for one in others:
            before = build_published_estimate(one.query, models)
            after = estimate_by(one.query, before.ordered, models, effects=effects, refusal=None)
            for when, estimate in (("before", before), ("after", after)):
                errors[when].append(abs(math.log(one.seconds / estimate.seconds)))
    assert len(errors["after"]) > 20
    assert fmean(errors["after"]) < 0.95 * fmean(errors["before"]), "batches differ by caches and noise"
