"""The file of a user's device benchmarks: the newest of every device, and lines that are none."""

import pytest

from orchestrator.core.errors import RecordError
from orchestrator.extensions.predictions.calibration import Calibration, DeviceBenchmark
from orchestrator.extensions.predictions.calibrations import add_calibration, calibrations_in


def calibration(device: str, *, rate: float) -> Calibration:
    benchmark = DeviceBenchmark(
        driver_name="a card",
        layer_seconds={"fp32": 6e-5},
        step_seconds={"fp32": 2e-4},
        flops_per_second={"fp32": rate},
        memory_bytes_per_second=3e12,
    )
    return Calibration(
        device=device, host_cpu="a CPU x8", measured_at=1.0, load_average=0.1, benchmark=benchmark
    )


def test_the_newest_of_every_device_counts(tmp_path):
    for device, rate in (("h100", 4e13), ("t4", 7e12), ("h100", 5e13)):
        add_calibration(tmp_path / "outputs", calibration(device, rate=rate))
    found = calibrations_in(tmp_path / "outputs")
    assert found == {"h100": calibration("h100", rate=5e13), "t4": calibration("t4", rate=7e12)}


def test_no_file_is_no_calibration(tmp_path):
    assert calibrations_in(tmp_path) == {}


def test_a_line_that_is_none_is_shown_and_left_out(tmp_path, caplog):
    path = add_calibration(tmp_path, calibration("h100", rate=5e13))
    with path.open("a") as file:
        file.write('{"device": "t4"}\n')
    assert set(calibrations_in(tmp_path)) == {"h100"}
    assert "line 2 is left out" in caplog.text


def test_a_folder_that_cannot_be_written_is_shown(tmp_path):
    (tmp_path / "outputs").write_text("a file")
    with pytest.raises(RecordError, match=r"the benchmark cannot be kept in '.*calibrations\.jsonl'"):
        add_calibration(tmp_path / "outputs", calibration("h100", rate=5e13))
