"""Convolutions by 3x3 kernels are computed by Winograd's algorithm where cuDNN has it: on GPUs in float32."""

from dataclasses import replace

import pytest
from shipped_devices import shipped_catalogue

from orchestrator.extensions.predictions.step_breakdown import find_step_breakdown
from orchestrator.extensions.predictions.step_time.analytic import performed_flops
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.roofline import StepCost
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.registry import cached_workload

DEMAND = StepCost(
    flops=10.0,
    winograd_flops=9.0,
    value_bytes=0.0,
    weight_bytes=0.0,
    gradient_bytes=0.0,
    layers=1,
    time_steps=0,
    recurrent_bytes=0.0,
)


@pytest.mark.parametrize(
    ("kind", "precision", "performed"),
    [
        ("gpu", "fp32", 1.0 + 9.0 / 2.25),
        ("gpu", "tf32", 10.0),
        ("gpu", "fp16", 10.0),
        ("tpu", "fp32", 10.0),
        ("cpu", "fp32", 10.0),
    ],
)
def test_a_gpu_in_float32_multiplies_less_often(kind, precision, performed):
    assert performed_flops(DEMAND, kind=kind, precision=precision) == pytest.approx(performed)


def vgg16(precision):
    return StepQuery(
        spec=cached_workload("vgg16", {"image_size": 224}),
        device=shipped_catalogue().devices["t4"],
        precision=precision,
        num_workers=1,
        global_batch_size=64,
    )


def test_winograd_shortens_nearly_all_of_vgg16_and_no_part_of_a_transformer():
    query = vgg16("fp32")
    assert 0.9 < query.demand.winograd_flops / query.demand.flops < 1.0
    assert replace(query, spec=cached_workload("bert_base", {})).demand.winograd_flops == 0.0


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_the_parts_that_are_explained_are_those_of_the_prediction(precision):
    models, query = default_models(), vgg16(precision)
    parts, told = query.parts(models.parts), find_step_breakdown(query, models)
    performed = performed_flops(query.demand, kind="gpu", precision=precision)
    peak = query.peaks.flops_per_second[precision]
    assert told.compute == pytest.approx(models.parts.coefficients[0] * performed / peak, rel=1e-6)
    assert told.compute + told.memory == pytest.approx(parts.device)
