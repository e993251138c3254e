"""Utilisation table: share of the devices' peak that trials used, and whether that peak is published or
calibrated.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.analysis.formatting import UNKNOWN, spread
from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.measurements.setting import Namer
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.deciding import choose_deciding
from orchestrator.core.interval import compute_spread
from orchestrator.core.result import TrainResult, TrialRecord, find_variables, find_versions
from orchestrator.core.trial_spec import representative

_Numbers = Mapping[str, float]


def utilisation_table(records: Iterable[TrialRecord], build_name: Namer) -> Table:
    """Make one row per setting, versions and kind of peak; none for trials with an unknown peak."""
    alike: dict[tuple[str, str, str], list[tuple[TrialRecord, _Numbers]]] = defaultdict(list)
    for record in records:
        for source, numbers in _find_kinds(record):
            ran_with = {**find_versions(record), **find_variables(record)}
            alike[build_name(representative(record.spec)), source, str(ran_with)].append((record, numbers))
    return Table(
        title="Utilisation",
        note=(
            "MFU is the share of the peak that the model's operations reached. A published peak "
            "is the vendor's figure. A calibrated peak is the fastest matrix product that the "
            "same processes computed with their framework."
        ),
        columns=(
            *list_columns("trial"),
            *list_columns("MFU %", "peak TFLOP/s", is_number=True),
            *list_columns("the peak is"),
        ),
        rows=tuple(
            (name, _over(values, "mfu", factor=100), _over(values, "peak", factor=1e-12), source)
            for (name, source, _), repeats in alike.items()
            if (values := _deciding(repeats))
        ),
    )


def _find_kinds(record: TrialRecord) -> Iterable[tuple[str, _Numbers]]:
    """Yield (source of the peak, its figures) for each peak that a measurement has."""
    if record.result is None or record.provenance != "measured":
        return
    peaks = [*_find_peaks(record.result)]
    metrics = collect_metrics(record) if peaks else {}
    for source, key, peak in peaks:
        yield source, {"peak": peak, **({"mfu": metrics[key]} if key in metrics else {})}


def _find_peaks(result: TrainResult) -> Iterable[tuple[str, str, float]]:
    """(source, metric, FLOP/s)."""
    if result.peaks and result.peaks.flops_per_second:
        yield f"published: {result.peaks.source}", "mfu", result.peaks.flops_per_second
    if result.calibration:
        yield result.calibration.source, "mfu_calibrated", result.calibration.flops_per_second


def _deciding(repeats: Sequence[tuple[TrialRecord, _Numbers]]) -> list[_Numbers]:
    steps = [find_step_seconds(record.result) if record.result else None for record, _ in repeats]
    rates = [1 / step.median if step else math.nan for step in steps]
    quiet = [describe_noise(record) == "" for record, _ in repeats]
    return [numbers for _, numbers in choose_deciding(repeats, rates, quiet)]


def _over(found: Sequence[_Numbers], key: str, *, factor: float) -> str:
    """Geometric mean over repeats, and their range."""
    values = [numbers[key] for numbers in found if key in numbers]
    if not values:
        return UNKNOWN
    return spread(compute_spread(values), factor=factor)
