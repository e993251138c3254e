"""What a sweep found, as plain tables for the terminal and the page; units stand in their headers only."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.measured import Measured
from orchestrator.analysis.setting import Setting, setting_of, varying
from orchestrator.analysis.wording import UNKNOWN, counted, data_name, number, spread
from orchestrator.core.placement import Cached, Skipped
from orchestrator.core.result import TrialRecord
from orchestrator.core.spec import TrialSpec

_MOST_NAMES = 6
_ALWAYS = {"device": "device", "trainer": "trainer", "precision": "precision"}
_IF_VARYING = {
    "workload": "workload",
    "num_workers": "devices",
    "global_batch_size": "batch",
    "steps": "steps",
    "seed": "seed",
    "options": "options",
    "data": "data",
    "host": "host",
}
_COUNTS = ("num_workers", "global_batch_size", "steps", "seed")
_TIMES = ("samples/s", "step ms", "first step s", "set-up s", "final loss")
_DETAILS = _TIMES[2:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A header with its unit; numbers are aligned to the right, and details go first where room is short."""

    header: str
    is_number: bool = False
    is_detail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, a sentence on how to read it, and the cells as they are shown."""

    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def measured_table(measured: Sequence[Measured]) -> Table:
    """One row per point; what is the same in all of them is told once, in the note."""
    settings = [each.setting for each in measured]
    others = varying(settings, _IF_VARYING)
    named = {**_ALWAYS, **{name: _IF_VARYING[name] for name in others}}
    quality = tuple(dict.fromkeys(name for each in measured for name in each.quality))
    columns = [Column(header=header, is_number=name in _COUNTS) for name, header in named.items()]
    columns += [
        Column(header=header, is_number=True, is_detail=header in _DETAILS) for header in (*_TIMES, *quality)
    ]
    return Table(
        title="Measured",
        note=(
            "Medians. The brackets hold the interval over the timed blocks of one trial, or the range over "
            f"several repeats. {_same_in_all(settings, apart_from=others)}"
        ),
        columns=(*columns, Column(header="over")),
        rows=tuple(_measured_row(each, named=named, quality=quality) for each in measured),
    )


def _measured_row(each: Measured, *, named: Iterable[str], quality: Iterable[str]) -> tuple[str, ...]:
    return (
        *(_shown(each.setting, name) for name in named),
        spread(each.samples_per_second),
        spread(each.step_seconds, factor=1000),
        number(each.first_step_seconds.median),
        number(each.setup_seconds.median),
        spread(each.final_loss),
        *(spread(each.quality[name]) if name in each.quality else UNKNOWN for name in quality),
        counted(each.num_repeats, "repeat") if each.num_repeats > 1 else counted(each.num_blocks, "block"),
    )


def _same_in_all(settings: Sequence[Setting], *, apart_from: Iterable[str]) -> str:
    if not settings:
        return ""
    first = settings[0]
    names = [name for name in _IF_VARYING if name not in apart_from and getattr(first, name) != ""]
    same = ", ".join(f"{_IF_VARYING[name]} {_shown(first, name)}" for name in names)
    return f"The same in all rows: {same}."


def _shown(setting: Setting, name: str) -> str:
    value = getattr(setting, name)
    return data_name(value) if name == "data" else str(value)


def rehearsed_table(records: Iterable[TrialRecord]) -> Table:
    """Devices that are not there: what stood in for them, and whether the code path passed. No times."""
    precisions: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for each in records:
        precisions[_rehearsal_of(each)].append(each.spec.precision)
    return Table(
        title="Rehearsed",
        note=(
            "These devices are not here. A few steps of the same code ran on the CPU, to find errors before "
            "money is spent; their times say nothing and are not shown."
        ),
        columns=tuple(
            Column(header=each)
            for each in (
                "workload",
                "device",
                "trainer",
                "devices",
                "precisions",
                "outcome",
                "in place of the device",
            )
        ),
        rows=tuple(
            (*key[:4], ", ".join(dict.fromkeys(found)), *key[4:]) for key, found in precisions.items()
        ),
    )


def _rehearsal_of(record: TrialRecord) -> tuple[str, ...]:
    """What is equal in the precisions that share a row."""
    spec = record.spec
    outcome = f"failed: {record.failure.kind}" if record.failure else "passed"
    substitutions = "; ".join(record.placement.substitutions) or UNKNOWN
    return spec.workload, spec.device, spec.trainer, str(spec.num_workers), outcome, substitutions


def failed_table(records: Iterable[TrialRecord]) -> Table:
    """One row per trial whose last attempt failed."""
    return Table(
        title="Failed",
        note="Logs lie beside this page. The same command runs these trials again.",
        columns=tuple(
            Column(header=each) for each in ("trial", "provenance", "attempt", "class", "cause", "log")
        ),
        rows=tuple(_failed_row(each) for each in records),
    )


def _failed_row(record: TrialRecord) -> tuple[str, ...]:
    assert record.failure is not None
    return (
        trial_name(record.spec),
        record.provenance,
        str(record.attempt),
        record.failure.kind,
        record.failure.message,
        record.log_path or UNKNOWN,
    )


def skipped_table(skipped: Iterable[Skipped]) -> Table:
    """One row per reason, the commonest first."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for each in skipped:
        by_reason[each.reason].append(each.point)
    return _grouped("points", by_reason, title="Skipped", note="Points that cannot run here, and why.")


def stale_table(cached: Iterable[Cached]) -> Table:
    """Results from an environment that has changed since, one row per change."""
    by_change: dict[str, list[str]] = defaultdict(list)
    for each in cached:
        if each.stale is not None:
            by_change[each.stale].append(trial_name(each.trial))
    return _grouped("trials", by_change, title="Stale", note="Results that were made with other versions.")


def warnings_table(records: Iterable[TrialRecord]) -> Table:
    """What a reader of the results must know, one row per warning."""
    by_warning: dict[str, list[str]] = defaultdict(list)
    for each in records:
        for warning in each.placement.warnings:
            by_warning[warning].append(trial_name(each.spec))
    return _grouped("trials", by_warning, title="Warnings", note="What the plan said of these trials.")


def _grouped(counted_things: str, groups: Mapping[str, Sequence[str]], *, title: str, note: str) -> Table:
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return Table(
        title=title,
        note=note,
        columns=(
            Column(header=counted_things, is_number=True),
            Column(header="reason"),
            Column(header="which"),
        ),
        rows=tuple((f"{len(names):,}", reason, _some(names)) for reason, names in ordered),
    )


def _some(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else []
    return "; ".join([*names[:_MOST_NAMES], *more])


def trial_name(spec: TrialSpec) -> str:
    """What tells a trial from the others of a sweep, in one line."""
    words = [spec.workload, spec.device, spec.trainer, spec.precision, setting_of(spec).options]
    words += [f"{spec.num_workers} devices"] if spec.num_workers > 1 else []
    words += [f"seed {spec.seed}"] if spec.seed else []
    words += [f"repeat {spec.repeat}"] if spec.repeat else []
    return " ".join(word for word in words if word)
