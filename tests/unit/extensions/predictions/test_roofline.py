"""Cost of a step, and its lower bound on a device."""

from dataclasses import replace

import numpy as np
import pytest
from plan_builders import T4, TPU, device

from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate
from orchestrator.extensions.predictions.step_time.roofline import StepCost, build_roofline, count_step_cost
from workloads.flops import train_step_flops
from workloads.registry import workload
from workloads.traffic import train_step_bytes

DEMAND = StepCost(
    flops=8e12,
    winograd_flops=6e12,
    value_bytes=3e10,
    weight_bytes=2e9,
    gradient_bytes=1e9,
    layers=20,
    time_steps=0,
    recurrent_bytes=0.0,
)
GPU = replace(
    T4,
    peak_flops_per_second={"fp32": 8e12},
    memory_bytes_per_second=3.2e11,
    link_bytes_per_second=1e10,
)


def test_the_counts_are_those_of_flops_and_traffic():
    spec = workload("lenet5", {})
    found = count_step_cost(spec, global_batch_size=32, value_bytes=4)
    assert found.flops == train_step_flops(spec, 32)
    assert found.value_bytes + found.weight_bytes == train_step_bytes(spec, 32, value_bytes=4)
    assert found.gradient_bytes == 4 * 62006, "LeNet-5's weights for three colours"
    half = count_step_cost(spec, global_batch_size=32, value_bytes=2)
    assert (half.value_bytes, half.weight_bytes) == (found.value_bytes / 2, found.weight_bytes)


def test_eight_teraflops_at_eight_a_second_take_one_second():
    found = build_roofline(DEMAND, GPU, precision="fp32", count=1)
    assert (found.compute_seconds, found.memory_seconds, found.exchange_seconds) == (1.0, 0.1, 0.0)
    assert found.bound_seconds == 1.0


def test_four_devices_compute_a_quarter_each_and_exchange_one_and_a_half_gradients():
    found = build_roofline(DEMAND, GPU, precision="fp32", count=4)
    assert found.compute_seconds == 0.25
    assert found.memory_seconds == pytest.approx((3e10 / 4 + 2e9) / 3.2e11)
    assert found.exchange_seconds == pytest.approx(0.15)


def test_a_slow_link_is_the_bound():
    slow = replace(GPU, link_bytes_per_second=1e9)
    assert build_roofline(DEMAND, slow, precision="fp32", count=4).bound_seconds == pytest.approx(1.5)


def test_where_a_peak_is_unknown_there_is_no_bound():
    assert build_roofline(DEMAND, GPU, precision="bf16", count=1).bound_seconds is None
    assert build_roofline(DEMAND, device(), precision="fp32", count=1).bound_seconds is None
    unlinked = replace(GPU, link_bytes_per_second=None)
    assert build_roofline(DEMAND, unlinked, precision="fp32", count=1).bound_seconds == 1.0
    assert build_roofline(DEMAND, unlinked, precision="fp32", count=2).bound_seconds is None


def test_the_replicas_of_one_slice_exchange_too():
    slice_ = replace(TPU, replicas=8, link_bytes_per_second=1e10)
    found = build_roofline(DEMAND, slice_, precision="fp32", count=1)
    assert found.exchange_seconds == pytest.approx(2 * 7 / 8 * 1e9 / 1e10)


@pytest.mark.parametrize("ends", [(0.0, 1.0, 2.0), (2.0, 1.0, 3.0), (1.0, 2.0, np.inf)])
def test_an_estimate_lies_in_its_interval(ends):
    low, likely, high = ends
    with pytest.raises(ConfigError, match="no estimate"):
        Estimate(low=low, likely=likely, high=high, source="")
