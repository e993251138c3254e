"""One table says what each precision label sets; what was observed is named by the same labels."""

import pytest

from orchestrator.train.precision import PRECISIONS, find_precision_label
from orchestrator.train.registry import trainers


def test_every_label_that_a_trainer_offers_is_in_the_table() -> None:
    offered = {
        label for info in trainers().values() for labels in info.precisions.values() for label in labels
    }
    assert offered == set(PRECISIONS)


def test_only_tf32_lets_a_gpu_round_float32_and_only_fp32_makes_a_tpu_take_all_passes() -> None:
    assert [label for label, precision in PRECISIONS.items() if precision.tf32] == ["tf32"]
    assert [label for label, each in PRECISIONS.items() if each.xla_matmul == "highest"] == ["fp32"]


def test_only_fp16_scales_its_loss() -> None:
    assert [label for label, precision in PRECISIONS.items() if precision.scale_loss] == ["fp16"]


@pytest.mark.parametrize(
    ("kind", "dtype", "is_rounded", "label"),
    [
        ("cpu", "float32", False, "fp32"),
        ("cpu", "float32", True, "fp32"),  # the switches are those of accelerators
        ("gpu", "float32", False, "fp32"),
        ("gpu", "float32", True, "tf32"),
        ("tpu", "float32", False, "fp32"),
        ("tpu", "float32", True, "tpu_default"),
        ("gpu", "bfloat16", True, "bf16"),
        ("cpu", "bfloat16", False, "bf16"),
        ("gpu", "float16", False, "fp16"),
        ("cpu", "float64", False, "float64"),
        ("cpu", "None", False, "None"),
    ],
)
def test_what_was_observed_decides_the_label(kind, dtype, is_rounded, label) -> None:
    assert find_precision_label(kind, dtype, float32_is_rounded=is_rounded) == label


@pytest.mark.parametrize(("dtype", "label"), [("bfloat16", "fp8"), ("float32", "fp32"), ("float16", "fp16")])
def test_layers_that_multiply_in_float8_are_fp8_beside_bfloat16_alone(dtype: str, label: str) -> None:
    assert find_precision_label("gpu", dtype, float32_is_rounded=False, has_float8=True) == label


@pytest.mark.parametrize("kind", ["cpu", "gpu", "tpu"])
def test_what_is_set_for_a_label_is_observed_as_that_label(kind: str) -> None:
    offered = {label for info in trainers().values() for label in info.precisions.get(kind, ())}
    for label in offered:
        precision = PRECISIONS[label]
        is_rounded = precision.tf32 if kind == "gpu" else precision.xla_matmul != "highest"
        found = find_precision_label(
            kind, precision.compute_dtype, float32_is_rounded=is_rounded, has_float8=precision.float8
        )
        assert found == label
