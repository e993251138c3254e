"""Requirements on a file to which default models can be fitted."""

from dataclasses import replace

import pandas as pd
import pytest
from fit_bundled_models import fit_default_models
from latency_builders import FAST, SLOW
from shipped_devices import shipped_catalogue

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable

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
    with pytest.raises(ConfigError, match=r"^some\.csv: at least two devices are needed, with two networks"):
        fit_default_models(table(networks), devices={})


def test_what_repeats_differ_by_is_measured():
    with pytest.raises(ConfigError, match=r"^some\.csv: nothing was measured twice, so what repeats"):
        fit_default_models(table({SLOW: BOTH, FAST: BOTH}, repeats=("1",)), devices={})


def test_a_rate_needs_the_peaks_of_its_device():
    catalogue = shipped_catalogue()
    unknown = replace(catalogue.devices["a100_40"], link_bytes_per_second=None)
    with pytest.raises(ConfigError, match=r"^conf/device/a100_40\.yaml: the tf32, memory and link peaks are"):
        fit_default_models(table({SLOW: BOTH, FAST: BOTH}), devices={**catalogue.devices, "a100_40": unknown})
