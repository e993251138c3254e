"""Number of cores a trial can have: those available to this process, or fewer by its control group's
quota.
"""

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath


def num_cores() -> int:
    """Whole cores, at least one."""
    quotas = format_quotas(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    return cores_within(len(os.sched_getaffinity(0)), quotas=quotas)


def cores_within(allowed: int, *, quotas: Iterable[str]) -> int:
    """The allowed cores, or as many whole ones as every quota pays for; at least one. Pure.

    Args:
        quotas: `QUOTA PERIOD` each, in microseconds of CPU time per microseconds of time; a quota of `max`
            or -1, or an empty text, is no limit.
    """
    return max(1, math.floor(min([allowed, *map(_find_cores, quotas)])))


def _find_cores(quota: str) -> float:
    words = quota.split()
    return math.inf if len(words) < 2 or words[0] in ("max", "-1") else int(words[0]) / int(words[1])


def format_quotas(process: Path, root: Path) -> Iterator[str]:
    """The quotas of a process's own group and of all above it, for each limits those below; versions 2 and 1.

    Args:
        process: path of its `/proc/PID/cgroup`.
        root: mount point of the control groups.
    """
    for line in _text(process).splitlines():
        _, controllers, group = line.split(":", 2)
        for level in (PurePosixPath(group), *PurePosixPath(group).parents):
            below = level.relative_to(level.anchor)
            if not controllers:
                yield _text(root / below / "cpu.max")
            elif "cpu" in controllers.split(","):
                names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
                yield " ".join(_text(root / "cpu" / below / name) for name in names)


def _text(path: Path) -> str:
    """Return the text of a file; empty where it is absent, as in a container without its own control group
    folder.
    """
    try:
        return path.read_text()
    except OSError:
        return ""


def num_oom_kills(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many processes of our control group (version 2) were killed for memory; 0 if not counted."""
    try:
        entries = process.read_text().splitlines()
        group = next(line.partition("::")[2] for line in entries if line.startswith("0::"))
        events = (root / group.lstrip("/") / "memory.events").read_text().splitlines()
    except (OSError, StopIteration):
        return 0
    return next((int(line.split()[1]) for line in events if line.startswith("oom_kill ")), 0)
