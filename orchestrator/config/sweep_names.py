"""Name of a sweep without one in its file: every job gets a folder of its own. Pure."""

import re
from collections.abc import Iterable
from hashlib import sha256

from orchestrator.core.sweep import Point

_MOST_JOBS = 3
_MOST_CHARACTERS = 100  # of a sweep's name


def name_of_jobs(option: str, points: Iterable[Point]) -> str:
    """Name a sweep after its file and its jobs: `single-digits`, `single-train-3f2a91` for a script.

    The name does not depend on values that a command may list: device, precision, batch size, options.
    """
    jobs = tuple(dict.fromkeys(map(_name_job, points)))
    name = "-".join((option, *jobs))
    if len(jobs) <= _MOST_JOBS and len(name) <= _MOST_CHARACTERS:
        return name
    return f"{option}-{len(jobs)}-jobs-{_digest('-'.join(jobs))}"


def _name_job(point: Point) -> str:
    """Name the workload; of a script the file, with a hash of its command and folder."""
    if point.workload != "script":
        return point.workload
    command, folder = (str(point.workload_options.get(name, "")) for name in ("command", "folder"))
    words = command.split()
    files = [word for word in words if word.endswith(".py")]
    arguments = [word for word in words[1:] if not word.startswith("-")]
    file = [*files, *arguments, *words, ""][0].rpartition("/")[2].removesuffix(".py")
    stem = re.sub(r"[^A-Za-z0-9]+", "-", file).strip("-")
    return "-".join(filter(None, (stem[:40], _digest(f"{folder}\0{command}"))))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:6]
