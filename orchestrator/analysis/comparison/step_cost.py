"""Step times over batch sizes -> fixed time of a step, and time of each further sample. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.analysis.comparison.compare import distinguishing_fields
from orchestrator.analysis.comparison.factors import BATCH, alike
from orchestrator.analysis.formatting import UNKNOWN, share, spread
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import format_label
from orchestrator.analysis.metrics.student import t_95
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.interval import Spread

LEAST_BATCHES = 3
"""Batch sizes that a line needs: through two of them any line fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """seconds of a step = fixed_seconds + seconds_per_sample x batch.

    Attributes:
        fixed_seconds, seconds_per_sample: estimates with 95% intervals.
        largest_residual: largest residual relative to the measured step.
    """

    fixed_seconds: Spread
    seconds_per_sample: Spread
    largest_residual: float

    def seconds(self, batch: float) -> float:
        """Return the seconds of one step with that batch."""
        return self.fixed_seconds.median + self.seconds_per_sample.median * batch

    def fixed_share(self, batch: float) -> float:
        """Return the fixed share of the step with that batch; None where the line has a negative part."""
        fixed, rest = self.fixed_seconds.median, self.seconds_per_sample.median
        return fixed / self.seconds(batch) if fixed >= 0 and rest >= 0 else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeFit:
    """Measurements that differ in their batch, and the line through them; None of fewer than three batches.

    Attributes:
        where: settings that they have in common.
        points: the smallest batch first.
    """

    where: str
    points: tuple[Measurement, ...]
    line: CostLine | None

    @property
    def batches(self) -> tuple[int, ...]:
        """The smallest first."""
        return tuple(point.setting.global_batch_size for point in self.points)

    @property
    def saved(self) -> float:
        """Time per sample saved by the largest batch over the smallest, as a fraction."""
        first, last = (
            point.step_seconds.median / point.setting.global_batch_size
            for point in (self.points[0], self.points[-1])
        )
        return 1 - last / first


def fit_step_costs(measured: Sequence[Measurement]) -> tuple[StepTimeFit, ...]:
    """Every set of more than one batch size that is alike in all else."""
    training = [measurement for measurement in measured if measurement.trains]
    distinct = [name for name in distinguishing_fields(training) if name != BATCH.field]
    return tuple(
        _compute_cost(sorted(group, key=lambda member: member.setting.global_batch_size), distinct=distinct)
        for group in alike(training, BATCH)
        if len(group) > 1
    )


def _compute_cost(points: Sequence[Measurement], *, distinct: Sequence[str]) -> StepTimeFit:
    pairs = [(point.setting.global_batch_size, point.step_seconds.median) for point in points]
    return StepTimeFit(
        where=format_label(points[0].setting, distinct),
        points=tuple(points),
        line=line_through(pairs) if len(points) >= LEAST_BATCHES else None,
    )


def line_through(points: Sequence[tuple[float, float]]) -> CostLine:
    """Least squares of relative errors, for the noise of a time grows with it.

    Args:
        points: at least three (batch, seconds of a step), no two of the same batch.

    Intervals are Student's, with two degrees of freedom fewer than points: Draper and Smith, Applied
    Regression Analysis, sections 1.4 and 9.2.
    """
    weights = [1 / seconds**2 for _, seconds in points]
    total = sum(weights)
    batch_mean = sum(w * batch for w, (batch, _) in zip(weights, points, strict=True)) / total
    seconds_mean = sum(w * seconds for w, (_, seconds) in zip(weights, points, strict=True)) / total
    spread_of_batches = sum(w * (b - batch_mean) ** 2 for w, (b, _) in zip(weights, points, strict=True))
    together = sum(w * (b - batch_mean) * s for w, (b, s) in zip(weights, points, strict=True))
    slope = together / spread_of_batches
    fixed = seconds_mean - slope * batch_mean
    residuals = [1 - (fixed + slope * batch) / seconds for batch, seconds in points]
    freedom = len(points) - 2
    noise = sum(residual**2 for residual in residuals) / freedom
    slope_half = t_95(freedom) * math.sqrt(noise / spread_of_batches)
    fixed_half = t_95(freedom) * math.sqrt(noise * (1 / total + batch_mean**2 / spread_of_batches))
    return CostLine(
        fixed_seconds=Spread(median=fixed, low=fixed - fixed_half, high=fixed + fixed_half),
        seconds_per_sample=Spread(median=slope, low=slope - slope_half, high=slope + slope_half),
        largest_residual=max(map(abs, residuals)),
    )


def step_cost_table(costs: Sequence[StepTimeFit]) -> Table:
    """One row per set of batch sizes."""
    return Table(
        title="Step cost",
        note=(
            "Step seconds = fixed + per sample x batch, fitted to the medians of all batch "
            "sizes; brackets are 95% intervals of the fit. A larger batch saves the fixed part."
        ),
        columns=(
            *list_columns("where", "batches"),
            *list_columns("fixed ms", "per sample ms", "fixed part", "saved per sample", is_number=True),
            *list_columns("largest residual", is_number=True),
            *list_columns("remark"),
        ),
        rows=tuple((cost.where, ", ".join(map(str, cost.batches)), *_fitted(cost)) for cost in costs),
    )


def _fitted(cost: StepTimeFit) -> tuple[str, ...]:
    saved = share(cost.saved)
    if cost.line is None:
        return UNKNOWN, UNKNOWN, UNKNOWN, saved, UNKNOWN, f"a line takes {LEAST_BATCHES} batch sizes"
    return (
        spread(cost.line.fixed_seconds, factor=1e3),
        spread(cost.line.seconds_per_sample, factor=1e3),
        share(cost.line.fixed_share(cost.batches[0])),
        saved,
        share(cost.line.largest_residual, decimals=1),
        _remark(cost.line),
    )


def _remark(line: CostLine) -> str:
    if line.fixed_seconds.median < 0:
        return "negative fixed part: step time grows faster than the batch, so the line does not fit"
    if line.seconds_per_sample.median < 0:
        return "larger batches took less time: the line does not fit"
    return "" if line.fixed_seconds.low > 0 else "no fixed part is shown: its interval contains 0"
