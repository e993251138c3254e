"""Points -> the jobs that they are settings of, by name. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from orchestrator.core.sweep import Point
from workloads.script.command import list_arguments, name_command


def group_jobs(
    points: Iterable[Point], build_setting: Callable[[Point], Hashable]
) -> Mapping[str, Sequence[tuple[Point, ...]]]:
    """Group points by job, and in a job by setting; of each trainer the shortest training is kept.

    Trainings with different targets are different jobs.
    """
    jobs: dict[tuple[str, object], dict[Hashable, dict[Hashable, Point]]] = defaultdict(dict)
    for point in points:
        trainers = jobs[describe_job(point), point.timing.target].setdefault(build_setting(point), {})
        trainer = (point.trainer, tuple(sorted(point.trainer_options.items())))
        if trainer not in trainers or point.steps < trainers[trainer].steps:
            trainers[trainer] = point
    names = [name for name, _ in jobs]
    return {
        name if names.count(name) == 1 else f"{name} measure.target={target}": [
            tuple(trainers.values()) for trainers in settings.values()
        ]
        for (name, target), settings in jobs.items()
    }


def describe_job(point: Point) -> str:
    """Name the workload with its options: `vgg16 image_size=64 data.source=real`; a script by its file."""
    name, options = point.workload, dict(sorted(point.workload_options.items()))
    if name == "script":
        arguments = list_arguments(str(options.get("command", "")))
        name = " ".join(filter(None, (name, name_command(options), arguments)))
        options = {key: value for key, value in options.items() if key not in ("command", "folder")}
    if point.data_source != "auto":
        options["data.source"] = point.data_source
    return " ".join((name, *(f"{key}={value}" for key, value in options.items())))
