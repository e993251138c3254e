"""Fits to measurements: errors of a sum of parts with networks held out, and their correlation."""

from dataclasses import replace

import numpy as np
import pytest
from model_fitting import fit_kinship, held_out_logs
from published_networks import PublishedLatency

from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Refusal
from orchestrator.extensions.predictions.step_time.analytic import COUNTS, beyond, find_parts
from orchestrator.extensions.predictions.step_time.roofline import StepCost

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
                winograd_flops=0.0,
                value_bytes=base[1] * size * 1e9,
                weight_bytes=base[2] * 1e8,
                gradient_bytes=1e7,
                layers=int(base[3] * 10),
                time_steps=0,
                recurrent_bytes=0.0,
            )
            for name, (flops, bandwidth) in PEAKS.items():
                parts = find_parts(demand, flops_per_second=flops, bytes_per_second=bandwidth)
                yield PublishedLatency(
                    device=name,
                    model=f"m{model}",
                    image_size=32,
                    batch_size=size,
                    demand=demand,
                    parts=tuple(parts),
                    step_seconds=float(parts @ TRUE) * (error if model == 4 else 1.0),
                )


def test_a_network_like_the_others_is_predicted_by_them():
    for errors_there in held_out_logs(list(world()), for_new_devices=True).values():
        assert np.abs(errors_there).max() < 0.3


def test_a_network_that_is_unlike_the_others_is_missed_on_every_device():
    found = held_out_logs(list(world(error=3.0)), for_new_devices=False)
    assert {model for (_, model), missed in found.items() if np.abs(missed).mean() > 0.8} == {"m4"}


def test_a_step_larger_than_all_that_were_measured_is_refused():
    demands = [item.demand for item in world()]
    sizes = {name: [float(getattr(demand, name)) for demand in demands] for name in COUNTS}
    least, most = ({name: of(values) for name, values in sizes.items()} for of in (min, max))
    assert all(beyond(demand, least=least, most=most) is None for demand in demands)
    refused = beyond(replace(demands[0], layers=5000), least=least, most=most)
    assert isinstance(refused, Refusal)
    assert refused.reason.startswith("layers 5e+03, measured were ")


def errors(of):
    """Make eight networks on two devices at three batch sizes, with the errors that `of` tells."""
    demand = StepCost(
        flops=1e9,
        winograd_flops=0.0,
        value_bytes=1e6,
        weight_bytes=1e6,
        gradient_bytes=1e6,
        layers=3,
        time_steps=0,
        recurrent_bytes=0.0,
    )
    return [
        (
            PublishedLatency(
                device=device,
                model=f"m{model}",
                image_size=32,
                batch_size=batch,
                demand=demand,
                parts=(),
                step_seconds=1.0,
            ),
            of(model, device, batch),
        )
        for model in range(8)
        for device in ("v100", "t4")
        for batch in (16, 32, 64)
    ]


def test_networks_that_err_alike_everywhere_are_kin_and_others_are_not():
    random = np.random.default_rng(0)
    of_network = random.normal(size=8)
    of_each = {(model, device): random.normal() for model in range(8) for device in ("v100", "t4")}
    alike = fit_kinship(errors(lambda model, _device, _batch: float(of_network[model])))
    apart = fit_kinship(errors(lambda model, device, _batch: of_each[model, device]))
    assert alike.devices > 0.99
    assert apart.devices < 0.7
    assert alike.doublings == apart.doublings > 100
    loose = fit_kinship(errors(lambda _model, _device, _batch: float(random.normal())))
    assert loose.doublings < 2


def test_kinship_needs_two_devices_and_two_batch_sizes():
    one = [pair for pair in errors(lambda *_: 1.0) if pair[0].device == "t4"]
    with pytest.raises(ConfigError, match="at one batch size on two devices, and at two sizes on one"):
        fit_kinship(one)
