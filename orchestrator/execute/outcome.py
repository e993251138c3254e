"""(attempt, how it ended) -> its record."""

import time
from collections.abc import Mapping
from pathlib import Path

from orchestrator.core.result import Failure, TrainResult, TrialRecord
from orchestrator.execute.base import Attempt, Mission


def log_of(attempt: Attempt) -> Path:
    """Folder of an attempt's logs, one file a rank, relative to the sweep's folder."""
    return Path("logs") / f"{attempt.placement.trial_id}-{attempt.number}"


def outcome_of(
    attempt: Attempt,
    mission: Mission,
    *,
    started_at: float,
    ended_with: TrainResult | Failure,
    versions: Mapping[str, str],
) -> TrialRecord:
    """Describe an attempt that ends here and now; `versions` are those of the workers' packages, if known."""
    placement, log = attempt.placement, log_of(attempt)
    return TrialRecord(
        trial_id=placement.trial_id,
        sweep=mission.sweep,
        provenance=placement.provenance,
        attempt=attempt.number,
        spec=placement.trial,
        placement=placement,
        started_at=started_at,
        ended_at=time.time(),
        environment={**mission.environment, **versions},
        log_path=str(log) if (mission.folder / log).is_dir() else None,
        result=ended_with if isinstance(ended_with, TrainResult) else None,
        failure=ended_with if isinstance(ended_with, Failure) else None,
    )
