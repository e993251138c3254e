"""The crash matrix: a sweep is struck at every step of its way, and the same command typed again.

`make chaos` runs all of it. Counted at each point: trials that are lost, executed twice or recorded twice,
runs that MLflow lacks, has twice or has left open, processes that are left alive, and commands that had not
ended after `--seconds`. `--first` goes on where a run was interrupted.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests/support/host"))

from cli_process import command, environment, records_in
from process_tracking import Family

_DRIVER = Path(__file__).with_name("chaos_driver.py")
_TRIALS = 3
_WORDS = (
    "+sweep=smoke",
    "trainer=noop",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "sweep.shuffle_seed=null",
    "seed=range(3)",
    "checkpoint.grace_seconds=1",
)
_GONE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Point:
    """Moment, signal and executor of a strike."""

    strike: str
    target: str
    when: str
    number: int
    executor: str = "inline"

    @property
    def name(self) -> str:
        where = self.target.removeprefix("orchestrator.")
        return f"{self.executor}: {self.strike} {self.when} call {self.number} of {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Damage by a strike. Every number must be 0."""

    not_struck: int = 0
    not_ended: int = 0
    lost: int = 0
    executed_twice: int = 0
    recorded_twice: int = 0
    runs_amiss: int = 0
    leaked: int = 0
    exit_code: int = 0

    @property
    def is_none(self) -> bool:
        return not any(getattr(self, field_.name) for field_ in fields(self))


_JOURNAL = "orchestrator.record.journal:write_synced"
_LEDGER = "orchestrator.record.ledger:write_synced"
_STORE = "orchestrator.extensions.mlflow_tracking.mlflow_store:MlflowStore"
_CLIENT = "mlflow:MlflowClient"

# The journal's first call queues all; then come starting, running and ended of each trial. The ledger's first
# call makes the file.
INLINE = (
    *(
        Point("kill_driver", _JOURNAL, when, number)
        for number in (1, 2, 3, 4, 5, 7)
        for when in ("before", "after")
    ),
    *(Point("kill_driver", _LEDGER, when, number) for number in (1, 2, 3, 4) for when in ("before", "after")),
    *(Point("kill_driver", _JOURNAL, "amid", number) for number in (1, 4)),
    *(Point("kill_driver", _LEDGER, "amid", number) for number in (2, 3)),
    *(
        Point("kill_driver", f"{_STORE}.{call}", when, number)
        for call, number in (("begin", 1), ("_create", 1), ("_create", 2), ("_fill", 2), ("_close", 1))
        for when in ("before", "after")
    ),
    *(
        Point("kill_driver", f"{_CLIENT}.{call}", "after", 1)
        for call in ("log_batch", "log_text", "log_artifact")
    ),
    Point("kill_driver", "orchestrator.pipeline.report:write_report", "before", 1),
    Point("kill_driver", "orchestrator.pipeline.report:write_report", "after", 1),
    Point("kill_driver", "orchestrator.execute.scheduling.queue:Queue.take", "after", 2),
    Point("kill_driver", "orchestrator.execute.trial.supervisor:_monitor_workers", "before", 2),
    Point("kill_driver", "orchestrator.execute.trial.supervisor:_build_result", "after", 2),
    Point("hang_up", "orchestrator.execute.trial.supervisor:_monitor_workers", "before", 2),
    Point("terminate", "orchestrator.execute.trial.supervisor:_monitor_workers", "before", 2),
    *(
        Point("terminate", target, when, number)
        for target, when, number in (
            (_JOURNAL, "after", 3),
            (_LEDGER, "before", 2),
            (_LEDGER, "after", 2),
            ("orchestrator.execute.scheduling.queue:Queue.take", "after", 2),
            ("orchestrator.execute.trial.monitor:TrialMonitor.on_message", "before", 2),
            ("orchestrator.pipeline.report:write_report", "before", 1),
        )
    ),
    Point("kill_worker", "orchestrator.execute.trial.supervisor:_monitor_workers", "before", 2),
    Point("kill_worker", "orchestrator.execute.trial.monitor:TrialMonitor.on_message", "before", 2),
    Point("kill_fork_server", "orchestrator.execute.trial.supervisor:_monitor_workers", "before", 2),
    *(
        Point(f"set_clock_{way}", _JOURNAL, "after", number)
        for way in ("back", "forward")
        for number in (1, 3)
    ),
)
_SEARCHER = "orchestrator.execute.on_ray.tune_adapters:QueueSearcher"
RAY = tuple(
    Point(strike, target, when, number, "ray")
    for strike, target, when, number in (
        ("kill_driver", f"{_SEARCHER}.suggest", "after", 1),
        ("kill_driver", f"{_SEARCHER}.on_placed", "after", 2),
        ("kill_driver", f"{_SEARCHER}.on_trial_complete", "before", 2),
        ("kill_driver", f"{_SEARCHER}.on_trial_complete", "after", 2),
        ("kill_supervisor", f"{_SEARCHER}.on_placed", "after", 2),
        ("kill_raylet", f"{_SEARCHER}.on_placed", "after", 2),
        ("terminate", f"{_SEARCHER}.suggest", "after", 1),
        ("terminate", f"{_SEARCHER}.on_placed", "after", 2),
        ("terminate", f"{_SEARCHER}.on_trial_complete", "before", 2),
        ("set_clock_back", f"{_SEARCHER}.on_placed", "after", 2),
        ("set_clock_forward", f"{_SEARCHER}.on_placed", "after", 2),
    )
)
EVERY = INLINE + RAY
SOME = (
    Point("kill_driver", _LEDGER, "amid", 3),
    Point("terminate", "orchestrator.execute.trial.supervisor:_monitor_workers", "before", 2),
)


