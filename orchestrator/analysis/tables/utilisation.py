"""Utilisation table: share of the devices' peak that trials used, and whether that peak is published or
calibrated.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from orchestrator.analysis.formatting import UNKNOWN, spread
from orchestrator.analysis.measurements.setting import Namer
from orchestrator.analysis.metrics.definitions import metrics_of
from orchestrator.analysis.table import Column, Table
from orchestrator.core.interval import Spread
from orchestrator.core.result import TrainResult, TrialRecord, variables_of, versions_of
from orchestrator.core.trial_spec import representative

_Numbers = Mapping[str, float]


def utilisation_table(records: Iterable[TrialRecord], name_of: Namer) -> Table:
    """One row per setting, versions and kind of peak; nothing of trials whose peak is unknown."""
    alike: dict[tuple[str, str, str], list[_Numbers]] = defaultdict(list)
    for record in records:
        for source, numbers in _kinds_of(record):
            ran_with = {**versions_of(record), **variables_of(record)}
            alike[name_of(representative(record.spec)), source, str(ran_with)].append(numbers)
    return Table(
        title="Utilisation",
        note=(
            "MFU is the share of the peak that the model's operations reached. A published peak "
            "is the vendor's figure. A calibrated peak is the fastest matrix product that the "
            "same processes computed with their framework."
        ),
        columns=(
            Column(header="trial"),
            Column(header="MFU %", is_number=True),
            Column(header="peak TFLOP/s", is_number=True),
            Column(header="the peak is"),
        ),
        rows=tuple(
            (name, _over(values, "mfu", factor=100), _over(values, "peak", factor=1e-12), source)
            for (name, source, _), values in alike.items()
        ),
    )


def _kinds_of(record: TrialRecord) -> Iterable[tuple[str, _Numbers]]:
    """(where the peak comes from, what is known of it) for each peak that a measurement has."""
    if record.result is None or record.provenance != "measured":
        return
    peaks = [*_peaks_of(record.result)]
    metrics = metrics_of(record) if peaks else {}
    for source, key, peak in peaks:
        yield source, {"peak": peak, **({"mfu": metrics[key]} if key in metrics else {})}


def _peaks_of(result: TrainResult) -> Iterable[tuple[str, str, float]]:
    """(source, metric, FLOP/s)."""
    if result.peaks and result.peaks.flops_per_second:
        yield f"published: {result.peaks.source}", "mfu", result.peaks.flops_per_second
    if result.calibration:
        yield result.calibration.source, "mfu_calibrated", result.calibration.flops_per_second


def _over(found: Sequence[_Numbers], key: str, *, factor: float) -> str:
    """Median over repeats, and their range."""
    values = [numbers[key] for numbers in found if key in numbers]
    if not values:
        return UNKNOWN
    return spread(Spread(median=median(values), low=min(values), high=max(values)), factor=factor)
