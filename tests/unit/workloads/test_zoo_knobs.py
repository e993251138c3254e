"""Knobs of the zoo: what they change, and what is told when they are out of range."""

import pytest

from workloads.layers import Conv2d
from workloads.registry import workload
from workloads.shapes import UnsuitableInputError, find_shapes
from workloads.traffic import num_weights

SMALLEST = {
    "lenet5": 32,
    "alexnet": 32,
    "vgg11": 32,
    "vgg13": 32,
    "vgg16": 32,
    "vgg19": 32,
    "resnet18": 32,
    "resnet34": 32,
    "resnet50": 32,
    "inception_v3": 75,
    "inception_resnet_v2": 75,
    "mobilenet_v2": 32,
    "xception": 71,
}
"""Image size in pixels."""

every_network = pytest.mark.parametrize("name", SMALLEST)


@every_network
def test_images_of_the_smallest_size_give_logits_and_a_pixel_less_is_shown(name: str) -> None:
    smallest = SMALLEST[name]
    spec = workload(name, {"image_size": smallest, "num_classes": 17})
    assert find_shapes(spec.networks["model"])[-1] == (17,)
    assert spec.data.image_size == smallest
    with pytest.raises(
        UnsuitableInputError,
        match=rf"^{name} image_size={smallest - 1} is too small; it takes {smallest} pixels or more$",
    ):
        workload(name, {"image_size": smallest - 1})


@every_network
def test_a_quarter_of_the_width_is_about_a_sixteenth_of_the_weights(name: str) -> None:
    size = {"image_size": SMALLEST[name]}
    full = num_weights(workload(name, size).networks["model"])
    narrow = num_weights(workload(name, size | {"width": 0.25}).networks["model"])
    assert 1 / 18 < narrow / full < 1 / 10


@every_network
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("num_classes", 9, "num_classes=9 is below the 10 classes of CIFAR-10"),
        ("width", 0, r"width=0\.0 must be above 0 and finite"),
        ("learning_rate", float("inf"), "learning_rate=inf must be above 0 and finite"),
        ("momentum", 1, r"momentum=1\.0 must lie in \[0, 1\)"),
    ],
)
def test_a_knob_out_of_range_is_refused(name: str, option: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} {expected}$"):
        workload(name, {option: value})


def test_kernels_of_cifar10_cnn_reach_its_convolutions() -> None:
    network = workload("cifar10_cnn", {"kernels": [8, 12, 16], "kernel_size": 3}).networks["model"]
    convolutions = [node.layer for node in network.nodes if isinstance(node.layer, Conv2d)]
    assert [
        (convolution.filters, convolution.kernel, convolution.padding) for convolution in convolutions
    ] == [
        (8, 3, 1),
        (12, 3, 1),
        (16, 3, 1),
    ]


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("kernels", [], r"kernels=\(\) must be at least 1"),
        ("kernel_size", 4, "kernel_size=4 must be odd"),
        ("pool_size", 0, "pool_size=0 must be at least 1"),
        ("dense_units", 0, "dense_units=0 must be at least 1"),
        ("learning_rate", -1, r"learning_rate=-1\.0 must be above 0 and finite"),
        ("momentum", -0.1, r"momentum=-0\.1 must lie in \[0, 1\)"),
    ],
)
def test_a_knob_of_cifar10_cnn_out_of_range_is_refused(option: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^cifar10_cnn {expected}$"):
        workload("cifar10_cnn", {option: value})


@pytest.mark.parametrize(
    ("network", "smallest"), [("inception_v3", 75), ("efficientnet_b0", 32), ("resnet50", 32)]
)
def test_retinopathy_cnn_has_five_grades_or_two_classes_with_each_network(
    network: str, smallest: int
) -> None:
    options = {"network": network, "image_size": smallest, "width": 0.25}
    graded, binary = (
        workload("retinopathy_cnn", options),
        workload("retinopathy_cnn", options | {"binary": True}),
    )
    assert [find_shapes(value.networks["model"])[-1] for value in (graded, binary)] == [(5,), (2,)]
    assert [value.data.binary for value in (graded, binary)] == [False, True]
    assert [value.quality.measure.split(":")[1] for value in (graded, binary)] == ["graded", "referable"]
    with pytest.raises(
        UnsuitableInputError,
        match=f"^retinopathy_cnn of {network} image_size={smallest - 1} is too small; it takes",
    ):
        workload("retinopathy_cnn", options | {"image_size": smallest - 1})


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        (
            "network",
            "resnet5",
            r"^unknown retinopathy_cnn network 'resnet5'; did you mean 'resnet50'\? known: ",
        ),
        ("width", -1, r"^retinopathy_cnn width=-1\.0 must be above 0 and finite$"),
        ("learning_rate", 0, r"^retinopathy_cnn learning_rate=0\.0 must be above 0 and finite$"),
    ],
)
def test_a_knob_of_retinopathy_cnn_out_of_range_is_refused(option: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        workload("retinopathy_cnn", {option: value})


@pytest.mark.parametrize(
    ("num_classes", "samples"),
    [(10, None), (100, None), (1000, 1_281_167)],
    ids=["cifar10", "none", "imagenet"],
)
def test_only_ten_classes_train_for_the_epochs_of_cifar10(num_classes, samples):
    spec = workload("resnet50", {"image_size": 224, "num_classes": num_classes})
    assert spec.train_samples == samples
    assert (spec.epochs is not None) == (num_classes == 10)


@pytest.mark.parametrize(
    ("num_classes", "epochs", "samples"), [(10, 300, None), (100, None, None), (1000, 300, 1_281_167)]
)
def test_a_vision_transformer_of_a_thousand_classes_trains_on_imagenet(num_classes, epochs, samples):
    spec = workload("vit_b16", {"size": "b16", "num_classes": num_classes})
    assert (spec.epochs, spec.train_samples) == (epochs, samples)
