"""Convolutions by 3x3 kernels are computed by Winograd's algorithm where cuDNN has it: on GPUs in float32."""

from dataclasses import replace

import pytest
from shipped_devices import shipped_catalogue

from orchestrator.predict.step_breakdown import step_breakdown_of
from orchestrator.predict.step_time.analytic import performed_flops
from orchestrator.predict.step_time.bundled_models import default_models
from orchestrator.predict.step_time.roofline import StepCost
from orchestrator.predict.step_time.step_query import StepQuery
from workloads.registry import kept

DEMAND = StepCost(
    flops=10.0, winograd_flops=9.0, value_bytes=0.0, weight_bytes=0.0, gradient_bytes=0.0, layers=1
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


def test_all_but_the_last_layers_of_vgg16_are_shortened_and_nothing_of_a_transformer():
    vgg = StepQuery(
        spec=kept("vgg16", (("image_size", 224),)),
        device=shipped_catalogue().devices["t4"],
        precision="fp32",
        num_workers=1,
        global_batch_size=64,
    )
    assert 0.9 < vgg.demand.winograd_flops / vgg.demand.flops < 1.0
    assert replace(vgg, spec=kept("bert_base", ())).demand.winograd_flops == 0.0


def test_the_parts_that_are_explained_are_those_of_the_prediction():
    models = default_models()
    for precision in ("fp32", "fp16"):
        query = StepQuery(
            spec=kept("vgg16", (("image_size", 224),)),
            device=shipped_catalogue().devices["t4"],
            precision=precision,
            num_workers=1,
            global_batch_size=64,
        )
        parts, told = query.parts(models.parts), step_breakdown_of(query, models)
        of_compute, _, _, _, _ = models.parts.coefficients
        performed = performed_flops(query.demand, kind="gpu", precision=precision)
        assert told.compute == pytest.approx(
            of_compute * performed / query.peaks.flops_per_second[precision], rel=1e-6
        )
        assert told.compute + told.memory == pytest.approx(parts.device)
