"""Description of a PyTorch job: what planning needs to know of it, found by building it once."""

from collections.abc import Callable

from torch import nn

from workloads.jobs import TorchJob
from workloads.native.data_hash import hash_files
from workloads.native.description import JobDescription, compute_quality
from workloads.native.torch_checks import (
    count_samples,
    is_iterable,
    require_trainable,
    steps_of_schedulers,
)
from workloads.native.torch_cost import count_cost
from workloads.native.torch_samples import first_batch, has_movable, hash_fingerprint, require_movable
from workloads.spec import JobCost

_UNEQUAL = "samples are of unequal length: a step is counted over drawn batches; those of {} differ by {:.0%}"
_EXAMPLE_SIZE = 64


def describe(build: Callable[[], TorchJob]) -> JobDescription:
    """Describe a job.

    Raises:
        JobError: a job that cannot be trained.
        Exception: any exception of the job's code.
    """
    job = build()
    require_trainable(job)
    batch = first_batch(job, 1)
    require_movable(batch)
    data, unchecked = hash_fingerprint(job), (*job.unchecked, *_unchecked(job))
    cost = count_cost(job, build)
    return JobDescription(
        data=data,
        train_samples=count_samples(job.data),
        quality=compute_quality(job),
        epochs=job.epochs,
        accumulation_steps=job.accumulation_steps,
        unchecked=(*unchecked, *_describe_lengths(cost)),
        cost=cost,
        most_steps=steps_of_schedulers(job),
        has_objects=has_movable(batch),
        files=hash_files(job.files),
        tokens_per_sample=job.tokens_per_sample,
    )


def _describe_lengths(cost: JobCost) -> tuple[str, ...]:
    if not cost.lengths:
        return ()
    return (_UNEQUAL.format(_EXAMPLE_SIZE, cost.lengths_at(_EXAMPLE_SIZE).deviation),)


def _unchecked(job: TorchJob) -> tuple[str, ...]:
    modules = list(job.model.modules())
    dropouts = (nn.modules.dropout._DropoutNd,)
    return tuple(
        text
        for text, holds in (
            (
                "batch normalisation is over the samples of a replica, not over the global batch",
                any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in modules),
            ),
            (
                "dropout is drawn by every replica for itself",
                any(isinstance(module, dropouts) for module in modules),
            ),
            ("the order of the samples is the data set's own", is_iterable(job.data)),
        )
        if holds
    )
