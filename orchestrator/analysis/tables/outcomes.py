"""Outcomes of a sweep's trials as plain tables for the terminal and the page."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.analysis.formatting import UNKNOWN, FileLink, count, number
from orchestrator.analysis.measurements.noise import (
    IMPOSSIBLE,
    SHORT,
    WAITS,
    has_impossible_times,
    is_timed_too_shortly,
    waits_for_data,
)
from orchestrator.analysis.measurements.setting import DETAILS, Namer, build_setting, format_label, varying
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.errors import FailureKind
from orchestrator.core.placement import Cached, Skipped
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import representative
from orchestrator.plan.cache import OWN_DOING

_MOST_NAMES = 6
_UNCHECKED = "not checked, for the code is a user's own: "

FAILED = "Failed"
"""Title of the table of failures."""


def rehearsed_table(records: Sequence[TrialRecord]) -> Table:
    """Devices that are not there: what stood in for them, and whether the code path passed. No times."""
    named = ("workload", *varying([build_setting(record.spec) for record in records], DETAILS))
    precisions: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for record in records:
        spec = record.spec
        workload = format_label(build_setting(spec), named)
        outcome = f"failed: {record.failure.kind}" if record.failure else "passed"
        substitutions = "; ".join(record.placement.substitutions) or UNKNOWN
        equal = (workload, spec.device_label, spec.trainer, outcome, substitutions)
        precisions[equal].append(spec.precision)
    return Table(
        title="Rehearsed",
        note=(
            "These devices are not here. A few steps of the same code ran on the CPU, to find errors before "
            "money is spent. Their times mean nothing and are not shown."
        ),
        columns=list_columns(
            "workload", "device", "trainer", "precisions", "outcome", "in place of the device"
        ),
        rows=tuple(
            (*key[:3], ", ".join(dict.fromkeys(precisions_of)), *key[3:])
            for key, precisions_of in precisions.items()
        ),
    )


def failed_table(records: Sequence[TrialRecord], build_name: Namer) -> Table:
    """Make a row per trial with a failed last attempt, with the words that run it again."""
    needs_flag = any(record.failure and record.failure.kind in OWN_DOING for record in records)
    return Table(
        title=FAILED,
        note=_FAILED + (_OWN if needs_flag else ""),
        columns=list_columns("trial", "provenance", "attempt", "class", "cause", "to run it again", "log"),
        rows=tuple(_failed_row(record, build_name) for record in records),
    )


def pruned_table(records: Sequence[TrialRecord], build_name: Namer) -> Table:
    """Make a row per trial that a search ended early."""
    return Table(
        title="Pruned",
        note=_PRUNED,
        columns=(
            *list_columns("trial"),
            *list_columns("steps", "training s", is_number=True),
            *list_columns("why", "asked"),
        ),
        rows=tuple(
            (
                build_name(record.spec),
                count(record.pruning.shown.steps),
                number(record.pruning.shown.training_seconds),
                record.pruning.why,
                record.pruning.question,
            )
            for record in records
            if record.pruning
        ),
    )


_PRUNED = (
    "The search ended these trials early because they could not win, as asked. They are no results: their "
    "settings count as predicted, from the steps that they showed. search=grid runs them to their end."
)
_FAILED = "Logs are in the folder of this page. The same command is the one that ran this sweep."
_OWN = " It does not repeat a trial whose own error would occur again. --rerun-failed runs all of them again."


def _again(record: TrialRecord, kind: FailureKind) -> str:
    if kind in OWN_DOING:
        return f"the same command with --rerun {record.trial_id}"
    if kind == "budget":
        return "the same command with a higher cap (see the cause)"
    return "the same command"


def _failed_row(record: TrialRecord, build_name: Namer) -> tuple[str, ...]:
    assert record.failure is not None
    return (
        build_name(record.spec),
        record.provenance,
        str(record.attempt),
        record.failure.kind,
        record.failure.message,
        _again(record, record.failure.kind),
        FileLink(record.log_path) if record.log_path else UNKNOWN,
    )


def skipped_table(skipped: Iterable[Skipped]) -> Table:
    """Make a row per reason, the commonest first."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for skipped_point in skipped:
        by_reason[skipped_point.reason].append(skipped_point.point)
    return _grouped(
        "points", by_reason, title="Skipped", note=("Points that cannot run here, with the reason.")
    )


def stale_table(cached: Iterable[Cached], build_name: Namer) -> Table:
    """Results from an environment that has changed since, one row per change."""
    by_change: dict[str, list[str]] = defaultdict(list)
    for cached_trial in cached:
        if cached_trial.stale is not None:
            by_change[cached_trial.stale].append(build_name(representative(cached_trial.trial)))
    return _grouped("trials", by_change, title="Stale", note="Results that used other versions.")


def warnings_table(records: Iterable[TrialRecord], build_name: Namer) -> Table:
    """Build the table of warnings that a reader of the results must know, one row per warning."""
    by_warning: dict[str, list[str]] = defaultdict(list)
    for record in records:
        warnings = [*record.placement.warnings]
        warnings += [f"{_UNCHECKED}{what}" for what in (record.result.unchecked if record.result else ())]
        if waits_for_data(record):
            warnings.append(WAITS)
        if is_timed_too_shortly(record):
            warnings.append(SHORT)
        if has_impossible_times(record):
            warnings.append(IMPOSSIBLE)
        if warnings:
            name = build_name(representative(record.spec))
            for warning in warnings:
                by_warning[warning].append(name)
    return _grouped("trials", by_warning, title="Warnings", note="Warnings about these trials.")


def _grouped(counted_things: str, groups: Mapping[str, Sequence[str]], *, title: str, note: str) -> Table:
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return Table(
        title=title,
        note=note,
        columns=(*list_columns(counted_things, is_number=True), *list_columns("reason", "which")),
        rows=tuple((count(len(names)), reason, _some(names)) for reason, names in ordered),
    )


def _some(names: Iterable[str]) -> str:
    """Name each once, and count those that are left."""
    distinct = list(dict.fromkeys(names))
    more = [f"and {len(distinct) - _MOST_NAMES:,} more"] if len(distinct) > _MOST_NAMES else []
    return "; ".join([*distinct[:_MOST_NAMES], *more])


_RUNS = (
    "Scripts that reported no step: from the start of the command to its end, on the slowest worker, and the "
    "cost of the whole trial. They have no times of steps and are not compared. Their devices and precision "
    "were not seen."
)


def find_runs(records: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    """Return the records of scripts that were measured as a whole."""
    return tuple(
        record
        for record in records
        if record.result and record.result.run_seconds and record.provenance == "measured"
    )


def runs_table(runs: Sequence[TrialRecord], build_name: Namer) -> Table:
    """Make a row per trial; a run that has a result ended with exit code 0."""
    return Table(
        title="Runs",
        note=_RUNS,
        columns=(*list_columns("trial"), *list_columns("run s", "exit code", "$", is_number=True)),
        rows=tuple(_run_row(record, build_name) for record in runs),
    )


def _run_row(record: TrialRecord, build_name: Namer) -> tuple[str, ...]:
    metrics = collect_metrics(record)
    usd = metrics.get("attempt_usd")
    return (
        build_name(record.spec),
        number(metrics["run_seconds"]),
        number(0),
        UNKNOWN if usd is None else number(usd),
    )
