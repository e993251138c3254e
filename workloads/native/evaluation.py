"""Metrics of a native job's own evaluation, checked."""

from collections.abc import Mapping

from workloads.jobs import JobError, KerasJob, TorchJob


def evaluate_job(job: TorchJob | KerasJob) -> dict[str, float]:
    """Evaluate the trained model as the job does; empty if it does not.

    Raises:
        JobError: an evaluation that gives something else than numbers, or not the job's metric.
    """
    if job.evaluate is None:
        return {}
    metrics = job.evaluate(job.model)
    if not isinstance(metrics, Mapping) or job.metric not in metrics:
        given = ", ".join(map(str, metrics)) if isinstance(metrics, Mapping) else type(metrics).__name__
        raise JobError(f"evaluate returned {given}; expected a mapping with {job.metric!r}, which is metric=")
    try:
        return {str(name): float(value) for name, value in metrics.items()}
    except (TypeError, ValueError) as error:
        raise JobError(f"evaluate returned {metrics}; expected numbers: {error}") from error
