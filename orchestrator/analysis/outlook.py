"""What was measured beside what is predicted of devices that are not here. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.compare import told_of
from orchestrator.analysis.cost import marks_of
from orchestrator.analysis.measured import Measured
from orchestrator.analysis.predicted import Predicted
from orchestrator.analysis.setting import Setting, label_of, setting_of, varying
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import UNKNOWN, Number, Spread, counted_marks, spread
from orchestrator.core.price import Price

_JOB = ("workload", "workload_options", "workload_version", "data")
_OTHERS = ("num_workers", "num_hosts", "global_batch_size", "steps")
_NOTE = (
    "The steps alone, in the steady state, for that is what can be predicted. Brackets of what was measured "
    "are its own spread, those of what is predicted are to hold 90 of 100 measurements. What is predicted "
    "was never run: measure it before money is spent on it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """One setting of a job.

    Attributes:
        known_by: `predicted`, `measured`, `measured, 1 noisy`.
        usd_per_million_samples: None where no price is known, with `marks` of that price.
    """

    label: str
    known_by: str
    step_seconds: Spread
    samples_per_second: Spread
    usd_per_million_samples: Spread | None
    marks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A workload and data of which something is predicted.

    Attributes:
        measured, predicted: the fastest first.
    """

    where: str
    measured: tuple[Prospect, ...]
    predicted: tuple[Prospect, ...]


def outlooks_of(measured: Sequence[Measured], predicted: Sequence[Predicted]) -> tuple[Outlook, ...]:
    """One for each workload and data of which something is predicted; what is refused is in its own table."""
    training = [each for each in measured if each.trains]
    known = [each for each in predicted if each.step_seconds is not None]
    settings = [*(each.setting for each in training), *(setting_of(each.trial) for each in known)]
    told = [*told_of(training), *varying(settings, _OTHERS)]
    where = ("workload", *varying(settings, _JOB[1:]))
    jobs: dict[tuple[object, ...], list[Predicted]] = defaultdict(list)
    for each in known:
        jobs[_job_of(setting_of(each.trial))].append(each)
    return tuple(
        Outlook(
            where=label_of(setting_of(group[0].trial), where),
            measured=_fastest_first(
                _measured(each, told) for each in training if _job_of(each.setting) == job
            ),
            predicted=_fastest_first(_predicted(each, told) for each in group),
        )
        for job, group in jobs.items()
    )


def _job_of(setting: Setting) -> tuple[object, ...]:
    return tuple(getattr(setting, name) for name in _JOB)


def _fastest_first(prospects: Iterable[Prospect]) -> tuple[Prospect, ...]:
    return tuple(sorted(prospects, key=lambda each: -each.samples_per_second.median))


def _measured(each: Measured, told: Sequence[str]) -> Prospect:
    own = ("device", "trainer", "precision", *(name for name in told if name not in _JOB))
    usd = each.usd_per_million_samples
    marked = counted_marks(num_noisy=each.num_noisy, num_resumed=each.num_resumed)
    return Prospect(
        label=label_of(each.setting, dict.fromkeys(own)),
        known_by=f"measured{marked}",
        step_seconds=each.step_seconds,
        samples_per_second=each.samples_per_second,
        usd_per_million_samples=usd if math.isfinite(usd.median) else None,
        marks=each.price_marks,
    )


def _predicted(each: Predicted, told: Sequence[str]) -> Prospect:
    step, batch = each.step_seconds, each.trial.global_batch_size
    assert step is not None
    own = ("device", "precision", *(name for name in told if name in _OTHERS))
    return Prospect(
        label=label_of(setting_of(each.trial), dict.fromkeys(own)),
        known_by="predicted",
        step_seconds=step,
        samples_per_second=Spread(median=batch / step.median, low=batch / step.high, high=batch / step.low),
        usd_per_million_samples=each.usd_per_million_samples,
        marks=", ".join(marks_of(each.price)) if isinstance(each.price, Price) else "",
    )


def outlook_table(outlooks: Sequence[Outlook]) -> Table:
    """Of each job what was measured, then what is predicted, the fastest first."""
    return Table(
        title="Measured and predicted",
        note=_NOTE,
        columns=(
            *(Column(header=each) for each in ("where", "setting", "known by")),
            *(Column(header=each, is_number=True) for each in ("samples/s", "step ms", "$/M samples")),
        ),
        rows=tuple(
            (
                each.where,
                one.label,
                one.known_by,
                spread(one.samples_per_second),
                spread(one.step_seconds, factor=1000),
                dollars_in(one),
            )
            for each in outlooks
            for one in (*each.measured, *each.predicted)
        ),
    )


def dollars_in(one: Prospect) -> str:
    """`0.0123 [0.0100, 0.0151] hypothetical`, of a million samples."""
    usd = one.usd_per_million_samples
    return UNKNOWN if usd is None else Number(f"{spread(usd)} {one.marks}".rstrip(), usd.median)
