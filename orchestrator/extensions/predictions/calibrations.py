"""The micro-benchmarks of devices that a user has made: `outputs/calibrations.jsonl`, one a line."""

import logging
from collections.abc import Mapping
from pathlib import Path

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.settings import Settings
from orchestrator.extensions.predictions.calibration import Calibration, DeviceBenchmark

logger = logging.getLogger(__name__)

_NAME = "calibrations.jsonl"


def add_calibration(outputs: Path, calibration: Calibration) -> Path:
    """Append a benchmark; return its file. Raises RecordError."""
    path = outputs / _NAME
    try:
        outputs.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{to_json(calibration)}\n")
    except OSError as error:
        raise RecordError(f"the benchmark cannot be kept in {str(path)!r}: {error.strerror}") from error
    return path


def calibrations_in(outputs: Path) -> Mapping[str, Calibration]:
    """Return the newest benchmark of every device or CPU, by `Calibration.place`; none without the file.

    A line that is none is left out and logged: a prediction must not fail for it.

    Raises:
        RecordError: the file cannot be read.
    """
    path = outputs / _NAME
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{str(path)!r} cannot be read: {error}") from error
    newest: dict[str, Calibration] = {}
    for number, line in enumerate(lines, start=1):
        try:
            calibration = from_json(Calibration, line)
        except RecordError as error:
            logger.warning("%s: line %d is left out: %s", path, number, error)
            continue
        newest[calibration.place] = calibration
    return newest


def host_calibrations(settings: Settings) -> Mapping[str, DeviceBenchmark]:
    """Read what `predict calibrate` measured, by `Calibration.place`. Raises RecordError."""
    return {place: one.benchmark for place, one in calibrations_in(settings.outputs).items()}
