"""(attempt, how it ended) -> its record; and how many attempts there were."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from orchestrator.core.placement import Attempt
from orchestrator.core.result import Failure, TrainResult, TrialRecord
from orchestrator.core.trial_progress import TrialEvent
from orchestrator.execute.executor import SweepContext

_LOGS = "logs"


def find_log(attempt: Attempt) -> Path:
    """Folder of an attempt's logs, one file a rank, relative to the sweep's folder."""
    return Path(_LOGS) / f"{attempt.placement.trial_id}-{attempt.number}"


def attempts_made(records: Iterable[TrialRecord], steps: Iterable[TrialEvent]) -> Mapping[str, int]:
    """Return trial_id -> number of its latest attempt; a killed driver leaves steps without a record."""
    made = [(record.trial_id, record.attempt) for record in records]
    made += [(step.trial_id, step.attempt) for step in steps]
    latest: dict[str, int] = {}
    for trial_id, number in made:
        latest[trial_id] = max(number, latest.get(trial_id, 0))
    return latest


def classify_outcome(
    attempt: Attempt,
    context: SweepContext,
    *,
    started_at: float,
    ended_with: TrainResult | Failure,
    versions: Mapping[str, str],
) -> TrialRecord:
    """Describe an attempt that ends here and now; `versions` are those of the workers' packages, if known."""
    placement, log = attempt.placement, find_log(attempt)
    probed = context.environments.get(placement.trial.trainer)
    kinds = [part.kind for part in placement.parts]
    return TrialRecord(
        trial_id=placement.trial_id,
        sweep=context.sweep,
        provenance=placement.provenance,
        attempt=attempt.number,
        spec=placement.trial,
        placement=placement,
        started_at=started_at,
        ended_at=time.time(),
        environment={
            **context.environment,
            **(versions or (probed.versions_on(kinds) if probed else {})),
        },
        log_path=str(log) if (context.folder / log).is_dir() else None,
        result=ended_with if isinstance(ended_with, TrainResult) else None,
        failure=ended_with if isinstance(ended_with, Failure) else None,
    )
