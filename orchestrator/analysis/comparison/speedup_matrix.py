"""Speed-ups of devices and precisions over one reference, for everything else alike. Pure."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from orchestrator.analysis.comparison.baseline import is_base
from orchestrator.analysis.comparison.compare import Comparison, build_comparison, distinguishing_fields
from orchestrator.analysis.comparison.factors import DEVICE, PRECISION, alike, same_host
from orchestrator.analysis.formatting import UNKNOWN, Number, ratio
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import format_label
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.placement import Baseline

_APART = (DEVICE.field, *DEVICE.follows, PRECISION.field)
_REFERENCE = "1x, reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One grid of devices by precisions.

    Attributes:
        where: settings that all its cells have in common.
        cells: (device, precision) -> speed-up over the reference; None is the reference itself. What was not
            measured, or on the CPU of another host than the reference, is not there.
    """

    where: str
    cells: Mapping[tuple[str, str], Comparison | None]


def find_matrices(measured: Sequence[Measurement], baseline: Baseline | None) -> tuple[Matrix, ...]:
    """A matrix for each set that differs in device and precision alone, where that is more than one.

    The reference is the slowest of the baseline's measurements in it. Without a baseline it is the same
    device and precision in every matrix that has them: `_usual_reference`. Else it is the slowest of all.
    """
    training = [measurement for measurement in measured if measurement.trains]
    distinct = distinguishing_fields(training)
    groups = [group for group in alike(training, DEVICE, PRECISION) if len(group) > 1]
    usual = _usual_reference(groups)
    matrices = []
    for group in groups:
        ranked = sorted(group, key=_compute_rate)
        named = [member for member in ranked if baseline and is_base(member, baseline)]
        shared = [member for member in ranked if _find_cell(member) == usual]
        reference = (named or shared or ranked)[0]
        near = [member for member in group if same_host(member, reference)]
        if len(near) > 1:
            matrices.append(_build_matrix(near, reference, distinct=distinct))
    return tuple(matrices)


def _usual_reference(groups: Sequence[Sequence[Measurement]]) -> tuple[str, str] | None:
    """(device, precision) that most of the groups have; of several the slowest, by geometric mean."""
    logs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for group in groups:
        slowest: dict[tuple[str, str], float] = {}
        for member in sorted(group, key=_compute_rate):
            slowest.setdefault(_find_cell(member), math.log(_compute_rate(member)))
        for cell, log in slowest.items():
            logs[cell].append(log)
    return min(logs, key=lambda cell: (-len(logs[cell]), fmean(logs[cell])), default=None)


def _find_cell(measurement: Measurement) -> tuple[str, str]:
    return measurement.setting.device, measurement.setting.precision


def _compute_rate(measurement: Measurement) -> float:
    return measurement.samples_per_second.median


def _build_matrix(group: Sequence[Measurement], reference: Measurement, *, distinct: Sequence[str]) -> Matrix:
    return Matrix(
        where=format_label(reference.setting, [name for name in distinct if name not in _APART]),
        cells={
            (
                format_label(measurement.setting, ("device", "replicas", "ran_with")),
                measurement.setting.precision,
            ): (
                None
                if measurement is reference
                else build_comparison((DEVICE, PRECISION), (measurement, reference), distinct=distinct)
            )
            for measurement in group
        },
    )


def matrix_table(matrices: Sequence[Matrix]) -> Table:
    """One row per device of each matrix, one column per precision."""
    precisions = sorted(
        {precision for matrix in matrices for _, precision in matrix.cells},
        key=lambda name: (name != "fp32", name),
    )
    return Table(
        title="Speed-up by device and precision",
        note=(
            "Samples/s over those of the reference (1x), with the 95% interval over repeats and "
            f"seeds. Star: too few repeats for a verdict. {UNKNOWN}: not measured."
        ),
        columns=(
            *list_columns("where", "device"),
            *list_columns(*precisions, is_number=True),
        ),
        rows=tuple(
            (matrix.where, device, *(_cell(matrix, device, precision) for precision in precisions))
            for matrix in matrices
            for device in dict.fromkeys(device for device, _ in matrix.cells)
        ),
    )


def _cell(matrix: Matrix, device: str, precision: str) -> str:
    if (device, precision) not in matrix.cells:
        return UNKNOWN
    cell = matrix.cells[device, precision]
    if cell is None:
        return Number(_REFERENCE, 1)
    shown = ratio(cell.ratio)
    return Number(f"{shown}*", shown.value) if cell.verdict == "too few repeats" else shown
