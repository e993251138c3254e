"""The zoo's networks are the published ones: parameter totals and multiply-adds as others count them."""

import math

import pytest

from workloads.families.efficientnet import efficientnet_b0
from workloads.flops import forward_flops
from workloads.network import Network
from workloads.registry import workload
from workloads.shapes import network_parameters
from workloads.traffic import num_weights


def network_of(name: str, **options: object) -> Network:
    return workload(name, options).networks["model"]


def num_parameters(network: Network) -> int:
    """Weights and moving statistics, as Keras counts them."""
    return sum(math.prod(shape) for shape in network_parameters(network).values())


@pytest.mark.parametrize(
    ("name", "image_size", "published"),
    [
        ("vgg11", 224, 132_863_336),  # torchvision.models
        ("vgg13", 224, 133_047_848),  # torchvision.models
        ("vgg16", 224, 138_357_544),  # keras.applications, as all below
        ("vgg19", 224, 143_667_240),
        ("inception_v3", 299, 23_851_784),
        ("inception_resnet_v2", 299, 55_873_736),
        ("xception", 299, 22_910_480),
        ("mobilenet_v2", 224, 3_538_984),
    ],
)
def test_a_network_of_1000_classes_has_the_published_number_of_parameters(
    name: str, image_size: int, published: int
) -> None:
    assert num_parameters(network_of(name, image_size=image_size, num_classes=1000)) == published


def test_efficientnet_b0_has_the_published_parameters_but_for_the_7_of_its_preprocessing() -> None:
    network = efficientnet_b0(224, 1000, width=1.0)
    assert num_parameters(network) == 5_330_571 - 7  # keras.applications; means, variances and a count
    assert num_weights(network) == 5_288_548  # torchvision.models


@pytest.mark.parametrize(
    ("name", "options", "counted"),
    [
        ("lenet5", {}, 62_006),
        ("alexnet", {}, 78_990_642 - 4 * 10),  # less the normalisation of the logits
        ("vgg16", {}, 33_638_218),
        ("resnet18", {"image_size": 224, "num_classes": 1000}, 11_700_328),
        ("resnet34", {"image_size": 224, "num_classes": 1000}, 21_819_624),
        ("resnet50", {"image_size": 224, "num_classes": 1000}, 25_621_352),
    ],
)
def test_a_network_has_the_parameters_that_profets_own_code_gives_it(
    name: str, options: dict[str, object], counted: int
) -> None:
    """Counted by Keras in the models of `data_generation/workload/model_info.py` of ddps-lab/profet."""
    assert num_parameters(network_of(name, **options)) == counted


@pytest.mark.parametrize(
    ("name", "image_size", "published", "tolerance"),
    [
        ("vgg16", 224, 15.47e9, 0.001),  # torchvision.models
        ("vgg19", 224, 19.63e9, 0.001),  # torchvision.models
        ("resnet18", 224, 1.8e9, 0.02),  # He et al. 2016, "Deep Residual Learning", table 1, as the next two
        ("resnet34", 224, 3.6e9, 0.02),
        ("resnet50", 224, 3.8e9, 0.02),
        ("inception_v3", 299, 5.71e9, 0.002),  # torchvision.models
        ("mobilenet_v2", 224, 0.3e9, 0.01),  # Sandler et al. 2018, table 4
        ("inception_resnet_v2", 299, 13.2e9, 0.005),  # the model cards of timm, as the next
        ("xception", 299, 8.4e9, 0.01),
    ],
)
def test_half_the_operations_of_a_forward_pass_are_the_published_multiply_adds(
    name: str, image_size: int, published: float, tolerance: float
) -> None:
    network = network_of(name, image_size=image_size, num_classes=1000)
    assert forward_flops(network) / 2 == pytest.approx(published, rel=tolerance)


def test_efficientnet_b0_needs_the_published_390_million_multiply_adds() -> None:
    """Tan and Le 2019, table 2."""
    assert forward_flops(efficientnet_b0(224, 1000, width=1.0)) / 2 == pytest.approx(0.39e9, rel=0.02)


def test_cifar10_cnn_of_5x5_kernels_costs_614_gigaflops_in_its_second_convolution_at_batch_64() -> None:
    first, second = 2 * 25 * 3 * 500 * 32**2, 2 * 25 * 500 * 1500 * 16**2
    dense = 2 * 8 * 8 * 1500 * 64 + 2 * 64 * 10
    assert forward_flops(network_of("cifar10_cnn")) == first + second + dense
    assert (64 * first, 64 * second) == pytest.approx((4.9e9, 614e9), rel=0.01)
