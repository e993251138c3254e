"""Which records answer a trial, and what has changed since they were made. Pure."""

from collections.abc import Iterable, Mapping

from orchestrator.core.placement import Provenance
from orchestrator.core.result import TrialRecord
from orchestrator.core.trainer import TrainerEnvironment

Answers = Mapping[tuple[str, Provenance], TrialRecord]
"""(trial_id, provenance) -> the newest record that has a result."""


def answers_of(records: Iterable[TrialRecord]) -> Answers:
    """The records that have a result; a failure answers nothing."""
    finished = (each for each in records if each.result is not None)
    return {(each.trial_id, each.provenance): each for each in sorted(finished, key=_ended_at)}


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
