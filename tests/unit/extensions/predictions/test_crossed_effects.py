"""Crossed effects of published steps: what one step tells of another."""

import math
from dataclasses import replace

import pytest

from orchestrator.extensions.predictions.step_time.crossed_effects import (
    DEVICE_EFFECTS,
    HOST_EFFECTS,
    CrossedEffects,
    PublishedStep,
    StepLabels,
)

NOTHING = dict.fromkeys((*DEVICE_EFFECTS, *HOST_EFFECTS, "residual"), 0.0)
ASKED = StepLabels(
    laboratory="",
    software="",
    kind="gpu",
    device="new",
    precision="fp32",
    family="classifier",
    network="resnet50",
    size=30,
    balance=0.0,
)


def step(log, *, device_share=1.0, **labels):
    asked = replace(ASKED, **{"laboratory": "one", "software": "one", **labels})
    return PublishedStep(labels=asked, device_share=device_share, host_share=1.0 - device_share, log=log)


def test_one_effect_is_shrunk_as_by_bayes():
    effects = CrossedEffects([step(0.8)], {**NOTHING, "network": 0.3, "residual": 0.4})
    found = effects.posterior(ASKED)
    assert found.device == pytest.approx(0.8 * 0.09 / (0.09 + 0.16))
    assert found.device_variance == pytest.approx(0.09 * 0.16 / (0.09 + 0.16))
    assert effects.means(ASKED) == (found.device, found.host)


def test_a_network_and_a_device_that_were_never_together_are_known_by_others():
    known = [
        step(0.5, network="vgg16", device="old"),
        step(0.0, network="resnet50", device="old"),
        step(0.3, network="resnet50", device="new"),
    ]
    effects = CrossedEffects(known, {**NOTHING, "network": 1.0, "device": 1.0, "residual": 0.01})
    found = effects.posterior(replace(ASKED, network="vgg16"))
    assert found.device == pytest.approx(0.5 + 0.3, abs=0.2)
    assert found.device_variance < effects.posterior(replace(ASKED, network="lenet5")).device_variance


def test_what_a_laboratory_does_to_all_steps_is_not_promised_to_others():
    effects = CrossedEffects([step(-0.7)], {**NOTHING, "laboratory": 0.5, "residual": 0.1})
    found = effects.posterior(ASKED)
    assert found.device == 0.0
    assert found.device_variance == pytest.approx(0.25)
    assert found.device_common == 0.0


def test_the_effect_of_a_device_on_all_networks_is_separated_from_its_other_effects():
    effects = CrossedEffects([], {**NOTHING, "device": 0.3, "laboratory": 0.4, "network on a device": 0.5})
    found = effects.posterior(ASKED)
    assert found.device_variance == pytest.approx(0.09 + 0.16 + 0.25)
    assert found.device_common == pytest.approx(0.09)


def test_work_of_the_host_and_work_of_the_device_do_not_explain_each_other():
    deviations = {**NOTHING, "device": 0.5, "host of a network": 0.5, "residual": 0.1}
    of_device = CrossedEffects([step(0.6, device_share=1.0)], deviations).posterior(ASKED)
    of_host = CrossedEffects([step(0.6, device_share=0.0)], deviations).posterior(ASKED)
    assert of_device.device > 0.5
    assert of_device.host == 0.0
    assert of_host.host > 0.5
    assert of_host.device == 0.0


def test_a_slope_grows_with_the_balance_of_a_device():
    deviations = {**NOTHING, "balance": 0.5, "residual": 0.01}
    effects = CrossedEffects([step(0.4, balance=1.0)], deviations)
    near, far = (effects.posterior(replace(ASKED, balance=balance)) for balance in (1.0, 2.0))
    assert far.device == pytest.approx(2 * near.device)


def test_without_steps_all_is_as_it_was_before():
    found = CrossedEffects([], {**NOTHING, "device": 0.3, "host": 0.4}).posterior(ASKED)
    assert (found.device, found.host) == (0.0, 0.0)
    assert math.sqrt(found.device_variance) == pytest.approx(0.3)
    assert math.sqrt(found.host_variance) == pytest.approx(0.4)
