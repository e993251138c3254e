"""Shapes by hand: stride, padding, dropped borders, and layers that do not fit."""

from dataclasses import replace

import pytest

from workloads.registry import workload
from workloads.shapes import kernel_shapes_of, shapes_of
from workloads.spec import Conv2d, Dense, Flatten, Layer, MaxPool2d, WorkloadSpec


def spec_of(*layers: Layer, input_shape: tuple[int, int, int], num_classes: int) -> WorkloadSpec:
    return replace(workload("mnist_cnn", {}), layers=layers, input_shape=input_shape, num_classes=num_classes)


def test_stride_2_and_padding_1_on_9x6_leave_5x3_of_which_pooling_by_2_keeps_2x1() -> None:
    spec = spec_of(
        Conv2d(filters=4, kernel=3, stride=2, padding=1),
        MaxPool2d(size=2),
        Flatten(),
        Dense(units=7),
        input_shape=(9, 6, 3),
        num_classes=7,
    )
    assert shapes_of(spec) == ((9, 6, 3), (5, 3, 4), (2, 1, 4), (8,), (7,))
    assert kernel_shapes_of(spec) == {0: (3, 3, 3, 4), 3: (8, 7)}


def test_logits_that_do_not_match_the_classes_are_refused() -> None:
    spec = spec_of(Flatten(), Dense(units=3), input_shape=(2, 2, 1), num_classes=10)
    with pytest.raises(ValueError, match=r"'mnist_cnn' has 10 classes; its layers end in shape \(3,\)"):
        shapes_of(spec)
