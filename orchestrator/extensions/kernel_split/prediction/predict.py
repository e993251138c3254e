"""Prediction of split convolutions from overrides and from the records of all sweeps."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.core.printable import command_text
from orchestrator.core.result import latest
from orchestrator.extensions.kernel_split.analysis.speedups import find_splits
from orchestrator.extensions.kernel_split.prediction.outlook import (
    SplitOutlook,
    require_known,
    split_outlooks,
)
from orchestrator.pipeline.components import list_command_words
from orchestrator.pipeline.predictions import find_inputs, load_settings
from orchestrator.predict.step_time.own_records import is_current


def predict_splits(overrides: Sequence[str], *, working_directory: Path) -> tuple[SplitOutlook, ...]:
    """Predict the speed-up of every point of a sweep that splits convolutions over several workers.

    Raises:
        ConfigError: an invalid override, no point that splits convolutions, or no measurement of any.
        RecordError: the sweep's own records cannot be read.
    """
    inputs = find_inputs(load_settings(overrides, working_directory))
    points = inputs.settings.sweep.points
    workloads = {point.workload for point in points}
    own = latest(
        record for record in inputs.records if record.spec.workload in workloads and is_current(record.spec)
    )
    families = find_splits(find_measured(build_frame(own.values())), own.values())
    outlooks = split_outlooks(((point, inputs.find_host_cpu(point)) for point in points), families)
    require_known(outlooks, command=command_text(list_command_words(inputs.settings)))
    return outlooks
