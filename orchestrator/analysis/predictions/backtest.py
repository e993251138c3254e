"""Measurements beside what would have been predicted without them, and how often the intervals held. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from orchestrator.analysis.comparison.compare import distinguishing_fields
from orchestrator.analysis.formatting import counted, number, share, spread
from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import format_label
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.estimate import Estimate, TrackRecord

_MS = 1000
_NOTE = (
    "Predictions made without own records of the workload; the fit may contain published "
    "measurements of it. Brackets should contain 90 of 100 measurements."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestRow:
    """A measurement, and what would have been thought of it.

    Attributes:
        predicted, measured: seconds of a step.
        is_noisy: something else disturbed every repeat.
    """

    label: str
    predicted: Estimate
    measured: float
    is_noisy: bool = False

    @property
    def is_inside(self) -> bool:
        """The interval held it."""
        return self.predicted.holds(self.measured)

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted.likely


def pair_backtests(
    measured: Sequence[Measurement], hindcasts: Mapping[str, Estimate]
) -> tuple[BacktestRow, ...]:
    """Pair every measurement with the prediction that would have been made without it, if any."""
    training = [measurement for measurement in measured if measurement.trains]
    distinct = distinguishing_fields(training)
    own = dict.fromkeys(("workload", "device", "trainer", "precision", *distinct))
    return tuple(
        BacktestRow(
            label=format_label(measurement.setting, own),
            predicted=predicted,
            measured=measurement.timed_step_seconds.median,
            is_noisy=not measurement.num_deciding,
        )
        for measurement in training
        for predicted in [hindcasts[point] for point in measurement.points if point in hindcasts][:1]
    )


def hindsight_table(hindsights: Sequence[BacktestRow], so_far: TrackRecord) -> Table:
    """One row for each."""
    return Table(
        title="Predicted, then measured",
        note=" ".join((_NOTE, *_find_calibration(hindsights, so_far, num_here=len(hindsights)))),
        columns=(
            *list_columns("of"),
            *list_columns("predicted ms [90%]", "measured ms", "measured / predicted", is_number=True),
            *list_columns("in the interval", "from"),
        ),
        rows=tuple(
            (
                hindsight.label,
                spread(hindsight.predicted.spread, factor=_MS),
                number(_MS * hindsight.measured),
                number(hindsight.ratio),
                "yes" if hindsight.is_inside else "no",
                hindsight.predicted.source,
            )
            for hindsight in hindsights
        ),
    )


def describe_hindsight(hindsights: Sequence[BacktestRow], so_far: TrackRecord) -> Iterator[str]:
    """Format both numbers of a single measurement, of several how often the intervals held; then all sweeps.

    Measurements on a busy host are left out.
    """
    quiet = [one for one in hindsights if not one.is_noisy]
    if len(quiet) == 1:
        (only,) = quiet
        measured = f"measured {number(_MS * only.measured)}"
        yield f"{only.label}: predicted {spread(only.predicted.spread, factor=_MS)} ms a step, {measured}."
    if quiet:
        yield from _find_calibration(quiet, so_far, num_here=len(hindsights))


def _find_calibration(
    hindsights: Sequence[BacktestRow], so_far: TrackRecord, *, num_here: int
) -> Iterator[str]:
    if len(hindsights) > 1:
        errors = [abs(1 / hindsight.ratio - 1) for hindsight in hindsights]
        yield (
            f"{_held(sum(row.is_inside for row in hindsights), len(hindsights))}; the middle error is "
            f"{share(median(errors))}."
        )
    if so_far.num_measured > num_here:
        yield f"In all sweeps, on these devices: {_held(so_far.num_inside, so_far.num_measured)}."


def _held(inside: int, measured: int) -> str:
    return (
        f"{inside:,} of {counted(measured, 'measurement')} in the interval that was predicted without it "
        f"({share(inside / measured)}; 90% should)"
    )
