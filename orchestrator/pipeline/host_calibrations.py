"""Calibrations of the user's devices, for predictions."""

from collections.abc import Mapping

from orchestrator.core.calibration import DeviceBenchmark
from orchestrator.core.settings import Settings
from orchestrator.record.calibrations import calibrations_in


def host_calibrations(settings: Settings) -> Mapping[str, DeviceBenchmark]:
    """Read what `predict calibrate` measured, by `Calibration.place`. Raises RecordError."""
    return {place: one.benchmark for place, one in calibrations_in(settings.outputs).items()}
