"""Which records answer a trial, and what has changed since they were made. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from orchestrator.core.placement import Cached, Provenance
from orchestrator.core.result import TrialRecord
from orchestrator.core.trainer import TrainerEnvironment

Answers = Mapping[tuple[str, Provenance], TrialRecord]
"""(trial_id, provenance) -> the newest record that has a result."""


def answers_of(records: Iterable[TrialRecord]) -> Answers:
    """The records that have a result; a failure answers nothing."""
    finished = (each for each in records if each.result is not None)
    return {(each.trial_id, each.provenance): each for each in sorted(finished, key=_ended_at)}


def adopted(
    cached: Iterable[Cached], ledgers: Mapping[str, Iterable[TrialRecord]], *, sweep: str
) -> tuple[TrialRecord, ...]:
    """What a sweep's ledger needs of the others, so that a report needs this ledger alone.

    Each result that another sweep has, after the attempts at it that failed there: they cost too.

    Args:
        cached: trials that the ledgers answer.
        ledgers: records of every sweep, by its name.
    """
    every = [record for records in ledgers.values() for record in records]
    own, known = answers_of(ledgers.get(sweep, ())), answers_of(every)
    failed: dict[tuple[str, str, Provenance], list[TrialRecord]] = defaultdict(list)
    for record in every:
        if record.failure is not None:
            failed[record.sweep, record.trial_id, record.provenance].append(record)
    found = []
    for each in cached:
        answer = (each.trial_id, each.provenance)
        if answer not in own:
            found += [*failed[known[answer].sweep, *answer], known[answer]]
    return tuple(_taken_over(record, sweep=sweep) for record in found)


def _taken_over(record: TrialRecord, *, sweep: str) -> TrialRecord:
    return replace(record, sweep=sweep, reused_from=record.reused_from or record.sweep, log_path=None)


def stale(record: TrialRecord, environment: TrainerEnvironment) -> str | None:
    """In which versions the record's environment differs from the one found now; None if in none."""
    changes = (
        f"{package} {record.environment[package]} then, {version} now"
        for package, version in environment.versions.items()
        if record.environment.get(package, version) != version
    )
    return ", ".join(changes) or None


def _ended_at(record: TrialRecord) -> float:
    return record.ended_at
