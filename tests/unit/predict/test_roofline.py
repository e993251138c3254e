"""Cost of a step, its lower bound on a device, and models fitted to counts alone."""

from dataclasses import replace

import numpy as np
import pytest
from model_fitting import fit_analytic
from plan_builders import T4, TPU, device
from published_networks import PublishedLatency

from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.predict.step_time.analytic import parts_of
from orchestrator.predict.step_time.roofline import StepCost, roofline_of, step_cost_of
from workloads.flops import train_step_flops
from workloads.registry import workload
from workloads.traffic import train_step_bytes

DEMAND = StepCost(flops=8e12, value_bytes=3e10, weight_bytes=2e9, gradient_bytes=1e9, layers=20)
GPU = replace(
    T4,
    peak_flops_per_second={"fp32": 8e12},
    memory_bytes_per_second=3.2e11,
    link_bytes_per_second=1e10,
)


def test_the_counts_are_those_of_flops_and_traffic():
    spec = workload("lenet5", {})
    found = step_cost_of(spec, global_batch_size=32, value_bytes=4)
    assert found.flops == train_step_flops(spec, 32)
    assert found.value_bytes + found.weight_bytes == train_step_bytes(spec, 32, value_bytes=4)
    assert found.gradient_bytes == 4 * 62006, "LeNet-5's weights for three colours"
    half = step_cost_of(spec, global_batch_size=32, value_bytes=2)
    assert (half.value_bytes, half.weight_bytes) == (found.value_bytes / 2, found.weight_bytes)


def test_eight_teraflops_at_eight_a_second_take_one_second():
    found = roofline_of(DEMAND, GPU, precision="fp32", count=1)
    assert (found.compute_seconds, found.memory_seconds, found.exchange_seconds) == (1.0, 0.1, 0.0)
    assert found.bound_seconds == 1.0


def test_four_devices_compute_a_quarter_each_and_exchange_one_and_a_half_gradients():
    found = roofline_of(DEMAND, GPU, precision="fp32", count=4)
    assert found.compute_seconds == 0.25
    assert found.memory_seconds == pytest.approx((3e10 / 4 + 2e9) / 3.2e11)
    assert found.exchange_seconds == pytest.approx(0.15)


def test_a_slow_link_is_the_bound():
    slow = replace(GPU, link_bytes_per_second=1e9)
    assert roofline_of(DEMAND, slow, precision="fp32", count=4).bound_seconds == pytest.approx(1.5)


def test_where_a_peak_is_unknown_there_is_no_bound():
    assert roofline_of(DEMAND, GPU, precision="bf16", count=1).bound_seconds is None
    assert roofline_of(DEMAND, device(), precision="fp32", count=1).bound_seconds is None
    unlinked = replace(GPU, link_bytes_per_second=None)
    assert roofline_of(DEMAND, unlinked, precision="fp32", count=1).bound_seconds == 1.0
    assert roofline_of(DEMAND, unlinked, precision="fp32", count=2).bound_seconds is None


def test_the_replicas_of_one_slice_exchange_too():
    slice_ = replace(TPU, replicas=8, link_bytes_per_second=1e10)
    found = roofline_of(DEMAND, slice_, precision="fp32", count=1)
    assert found.exchange_seconds == pytest.approx(2 * 7 / 8 * 1e9 / 1e10)


TRUE = np.array((0.5, 3.0, 2.0, 1.0, 2.0))
PEAKS = {"old": (4e12, 2e11), "new": (1.6e13, 9e11)}


def world(*, error=1.0):
    """Five models at three sizes on two devices; the fifth model takes `error` times as long as it should."""
    random = np.random.default_rng(0)
    for model in range(5):
        base = random.uniform(1, 10, 4)
        for size in (1, 4, 16):
            demand = StepCost(
                flops=base[0] * size * 1e11,
                value_bytes=base[1] * size * 1e9,
                weight_bytes=base[2] * 1e8,
                gradient_bytes=1e7,
                layers=int(base[3] * 10),
            )
            for name, (flops, bandwidth) in PEAKS.items():
                parts = parts_of(demand, flops_per_second=flops, bytes_per_second=bandwidth)
                yield PublishedLatency(
                    device=name,
                    model=f"m{model}",
                    image_size=32,
                    batch_size=size,
                    demand=demand,
                    parts=tuple(parts),
                    step_seconds=float(parts @ TRUE) * (error if model == 4 else 1.0),
                )


def on_new(model, demand):
    flops, bandwidth = PEAKS["new"]
    return model.sum_of_parts(demand, flops_per_second=flops, bytes_per_second=bandwidth)


def test_a_sum_of_parts_is_found_again():
    measured = list(world())
    found = fit_analytic(measured, for_new_devices=False, source="a test")
    assert found.factor < 1.2
    for item in measured:
        if item.device == "new":
            assert on_new(found, item.demand) == pytest.approx(item.step_seconds, rel=0.1)
            assert found.beyond(item.demand) is None


def test_a_model_that_is_unlike_the_others_makes_intervals_wide():
    assert fit_analytic(list(world(error=3.0)), for_new_devices=False, source="").factor > 2.5


def test_intervals_for_new_devices_are_of_devices_held_out():
    biased = [
        replace(item, step_seconds=item.step_seconds * (3.0 if item.device == "new" else 1.0))
        for item in world()
    ]
    known = fit_analytic([item for item in biased if item.device == "new"], for_new_devices=False, source="")
    unknown = fit_analytic(biased, for_new_devices=True, source="")
    assert known.factor < 1.5 < 2.5 < unknown.factor


def test_a_step_larger_than_all_that_were_measured_is_refused():
    found = fit_analytic(list(world()), for_new_devices=False, source="a test")
    refused = found.beyond(replace(next(iter(world())).demand, layers=5000))
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("layers 5e+03, measured were ")


@pytest.mark.parametrize("ends", [(0.0, 1.0, 2.0), (2.0, 1.0, 3.0), (1.0, 2.0, np.inf)])
def test_an_estimate_lies_in_its_interval(ends):
    low, likely, high = ends
    with pytest.raises(ConfigError, match="no estimate"):
        Estimate(low=low, likely=likely, high=high, source="")
