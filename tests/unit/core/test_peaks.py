"""Peaks of a trial's devices."""

from dataclasses import replace

import pytest
from plan_builders import device

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.peaks import Peaks, ProductBenchmark, find_peaks, peaks_together

GPU = device("a100_40", kind="gpu", peak_flops_per_second={"bf16": 3.12e14}, source="its datasheet")


def test_two_devices_can_do_twice_as_much_as_one():
    known = replace(GPU, memory_bytes_per_second=1.5e12, tdp_watts=400.0)
    assert find_peaks(known, "bf16", count=2) == Peaks(
        flops_per_second=6.24e14, memory_bytes_per_second=3e12, tdp_watts=800.0, source="its datasheet"
    )


def test_what_is_not_published_is_unknown():
    assert find_peaks(GPU, "fp32", count=2) == Peaks(
        flops_per_second=None, memory_bytes_per_second=None, tdp_watts=None, source="its datasheet"
    )


def test_a_hosts_processor_has_no_published_peak():
    assert find_peaks(device("cpu"), "fp32", count=1) is None


def test_unknown_figures_survive_a_ledger():
    peaks = find_peaks(GPU, "fp32", count=1)
    assert from_json(Peaks, to_json(peaks)) == peaks


def test_ranks_that_multiply_at_once_can_do_what_they_did_together_in_the_fastest_product():
    calibration = ProductBenchmark(size=1000, seconds=((0.2, 0.05), (0.1, 0.25)))  # slowest rank: 0.2, 0.25
    assert calibration.flops_per_second == pytest.approx(2 * 2e9 / 0.2)


@pytest.mark.parametrize(("ranks", "processes"), [(1, "this process"), (2, "2 processes at once")])
def test_a_calibration_shows_what_it_is(ranks, processes):
    source = ProductBenchmark(size=2048, seconds=((0.1,) * 8,) * ranks).source
    assert source == f"calibrated: fastest of 8 products of 2048 x 2048, {processes}"


def test_a_calibration_survives_a_ledger():
    calibration = ProductBenchmark(size=1000, seconds=((0.2, 0.05),))
    assert from_json(ProductBenchmark, to_json(calibration)) == calibration


def test_peaks_of_different_devices_are_summed_and_unknown_beside_a_device_without_peaks():
    fast, slow = (
        Peaks(flops_per_second=flops, memory_bytes_per_second=1.0, tdp_watts=watts, source=source)
        for flops, watts, source in ((3.0, 4.0, "one"), (2.0, None, "another"))
    )
    assert peaks_together([fast, slow, fast]) == Peaks(
        flops_per_second=8.0, memory_bytes_per_second=3.0, tdp_watts=None, source="one; another"
    )
    assert peaks_together([fast, None]) is None
