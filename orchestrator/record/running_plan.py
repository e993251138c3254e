"""Plan of the command that runs a sweep, in the sweep's folder: `status` in another terminal reads it."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.placement import Plan
from workloads.data.files import written_whole

FILE_NAME = "running_plan.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPlan:
    """Plan of a command that runs.

    Attributes:
        since: seconds since the epoch at which the command took the sweep; later records are its own.
    """

    plan: Plan
    since: float


@contextlib.contextmanager
def published(folder: Path, plan: Plan) -> Iterator[RunningPlan]:
    """Keep the plan in the sweep's folder until the command ends."""
    running = RunningPlan(plan=plan, since=time.time())
    publish(folder, running)
    try:
        yield running
    finally:
        with contextlib.suppress(OSError):
            (folder / FILE_NAME).unlink(missing_ok=True)


def publish(folder: Path, running: RunningPlan) -> None:
    """Write the plan in place of that of a killed command. Without one, `status` plans for itself."""
    path = folder / FILE_NAME
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError), written_whole(path) as made:
        made.write_text(to_json(running), encoding="utf-8")


def running_plan_in(folder: Path) -> RunningPlan | None:
    """Read the plan of the command that runs; None: it left none, or one that cannot be read."""
    try:
        return from_json(RunningPlan, (folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecordError):
        return None
