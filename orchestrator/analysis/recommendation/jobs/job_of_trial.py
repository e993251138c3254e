"""(a trial, the length of its job) -> time and cost of the whole job, extrapolated from this trial. Pure."""

from orchestrator.analysis.recommendation.jobs.settings_of_records import is_run, read_run
from orchestrator.core.price import Price
from orchestrator.core.result import TrialRecord

_SECONDS_PER_HOUR = 3600


def compute_job_metrics(record: TrialRecord, samples: int | None) -> dict[str, float]:
    """Return `job_seconds` and, with a price, `job_usd`; of a length in samples also `job_samples`.

    They are empty for a rehearsal, a failure, a target that was missed, and a job of unknown length.

    Args:
        samples: length of the job; None: unknown. A target takes its place.
    """
    run = read_run(record, None) if is_run(record) else None
    if run is None:
        return {}
    if record.spec.timing.target is not None:
        return {} if run.seconds_to_target is None else _compute_numbers(record, run.seconds_to_target)
    if samples is None:
        return {}
    steps = samples / record.spec.global_batch_size
    seconds = run.fixed_seconds + steps * run.step_seconds * (1 + run.checkpoint_share)
    return {"job_samples": float(samples), **_compute_numbers(record, seconds)}


def _compute_numbers(record: TrialRecord, seconds: float) -> dict[str, float]:
    if not isinstance(record.price, Price):
        return {"job_seconds": seconds}
    return {"job_seconds": seconds, "job_usd": seconds * record.price.usd_per_hour / _SECONDS_PER_HOUR}