def damage_at(point: Point, folder: Path, *, seconds: float = 180) -> Damage:
    """Run the sweep with the strike, count what is done, and run it again without one.

    Args:
        seconds: that either command may take.
    """
    family = Family(uuid.uuid4().hex)
    variables = environment(ORCHESTRATOR_TEST_FAMILY=family._mark, ORCHESTRATOR_CACHE=str(folder / "cache"))
    words = (*_WORDS, f"executor={point.executor}")
    armed = (point.strike, point.target, point.when, str(point.number))
    struck = _run([sys.executable, str(_DRIVER), *armed, *words], folder, variables, seconds=seconds)
    leaked = _left_alive(family)
    acknowledged = _acknowledged(folder)
    before = _whole_records_in(folder)
    code = _run(command(*words), folder, variables, seconds=seconds)
    leaked += _left_alive(family)
    after = records_in(folder)
    done = Counter(record["trial_id"] for record in after if record["result"])
    ended = Counter((record["trial_id"], record["attempt"]) for record in after)
    finished = {record["trial_id"] for record in before if record["result"]}
    again = {record["trial_id"] for record in after[len(before) :]}
    return Damage(
        not_struck=int(not _was_struck(folder)),
        not_ended=(struck, code).count(None),
        lost=_TRIALS - len(done) + max(0, acknowledged - len(finished)),
        executed_twice=len(finished & again),
        recorded_twice=sum(count - 1 for count in (*done.values(), *ended.values())),
        runs_amiss=_runs_amiss(folder, after),
        leaked=leaked,
        exit_code=code or 0,
    )


def _run(words: Sequence[str], folder: Path, variables: dict[str, str], *, seconds: float) -> int | None:
    """Run a command in its own process group, and return its exit code; None: it was killed, for it did not
    end.
    """
    with (folder / "log").open("ab") as log, contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(
            words,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            timeout=seconds,
            check=False,
        ).returncode
    return None


def _left_alive(family: Family) -> int:
    until = time.monotonic() + _GONE_SECONDS
    while (left := family.pids()) and time.monotonic() < until:
        time.sleep(0.1)
    return len(left)


def _was_struck(folder: Path) -> bool:
    told = folder / "struck"
    return told.exists() and told.read_text() != "0"


def _acknowledged(folder: Path) -> int:
    """Return the number of trials reported as measured so far."""
    return sum(line.startswith("measured ") for line in (folder / "log").read_text().splitlines())


def _whole_records_in(folder: Path) -> list[dict[str, object]]:
    """Return the whole records of a ledger whose last line may be torn."""
    ledger = folder / "outputs" / "smoke" / "records.jsonl"
    lines = ledger.read_bytes().split(b"\n")[:-1] if ledger.exists() else []
    return [json.loads(line) for line in lines]


def _runs_amiss(folder: Path, records: Sequence[object]) -> int:
    """Runs that are missing, too many or open: one is to be there for each record, and one for the sweep."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("smoke")
    runs = client.search_runs([experiment.experiment_id]) if experiment else []
    keys = Counter((run.data.tags.get("trial_id"), run.data.tags.get("attempt")) for run in runs)
    wanted = Counter((record["trial_id"], str(record["attempt"])) for record in records) + Counter(
        [(None, None)]
    )
    difference = (keys - wanted) + (wanted - keys)
    return difference.total() + sum(run.info.status == "RUNNING" for run in runs)


def run(points: Sequence[Point], *, seconds: float) -> int:
    """Strike at each point, say what it cost, and return at how many it cost anything."""
    total: Counter[str] = Counter()
    bad = 0
    for point in points:
        with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
            began = time.monotonic()
            damage = damage_at(point, Path(folder), seconds=seconds)
            bad += not damage.is_none
            amiss = {field_.name: getattr(damage, field_.name) for field_ in fields(damage)}
            total.update(amiss)
            told = ", ".join(f"{name} {count}" for name, count in amiss.items() if count) or "nothing"
            print(f"{point.name}: {told}  [{time.monotonic() - began:.0f} s]", flush=True)
            if not damage.is_none:
                print((Path(folder) / "log").read_text()[-2000:])
    figures = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in total.items())
    print(f"{len(points)} points tried: {figures}")
    return bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executor", choices=("inline", "ray", "both"), default="both")
    parser.add_argument("--first", type=int, default=1, help="number of the first point")
    parser.add_argument("--seconds", type=float, default=180, help="that a command may take")
    given = parser.parse_args()
    chosen = [point for point in EVERY if given.executor in (point.executor, "both")]
    sys.exit(1 if run(chosen[given.first - 1 :], seconds=given.seconds) else 0)
