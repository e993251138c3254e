"""Deviations of crossed effects and the quantile of laboratories held out, on steps of known effects."""

from itertools import product

import numpy as np
import pytest
from effect_fitting import fit_deviations, fit_quantile, held_out_scores

from orchestrator.extensions.predictions.step_time.crossed_effects import PublishedStep, StepLabels

LABORATORIES, DEVICES, NETWORKS = range(6), range(6), range(6)


def world(*, network, laboratory, noise=0.05):
    """Every laboratory measures every network on every device, with effects of such deviations."""
    random = np.random.default_rng(0)
    of_network, of_laboratory = random.normal(0, network, 6), random.normal(0, laboratory, 6)
    return [
        PublishedStep(
            labels=StepLabels(
                laboratory=f"l{where}",
                software="",
                kind="gpu",
                device=f"d{device}",
                precision="fp32",
                family="classifier",
                network=f"n{job}",
                size=30,
                balance=0.0,
            ),
            device_share=1.0,
            host_share=0.0,
            log=float(of_network[job] + of_laboratory[where] + random.normal(0, noise)),
        )
        for where, device, job in product(LABORATORIES, DEVICES, NETWORKS)
    ]


def test_the_effects_that_there_are_have_the_largest_deviations():
    found = fit_deviations(world(network=0.8, laboratory=0.4))
    of_networks = np.linalg.norm(
        [found[name] for name in ("network", "network at a size", "network at a precision")]
    )
    of_laboratories = np.linalg.norm(
        [found[name] for name in ("laboratory", "software", "software at a precision")]
    )
    assert of_networks > 3 * found["device"]
    assert of_laboratories > 3 * found["device"]
    assert max(found["device"], found["device at a precision"], found["machine"]) < 0.1
    assert found["residual"] == pytest.approx(0.05, abs=0.01)


def test_a_laboratory_is_predicted_by_the_others_alone():
    steps = world(network=0.8, laboratory=0.01)
    deviations = fit_deviations(steps)
    scores = held_out_scores(steps, deviations)
    assert set(scores) == {f"l{where}" for where in LABORATORIES}
    errors = np.array([error for found in scores.values() for error, _ in found])
    assert np.abs(errors).mean() < 0.1, "networks are known by the other laboratories"
    assert fit_quantile(steps, deviations) == 1.64, "not below a normal distribution's"
