"""Peak of a device, frozen into the record of a trial that ran on it."""

from dataclasses import replace
from pathlib import Path

from noop_trials import context, noop, run
from plan_builders import device

from orchestrator.core.peaks import Peaks
from orchestrator.core.result import TrialRecord


def trained(folder: Path, *, peak: float, provenance: str = "measured") -> TrialRecord:
    """A trial of two workers on processors that are called an accelerator."""
    place = noop(workers=2, provenance=provenance)
    trial = replace(place.trial, device="fast", host_cpu=None)
    fast = device("fast", kind="gpu", peak_flops_per_second={"fp32": peak}, tdp_watts=100.0)
    (record,) = run(context(folder, devices={"fast": fast}), replace(place, trial=trial))
    return record


def test_a_record_has_the_peaks_of_all_devices_of_its_trial(tmp_path: Path) -> None:
    record = trained(tmp_path, peak=1e30)
    assert record.failure is None
    assert record.result.peaks == Peaks(
        flops_per_second=2e30, memory_bytes_per_second=None, tdp_watts=200.0, source="a test"
    )


def test_a_trial_that_is_faster_than_its_device_can_be_is_refused(tmp_path: Path) -> None:
    failure = trained(tmp_path, peak=1.0).failure
    assert failure.kind == "invalid_measurement"
    assert failure.message.endswith("; it must lie above 0 and not above 1")
    assert failure.refused.peaks.flops_per_second == 2.0


def test_a_rehearsal_has_no_peaks_of_the_absent_device(tmp_path: Path) -> None:
    assert trained(tmp_path, peak=1.0, provenance="rehearsed").result.peaks is None
