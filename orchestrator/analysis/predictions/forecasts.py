"""Forecasts of a plan -> what trials would take and cost where their devices are, and their table. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.formatting import UNKNOWN, Number, count, counted, duration, spread
from orchestrator.analysis.measurements.setting import build_setting, format_label, varying
from orchestrator.analysis.table import Column, Rank, Table, list_columns
from orchestrator.analysis.tables.machine_start import describe_start
from orchestrator.core.estimate import Estimate, Forecast, Refusal
from orchestrator.core.interval import Spread, add_spreads
from orchestrator.core.price import Price, Unpriced, priced_as
from orchestrator.core.trial_spec import TrialSpec

PREDICTED = "Predicted"
"""Title of that table."""

_DIGITS = 2  # of intervals that are wide
_SECONDS_PER_HOUR = 3600
_MILLION = 1e6
_OTHERS = (
    "num_workers",
    "num_hosts",
    "global_batch_size",
    "steps",
    "memory_settings",
    "workload_options",
    "workload_version",
    "data",
)
_NOTE = (
    "Not measured: these devices are not here. Compiled: the device's own compiler estimated the step "
    "(docs/how_to/compiled.md). Brackets: 90% interval. Time and dollars are of one repeat, without set-up, "
    "compilation and evaluation. Trainers in one row have the same prediction."
)
_LIMITED = "At most: a target may end the training early."


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted(Forecast):
    """A prediction for trials on one kind of device that differ in trainer and seed alone.

    Attributes:
        trainers: trainers with their options, in words.
    """

    trainers: tuple[str, ...]

    @property
    def known_by(self) -> str:
        """`predicted`, `compiled`, or `refused`."""
        return "refused" if isinstance(self.step, Refusal) else self.step.provenance

    @property
    def step_seconds(self) -> Spread | None:
        """None: refused."""
        return None if isinstance(self.step, Refusal) else self.step.spread

    @property
    def seconds(self) -> Spread | None:
        """Time of all steps of one trial; None where refused, or where steps of other phases are unknown."""
        if self.step_seconds is None or self.num_phases > 1:
            return None
        return self.step_seconds.times(self.trial.steps)

    @property
    def hours(self) -> Spread | None:
        """The same in hours."""
        return None if self.seconds is None else self.seconds.times(1 / _SECONDS_PER_HOUR)

    @property
    def is_limit(self) -> bool:
        """True where a target may end the training before all of its steps."""
        return self.trial.timing.target is not None

    @property
    def usd(self) -> Spread | None:
        """Dollars of all steps of one trial; None without hours or without a price."""
        if self.hours is None or isinstance(self.price, Unpriced):
            return None
        return self.hours.times(self.price.usd_per_hour)

    @property
    def usd_per_million_samples(self) -> Spread | None:
        """None: refused, without a price, or where steps of other phases are unknown."""
        if self.step_seconds is None or self.num_phases > 1 or isinstance(self.price, Unpriced):
            return None
        usd_per_second = self.price.usd_per_hour / _SECONDS_PER_HOUR
        return self.step_seconds.times(usd_per_second * _MILLION / self.trial.global_batch_size)


def list_predicted(forecasts: Iterable[Forecast]) -> tuple[Predicted, ...]:
    """Group predictions in the order of the plan; trainers with equal predictions are joined."""
    alike: dict[tuple[object, ...], list[Forecast]] = defaultdict(list)
    for forecast in forecasts:
        setting = build_setting(forecast.trial)
        work = tuple(getattr(setting, name) for name in ("workload", "device", "precision", *_OTHERS))
        alike[(*work, forecast.trial.timing.target, forecast.step, forecast.price)].append(forecast)
    return tuple(
        Predicted(
            trial=group[0].trial,
            trainers=tuple(dict.fromkeys(_find_trainer(forecast.trial) for forecast in group)),
            num_trials=sum(forecast.num_trials for forecast in group),
            num_phases=group[0].num_phases,
            step=group[0].step,
            price=group[0].price,
        )
        for group in alike.values()
    )


def predicted_table(predicted: Sequence[Predicted]) -> Table:
    """Build the table: one row for trials with equal predictions, and one for their sum."""
    settings = [build_setting(forecast.trial) for forecast in predicted]
    named = ("workload", *varying(settings, _OTHERS))
    rows: list[tuple[str, ...]] = [
        (
            format_label(build_setting(forecast.trial), named),
            forecast.trial.device_label,
            forecast.trial.precision,
            ", ".join(forecast.trainers),
            count(forecast.num_trials),
            forecast.known_by,
            _format_spread(forecast.step_seconds, factor=1000),
            _format_duration(forecast.seconds, is_limit=forecast.is_limit),
            _format_spread(forecast.usd, is_limit=forecast.is_limit),
            _describe_origin(forecast),
        )
        for forecast in predicted
    ]
    complete = [forecast for forecast in predicted if forecast.seconds is not None]
    if len(complete) > 1:
        rows.append(_format_total(complete))
    return Table(
        title=PREDICTED,
        note=" ".join(
            (
                _NOTE,
                *([_LIMITED] if any(forecast.is_limit for forecast in complete) else []),
                *([_TOTAL] if len(complete) > 1 else []),
                *_list_prices(predicted),
                *filter(None, [describe_start(forecast.price for forecast in complete)]),
            )
        ),
        columns=(
            *list_columns("workload", "device", "precision", rank=Rank.SETTING),
            Column(header="trainers", rank=Rank.DETAIL),
            Column(header="trials", is_number=True, is_detail=True),
            Column(header="known by", rank=Rank.REPEATS),
            Column(header="step ms [90%]", is_number=True, rank=Rank.RATE),
            Column(header="time [90%]", is_number=True),
            Column(header="$ [90%]", is_number=True, rank=Rank.COST),
            Column(header="from, or why not"),
        ),
        rows=tuple(rows),
        has_total=len(complete) > 1,
    )


_TOTAL = "The total adds up the ends of the intervals, as if all of them erred alike."


def _format_total(forecasts: Sequence[Predicted]) -> tuple[str, ...]:
    trials = sum(forecast.num_trials for forecast in forecasts)
    seconds = _sum_parts([(forecast.seconds, forecast.num_trials) for forecast in forecasts])
    usd = _sum_parts([(forecast.usd, forecast.num_trials) for forecast in forecasts])
    is_limit = any(forecast.is_limit for forecast in forecasts)
    sums = (_format_duration(seconds, is_limit=is_limit), _format_spread(usd, is_limit=is_limit))
    named = ("all with a time", "", "", "", count(trials), "", "")
    return (*named, *sums, f"{counted(trials, 'trial')}, once each")


def _sum_parts(parts: Sequence[tuple[Spread | None, int]]) -> Spread | None:
    """Add the parts up; None if one of them is unknown."""
    summands = [value.times(count) for value, count in parts if value is not None]
    return add_spreads(summands) if len(summands) == len(parts) else None


def find_origin(step: Estimate | Refusal) -> str:
    """Return the source of an estimate, or the reason for its refusal and the measurement that helps."""
    return step.source if isinstance(step, Estimate) else f"{step.reason}; measure {step.to_measure}"


def _describe_origin(predicted: Predicted) -> str:
    origin = find_origin(predicted.step)
    if predicted.step_seconds is None:
        return origin
    if predicted.num_phases > 1:
        origin += f"; no time: this is a step of the last of {predicted.num_phases} phases"
    if isinstance(predicted.price, Unpriced):
        origin += f"; without a price: {predicted.price.reason}"
    return origin


def _list_prices(predicted: Iterable[Predicted]) -> Iterable[str]:
    """Format what each device is priced as, once for all of its rows."""
    return dict.fromkeys(
        f"{'' if one.trial.num_workers == 1 else f'{one.trial.num_workers} x '}{one.trial.device_label} "
        f"is priced as {priced_as(one.price)}."
        for one in predicted
        if one.step_seconds is not None and isinstance(one.price, Price)
    )


def _find_trainer(trial: TrialSpec) -> str:
    return format_label(build_setting(trial), ("trainer", "trainer_options"))


def _format_spread(value: Spread | None, *, factor: float = 1.0, is_limit: bool = False) -> str:
    """`0.12 [0.10, 0.15]`, `at most 0.12 [0.10, 0.15]`."""
    if value is None:
        return UNKNOWN
    return _limited(spread(value, factor=factor, digits=_DIGITS), is_limit=is_limit)


def _format_duration(seconds: Spread | None, *, is_limit: bool) -> str:
    """`12 min [10, 15]`, `at most 12 min [10, 15]`."""
    if seconds is None:
        return UNKNOWN
    return _limited(duration(seconds, digits=_DIGITS), is_limit=is_limit)


def _limited(shown: Number, *, is_limit: bool) -> Number:
    return Number(f"at most {shown}", shown.value) if is_limit else shown
