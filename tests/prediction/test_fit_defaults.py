"""What a file must hold for default models to be fitted to it."""

import pandas as pd
import pytest
from latency_values import FAST, SLOW

from orchestrator.core.errors import ConfigError
from orchestrator.predict.fit_defaults import fit_default_models
from orchestrator.predict.latency import LatencyTable

BOTH = ("LeNet5", "AlexNet")


def table(networks, *, repeats=("1", "2")):
    rows = [
        {
            "device": device,
            "model": model,
            "batch_size": 16,
            "image_size": 64,
            "repeat": repeat,
            "step_seconds": 0.01,
        }
        for device, models in networks.items()
        for model in models
        for repeat in repeats
    ]
    return LatencyTable(rows=pd.DataFrame(rows), op_seconds=pd.DataFrame(), source="some.csv")


@pytest.mark.parametrize("networks", [{SLOW: BOTH}, {SLOW: BOTH, FAST: ("LeNet5",)}])
def test_a_network_can_be_held_out_on_each_of_two_devices(networks):
    with pytest.raises(ConfigError, match=r"^some\.csv: two devices are needed at least, and two networks"):
        fit_default_models(table(networks), devices={})


def test_what_repeats_differ_by_is_measured():
    with pytest.raises(ConfigError, match=r"^some\.csv: nothing was measured twice, so what repeats"):
        fit_default_models(table({SLOW: BOTH, FAST: BOTH}, repeats=("1",)), devices={})
