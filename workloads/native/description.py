"""Description of a native workload from the descriptions of its jobs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from workloads.jobs import JobError, KerasJob, TorchJob
from workloads.native.code import compute_version, find_builder, list_frameworks
from workloads.origins import Origin
from workloads.spec import Framework, JobCost, JobQuality, NativeSpec

_JOB_CLASSES: Mapping[Framework, type[Any]] = {"torch": TorchJob, "keras": KerasJob}
_MODULES = ("torch", "keras", "tensorflow")
_ALWAYS_UNCHECKED = "initial weights are drawn by the job's own code, not those of another framework"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDescription:
    """Description of a job in one framework, for planning.

    Attributes:
        data: hash of the first samples.
        train_samples: size of the training set; None if it has no length.
        files: hash of the files that the job was built from; empty: of none.
        accumulation_steps, unchecked, most_steps, has_objects, tokens_per_sample: as in `NativeSpec`.
    """

    data: str
    train_samples: int | None
    quality: JobQuality | None
    epochs: float | None
    accumulation_steps: int
    unchecked: tuple[str, ...]
    cost: JobCost
    most_steps: int | None = None
    has_objects: bool = False
    files: str = ""
    tokens_per_sample: float | None = None


def compute_quality(job: TorchJob | KerasJob) -> JobQuality | None:
    """Return the quality that a job measures; None if it measures none."""
    if job.evaluate is None:
        if job.target is not None:
            raise JobError(f"target={job.target} needs evaluate, which measures {job.metric}")
        return None
    return JobQuality(metric=job.metric, target=job.target, higher_is_better=job.higher_is_better)


def build_spec(name: str, origin: Origin, options: Mapping[str, Any]) -> NativeSpec:
    """Build and describe the job of every framework that is installed.

    Raises:
        JobError: no job that can be trained, or two that differ in their task.
        Exception: any exception of the user's code.
    """
    descriptions: dict[Framework, JobDescription] = {}
    absent: list[str] = []
    for framework in list_frameworks(origin):
        try:
            build = find_builder(origin, framework, options, job_class=_JOB_CLASSES[framework])
            describe = resolve_name(f"workloads.native.{framework}_description:describe")
            descriptions[framework] = describe(build)
        except ModuleNotFoundError as error:
            if error.name not in _MODULES:
                raise
            absent.append(error.name)
    if not descriptions:
        raise JobError(f"no module named {absent[0]!r}; install it where sweeps are planned")
    return _merged(name, origin, descriptions)


def _merged(name: str, origin: Origin, descriptions: Mapping[Framework, JobDescription]) -> NativeSpec:
    first, *others = descriptions.values()
    for other in others:
        for what in ("train_samples", "quality", "epochs", "accumulation_steps"):
            if getattr(other, what) != getattr(first, what):
                raise JobError(
                    f"its jobs differ in {what}: {getattr(first, what)} and {getattr(other, what)}; "
                    "two jobs of one folder are the same task"
                )
    samples = "\n".join(description.data for description in descriptions.values())
    unchecked = (text for description in descriptions.values() for text in description.unchecked)
    return NativeSpec(
        name=name,
        version=compute_version(origin, files="".join(one.files for one in descriptions.values())),
        costs={framework: description.cost for framework, description in descriptions.items()},
        data=f"own:{name}:{hashlib.sha256(samples.encode()).hexdigest()[:16]}",
        train_samples=first.train_samples,
        quality=first.quality,
        epochs=first.epochs,
        accumulation_steps=first.accumulation_steps,
        unchecked=(_ALWAYS_UNCHECKED, *dict.fromkeys(unchecked)),
        most_steps=descriptions["torch"].most_steps if "torch" in descriptions else None,
        has_objects=any(description.has_objects for description in descriptions.values()),
        tokens_per_sample=first.tokens_per_sample,
    )
