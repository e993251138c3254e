"""Points -> the jobs that they are settings of, by name. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from orchestrator.core.sweep import Point


def jobs_of(
    points: Iterable[Point], setting_of: Callable[[Point], Hashable]
) -> Mapping[str, Sequence[Point]]:
    """By name, each setting once; where one is asked for at several lengths of training, each is a job."""
    jobs: dict[str, dict[tuple[Hashable, str], Point]] = defaultdict(dict)
    for point in points:
        jobs[job_in_words(point)][setting_of(point), _length_of(point)] = point
    found: dict[str, list[Point]] = defaultdict(list)
    for job, settings in jobs.items():
        has_lengths = len({setting for setting, _ in settings}) < len(settings)
        for (_, length), point in settings.items():
            found[f"{job} {length}" if has_lengths else job].append(point)
    return found


def job_in_words(point: Point) -> str:
    """`vgg16 image_size=64 data.source=real`."""
    options = sorted(point.workload_options.items())
    if point.data_source != "auto":
        options.append(("data.source", point.data_source))
    return " ".join((point.workload, *(f"{name}={value}" for name, value in options)))


def _length_of(point: Point) -> str:
    """`steps=200 measure.target=0.9`."""
    target = point.timing.target
    return f"steps={point.steps}" + ("" if target is None else f" measure.target={target}")
