"""Effect of more workers: strong scaling at one global batch, weak scaling at one batch per worker. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from orchestrator.analysis.comparison.compare import compute_ratio, distinguishing_fields
from orchestrator.analysis.comparison.factors import BATCH, WORKERS, alike
from orchestrator.analysis.formatting import Number, count, percent, ratio, spread
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import format_label
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.interval import Spread

_APART = (WORKERS.field, *WORKERS.follows, BATCH.field)
_SHARED_CORES = (
    "Workers on a CPU share the cores of one host: their efficiency shows the cost of sharing, "
    "not the gain of another host."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Measurements that differ in the number of workers.

    Attributes:
        kind: `strong` with the same global batch, `weak` with the same batch for each worker.
        where: settings that they have in common.
        batch: the batch that stays the same, in words.
        points: the fewest workers first.
    """

    kind: Literal["strong", "weak"]
    where: str
    batch: str
    points: tuple[Measurement, ...]

    def speed_up(self, measurement: Measurement) -> Spread:
        """Samples per second over those of the fewest workers."""
        return compute_ratio(measurement.deciding_rates, self.points[0].deciding_rates)

    def efficiency(self, measurement: Measurement) -> Spread:
        """The speed-up over that of a setting in which every worker is as fast as those of the fewest."""
        ideal = measurement.setting.num_workers / self.points[0].setting.num_workers
        ratio = self.speed_up(measurement)
        return Spread(median=ratio.median / ideal, low=ratio.low / ideal, high=ratio.high / ideal)


def compute_scaling(measured: Sequence[Measurement]) -> tuple[Scaling, ...]:
    """Every set with more than one number of workers, strong ones first."""
    training = [measurement for measurement in measured if measurement.trains]
    where = [name for name in distinguishing_fields(training) if name not in _APART]
    return (*_strong(training, where), *_weak(training, where))


def _strong(training: Sequence[Measurement], where: Sequence[str]) -> Iterator[Scaling]:
    for group in alike(training, WORKERS):
        batch = group[0].setting.global_batch_size
        yield from _found("strong", group, where, batch=f"{batch:,}")


def _weak(training: Sequence[Measurement], where: Sequence[str]) -> Iterator[Scaling]:
    for group in alike(training, WORKERS, BATCH):
        by_share: dict[Fraction, list[Measurement]] = defaultdict(list)
        for member in group:
            by_share[Fraction(member.setting.global_batch_size, member.setting.num_workers)].append(member)
        for share, rates in by_share.items():
            batch = f"{float(share):,.6g} each"
            yield from _found("weak", rates, where, batch=batch)


def _found(
    kind: Literal["strong", "weak"], group: Sequence[Measurement], where: Sequence[str], *, batch: str
) -> Iterator[Scaling]:
    if len({measurement.setting.num_workers for measurement in group}) < 2:
        return
    yield Scaling(
        kind=kind,
        where=format_label(group[0].setting, where),
        batch=batch,
        points=tuple(sorted(group, key=lambda member: member.setting.num_workers)),
    )


def scaling_table(scalings: Sequence[Scaling]) -> Table:
    """One row per number of workers."""
    points = [point for one in scalings for point in one.points]
    shares_cores = any(point.setting.host and not point.setting.num_hosts for point in points)
    return Table(
        title="Scaling",
        note=(
            "Strong: constant global batch. Weak: constant batch per worker. Speed-up and "
            "efficiency refer to the fewest workers, with 95% intervals over repeats."
            + (f" {_SHARED_CORES}" if shares_cores else "")
        ),
        columns=(
            *list_columns("kind", "where", "batch"),
            *list_columns("workers", "samples/s", "speed-up", "efficiency", is_number=True),
        ),
        rows=tuple(
            (
                one.kind,
                one.where,
                one.batch,
                Number(f"{point.setting.num_workers:,} on {hosts} hosts", point.setting.num_workers)
                if (hosts := point.setting.num_hosts)
                else count(point.setting.num_workers),
                spread(point.samples_per_second),
                Number("1x", 1) if point is one.points[0] else ratio(one.speed_up(point)),
                Number("100%", 1) if point is one.points[0] else percent(one.efficiency(point)),
            )
            for one in scalings
            for point in one.points
        ),
    )
