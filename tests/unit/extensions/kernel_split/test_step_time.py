"""The time of a step whose convolutions are split, worked out by hand."""

import pytest

from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.analysis.step_time import (
    SplitLayer,
    bound,
    find_layers,
    least_fraction,
    most_speed_up,
    step_seconds,
)
from workloads.registry import workload

FREE = KernelLink(bytes_per_second=float("inf"), latency_seconds=0.0)
LAYER = SplitLayer(
    node=0,
    geometry="4x4 to 4x4 by 3x3",
    channels=3,
    kernels=10,
    flops=100.0,
    input_bytes=8.0,
    output_bytes=20.0,
    needs_input_gradient=True,
)


def test_the_paper_sized_network_has_the_work_of_its_layers():
    first, second = find_layers(workload("cifar10_cnn", {}).networks["model"], batch=64)
    assert first.flops == 2 * (2 * 64 * 32 * 32 * 500 * 3 * 25)  # no gradient of the images
    assert second.flops == 3 * (2 * 64 * 16 * 16 * 1500 * 500 * 25)
    assert (first.input_bytes, first.output_bytes) == (4 * 64 * 32 * 32 * 3, 4 * 64 * 32 * 32 * 500)
    assert (first.needs_input_gradient, second.needs_input_gradient) == (False, True)
    assert (first.geometry, second.geometry) == ("32x32 to 32x32 by 5x5", "16x16 to 16x16 by 5x5")
    assert (first.channels, second.channels) == (3, 500)


def test_half_as_wide_values_travel_in_half_the_bytes():
    network = workload("cifar10_cnn", {}).networks["model"]
    whole, half = find_layers(network, batch=8), find_layers(network, batch=8, value_bytes=2)
    assert [item.output_bytes for item in whole] == [2 * item.output_bytes for item in half]
    assert [item.flops for item in whole] == [item.flops for item in half]


@pytest.mark.parametrize(
    ("shares", "seconds"),
    [((10, 0), 1.0 + 10.0), ((5, 5), 1.0 + 10.0), ((7, 3), 1.0 + 7.0), ((0, 10), 1.0 + 20.0)],
)
def test_the_slowest_rank_counts_in_each_layer(shares, seconds):
    assert step_seconds([LAYER], [shares], [(10.0, 5.0)], rest_seconds=1.0, link=FREE) == seconds


def test_every_other_rank_with_a_share_is_sent_the_input_and_sends_its_maps():
    link = KernelLink(bytes_per_second=4.0, latency_seconds=0.5)
    found = step_seconds([LAYER], [(5, 5, 0)], [(10.0, 10.0, 10.0)], rest_seconds=0.0, link=link)
    assert found == 5.0 + (2 * 8.0 + 2 * 20.0 / 2) / 4.0 + 6 * 0.5


def test_the_bound_is_amdahls():
    alone = step_seconds([LAYER], [(10,)], [(10.0,)], rest_seconds=10 / 9, link=FREE)
    found = bound([LAYER], [(10.0,) * 4], alone_seconds=alone, rest_seconds=10 / 9)
    assert found == pytest.approx(1 / (0.1 + 0.9 / 4))


@pytest.mark.parametrize(("speed_up", "devices", "fraction"), [(3.28, 4, 0.9268), (2.45, 3, 0.8878)])
def test_the_papers_points_take_so_much_of_a_step_by_amdahls_law(speed_up, devices, fraction):
    found = least_fraction(speed_up, devices)
    assert found == pytest.approx(fraction, abs=1e-4)
    assert most_speed_up(found, devices) == pytest.approx(speed_up)
