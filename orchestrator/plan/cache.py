"""Records that answer a trial, and the changes since they were made. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from orchestrator.core.errors import UNSOUND
from orchestrator.core.placement import Cached, Failed, Outdated, Plan, Provenance
from orchestrator.core.result import ACCELERATOR_SOFTWARE, TrialRecord
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.core.trial_spec import point_id

CachedResults = Mapping[tuple[str, Provenance], TrialRecord]
"""(trial_id, provenance) -> the newest record that has a result, or of those that have none."""

OWN_DOING = ("oom", *UNSOUND)
"""Kinds that the same trial would come to again; the others are the host's doing."""


def results_by_trial(records: Iterable[TrialRecord]) -> CachedResults:
    """The records that have a result."""
    return _newest(record for record in records if record.result is not None)


def list_failures(records: Iterable[TrialRecord]) -> CachedResults:
    """The records of failures."""
    return _newest(record for record in records if record.failure is not None)


def is_outdated(record: TrialRecord, outdated: Mapping[str, Outdated]) -> bool:
    """Return whether a record is a result of before its script's files changed, or a failure of then."""
    known = outdated.get(record.trial_id)
    return known is not None and record.ended_at <= known.until


def without_outdated(
    records: Iterable[TrialRecord], outdated: Mapping[str, Outdated]
) -> tuple[TrialRecord, ...]:
    """Return the records that are still valid for their trials."""
    return tuple(record for record in records if not is_outdated(record, outdated))


def _newest(records: Iterable[TrialRecord]) -> CachedResults:
    return {
        (record.trial_id, record.provenance): record for record in sorted(records, key=attrgetter("ended_at"))
    }


def reuse_results(
    answered: Iterable[Cached | Failed], ledgers: Mapping[str, Sequence[TrialRecord]], *, sweep: str
) -> tuple[TrialRecord, ...]:
    """Return the records that a sweep's ledger copies from others, so that a report needs this ledger alone.

    Each result that another sweep has, and all attempts that failed there: they cost too.

    Args:
        answered: trials that the ledgers answer.
        ledgers: records of every sweep, by its name.
    """
    every = [record for records in ledgers.values() for record in records]
    own = ledgers.get(sweep, ())
    had = {Cached: results_by_trial(own), Failed: list_failures(own)}
    by_kind = {Cached: results_by_trial(every), Failed: list_failures(every)}
    failed: dict[tuple[str, str, Provenance], list[TrialRecord]] = defaultdict(list)
    for record in every:
        if record.failure is not None:
            failed[record.sweep, record.trial_id, record.provenance].append(record)
    reused = []
    for cached_trial in answered:
        answer = (cached_trial.trial_id, cached_trial.provenance)
        record = by_kind[type(cached_trial)][answer]
        own_record = had[type(cached_trial)].get(answer)
        if own_record is not None and _get_files(own_record) == _get_files(record):
            continue
        reused += failed[record.sweep, *answer]
        if record.result is not None:
            reused.append(record)
    return tuple(
        replace(record, sweep=sweep, reused_from=record.reused_from or record.sweep, log_path=None)
        for record in reused
    )


def _get_files(record: TrialRecord) -> Mapping[str, str]:
    """Return the hashes of the files that a script read; none of a failure."""
    return record.result.read_files if record.result else {}


def would_fail_again(record: TrialRecord, environment: TrainerEnvironment, *, code_sha256: str) -> bool:
    """Return whether a failure was the trial's own, and neither the code nor a version has changed since."""
    if record.failure is None or record.failure.kind not in OWN_DOING:
        return False
    return record.environment.get("code_sha256") == code_sha256 and stale(record, environment) is None


def stale(record: TrialRecord, environment: TrainerEnvironment) -> str | None:
    """Describe the versions in which the record's environment differs from the current one; None if none
    differs.
    """
    kinds = [part.kind for part in record.placement.parts]
    recorded = {**dict.fromkeys(ACCELERATOR_SOFTWARE, "unknown"), **record.environment}
    changes = (
        f"{package} {recorded[package]} then, {version} now"
        for package, version in environment.versions_on(kinds).items()
        if recorded.get(package, version) != version
    )
    return ", ".join(changes) or None


def with_further_repeats(plan: Plan, records: Iterable[TrialRecord]) -> Plan:
    """Add the results of a sweep's ledger that are further repeats of the points that the plan asks for."""
    asked, points = {one.trial_id for one in plan.asked}, {point_id(one.trial) for one in plan.asked}
    further = tuple(
        Cached(trial=record.spec, trial_id=record.trial_id, provenance=record.provenance)
        for record in results_by_trial(records).values()
        if record.provenance == "measured"
        and record.trial_id not in asked
        and point_id(record.spec) in points
        and not is_outdated(record, plan.outdated)
    )
    return replace(plan, cached=(*plan.cached, *further))
