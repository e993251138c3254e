"""Prediction of split convolutions from overrides and from the records of all sweeps."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.core.inventory import Inventory
from orchestrator.core.printable import command_text
from orchestrator.core.result import latest
from orchestrator.core.sweep import Point
from orchestrator.extensions.kernel_split.analysis.speedups import find_splits
from orchestrator.extensions.kernel_split.prediction.outlook import (
    SplitOutlook,
    require_known,
    split_outlooks,
)
from orchestrator.pipeline.components import list_command_words
from orchestrator.pipeline.point_settings import load_settings
from orchestrator.pipeline.preflight import build_inventory, load_ledgers
from orchestrator.plan.slots import find_host_cpu, find_slots
from orchestrator.plan.trial_specs import is_current
from orchestrator.train.registry import trainer_info


def predict_splits(overrides: Sequence[str], *, working_directory: Path) -> tuple[SplitOutlook, ...]:
    """Predict the speed-up of every point of a sweep that splits convolutions over several workers.

    Raises:
        ConfigError: an invalid override, no point that splits convolutions, or no measurement of any.
        RecordError: the sweep's own records cannot be read.
    """
    settings = load_settings(overrides, working_directory)
    points = settings.sweep.points
    records = chain.from_iterable(load_ledgers(settings).values())
    workloads = {point.workload for point in points}
    own = latest(
        record for record in records if record.spec.workload in workloads and is_current(record.spec)
    )
    inventory = build_inventory(settings)
    families = find_splits(find_measured(build_frame(own.values())), own.values())
    outlooks = split_outlooks(((point, _find_host(point, inventory)) for point in points), families)
    require_known(outlooks, command=command_text(list_command_words(settings)))
    return outlooks


def _find_host(point: Point, inventory: Inventory) -> str | None:
    """Return the CPU models of the hosts that would compute the point on their CPUs."""
    slots = find_slots(point, trainer_info(point.trainer), inventory=inventory)
    return find_host_cpu(point, slots, inventory=inventory)
