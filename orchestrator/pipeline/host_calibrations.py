"""Calibrations of this host's devices, for predictions."""

from collections.abc import Mapping

from orchestrator.core.settings import Settings
from orchestrator.predict.step_time.calibration import HostCalibration, calibration_of
from orchestrator.record.calibrations import calibrations_in


def host_calibrations(settings: Settings) -> Mapping[str, HostCalibration]:
    """Read what `predict calibrate` measured of this host's devices, by their names. Raises RecordError."""
    kept = calibrations_in(settings.outputs)
    return {name: calibration_of(one.benchmark) for name, one in kept.items()}
