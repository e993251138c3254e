"""This project beside five other ways to run the same trials: time, cost of a kill, and reported rates.

    python benchmarks/peers.py [--quick] [--parts noop train kill rates] [--out FILE]

The others are Ray Tune, Ray Train in Tune, hydra-ray-launcher, optimum-benchmark and a plain shell loop over
a script; they get an environment of their own, `.venv-peers`. Twenty jobs compute nothing, twelve train
mnist_cnn (optimum-benchmark: a small BERT) at three batch sizes, one at a time. In each round every tool
runs the same grid, so that its ratio to the shell loop is of the same minutes. A kill is SIGKILL to the
driver when half of the jobs have ended, and the same command again. A rate is compared with that of the
script in pairs of commands that take turns; block by block `cross_check.py` compares ours. On a busy host
give it one core (`taskset -c 1`): threads of torch that wait for each other spin there.

FILE gets all figures as JSON while the program runs, and FILE with `.csv` the table. Where FILE exists, its
figures are kept and the new ones are added, as further rounds.
"""

import argparse
import csv
import ctypes
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from cross_check import KEEPS_MEMORY
from independent import point_of, write_batches
from peer_tools import BERT_SHELL, CORES, Grid, Tool, Trial, make_environment, reason_against, tools_of
from trials import count, require_all, sweep_of

from orchestrator.core.interval import median_interval
from orchestrator.pipeline.planning import plan_sweep
from workloads.registry import workload

PARTS = ("noop", "train", "kill", "rates")
_HOME = Path(__file__).parents[1]
_SETTLE_SECONDS = 15.0  # for what the killed driver leaves behind to end, or to go on
_LONGEST_SECONDS = 1800.0
_MODULES = {
    "Ray Tune": "ray.tune",
    "Ray Train in Tune": "ray.train.torch",
    "hydra-ray-launcher": "hydra_plugins.hydra_ray_launcher.ray_launcher",
    "optimum-benchmark": "optimum_benchmark",
    BERT_SHELL: "transformers",
}
"""Tool -> the module without which it does not run."""

_PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A command that ran a grid to its end.

    Attributes:
        seconds: of the whole command.
        cpu_seconds: of it and of the processes that it left to be waited for; at least so many.
        first_step_seconds: from the command to the end of the first step of its first trial.
        next_step_seconds: median over the later trials, from the end of the trial before.
        load: one-minute load average of the host when it began.
    """

    tool: str
    job: str
    turn: int
    seconds: float
    cpu_seconds: float
    trials: int
    seconds_per_trial: float
    first_step_seconds: float | None
    next_step_seconds: float | None
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Jobs that the same command executed after a kill.

    Attributes:
        finished_before: jobs that had ended when it began.
        executed: jobs that it executed.
        executed_twice: of those, jobs that had ended before.
        finished: jobs that had ended in the end.
    """

    tool: str
    jobs: int
    finished_before: int
    executed: int
    executed_twice: int
    finished: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One training under a tool and one by the bare script, one after the other, in samples per second."""

    tool: str
    reported: float
    bare: float


def seconds_per_trial(trials: Sequence[Trial]) -> float:
    """Return the mean seconds from the end of one trial to the end of the next: what one more trial costs."""
    ends = sorted(trial.ended for trial in trials)
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def next_step_seconds(trials: Sequence[Trial]) -> float | None:
    """Return the median seconds from the end of a trial to the end of the first step of the next."""
    ordered = sorted(trials, key=lambda trial: trial.ended)
    waits = [
        later.first_step - earlier.ended
        for earlier, later in itertools.pairwise(ordered)
        if later.first_step is not None
    ]
    return median(waits) if waits else None


def resumed_of(tool: str, before: Sequence[str], after: Sequence[str], *, jobs: int) -> Resumed:
    """Count what was executed again.

    Args:
        before, after: names of the jobs that ended before the second command and under it, one for every
            execution.
    """
    return Resumed(
        tool=tool,
        jobs=jobs,
        finished_before=len(set(before)),
        executed=len(after),
        executed_twice=len(set(before) & set(after)),
        finished=len({*before, *after}),
    )


def ratio_to_bare(runs: Iterable[Run], tool: Tool, figure: Callable[[Run], float]) -> float | None:
    """Return the median over rounds of a figure of a tool, over that of its shell loop in the same round."""
    of_round: dict[tuple[int, str], dict[str, float]] = {}
    for run in runs:
        of_round.setdefault((run.turn, run.job), {})[run.tool] = figure(run)
    ratios = [
        rates[tool.name] / rates[tool.bare]
        for rates in of_round.values()
        if tool.name in rates and tool.bare in rates
    ]
    return median(ratios) if ratios else None


class Bench:
    """A folder for every command, and the variables that the jobs read."""

    def __init__(self, *, batches: Path, log: Path) -> None:
        self._batches = batches
        self._log = log

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new folder, of a path short enough for Ray's sockets."""
        made = Path(tempfile.mkdtemp(prefix="peers-", dir="/tmp"))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def started(self, tool: Tool, grid: Grid, folder: Path) -> "subprocess.Popen[bytes]":
        """Start the command of a tool as the leader of a process group."""
        variables = {
            "JOB": grid.job,
            "EVENTS": str(folder / "events"),
            "SLEEP": str(grid.seconds),
            "BATCHES": str(self._batches),
            "THREADS": str(CORES),
            "OMP_NUM_THREADS": str(CORES),
            "STORE": str(folder / "store"),
            "RAY_FOLDER": str(folder / "ray"),
            "MODEL": str(folder / "model"),
            "RUNS": str(folder / "runs"),
            "RAY_worker_niceness": "0",  # as ours; with 15, Ray's workers wait for all other work of the host
            **tool.variables,
        }
        with self._log.open("ab") as told:
            return subprocess.Popen(
                tool.command(grid, folder),
                cwd=folder,
                env={**os.environ, **KEEPS_MEMORY, **variables},
                stdout=told,
                stderr=told,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def run(self, tool: Tool, grid: Grid, *, turn: int) -> tuple[Run, list[Trial]]:
        """Run a grid to its end. Raises RuntimeError if a trial is missing then."""
        with self.folder() as folder:
            load, cpu, begun = os.getloadavg()[0], _children_cpu_seconds(), time.time()
            driver = self.started(tool, grid, folder)
            code = _describe_end(driver)
            seconds = time.time() - begun
            _reap_orphans()
            trials = tool.trials(folder)
        if code != 0 or len(trials) != grid.num_trials:
            raise RuntimeError(
                f"exit code {code}, {len(trials)} of {grid.num_trials} trials; see {self._log}"
            )
        first = min(trials, key=lambda trial: trial.ended).first_step
        run = Run(
            tool=tool.name,
            job=grid.job,
            turn=turn,
            seconds=seconds,
            cpu_seconds=_children_cpu_seconds() - cpu,
            trials=len(trials),
            seconds_per_trial=seconds_per_trial(trials) if len(trials) > 1 else seconds,
            first_step_seconds=None if first is None else first - begun,
            next_step_seconds=next_step_seconds(trials),
            load=load,
        )
        return run, trials

    def resumed(self, tool: Tool, grid: Grid) -> Resumed:
        """Kill the driver when half of the jobs have ended, and give the same command again."""
        with self.folder() as folder:
            driver = self.started(tool, grid, folder)
            until = time.monotonic() + _LONGEST_SECONDS
            while len(tool.trials(folder)) < grid.num_trials // 2:
                if driver.poll() is not None or time.monotonic() > until:
                    _kill_group(driver)
                    raise RuntimeError(f"ended before half of its jobs: exit code {driver.poll()}")
                time.sleep(0.05)
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            time.sleep(_SETTLE_SECONDS)
            _kill_group(driver)
            before, begun = [trial.name for trial in tool.trials(folder)], time.time()
            _describe_end(self.started(tool, grid, folder))
            after = [trial.name for trial in tool.trials(folder) if trial.ended > begun]
        _reap_orphans()
        return resumed_of(tool.name, before, after, jobs=grid.num_trials)


def _describe_end(driver: "subprocess.Popen[bytes]") -> int | None:
    """Return the exit code, None for a command that took too long; what is left of its group is ended."""
    try:
        return driver.wait(_LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _kill_group(driver)


def _kill_group(driver: "subprocess.Popen[bytes]") -> None:
    """End what is left of the process group of a command."""
    try:
        os.killpg(driver.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _become_subreaper() -> None:
    """Let orphans of the commands be ours, so that their CPU time is counted: prctl(2)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap_orphans() -> None:
    """Wait for what a command left behind, for 20 s at most."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.1)


def _children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_rounds(
    bench: Bench, tools: Sequence[Tool], grid: Grid, *, turns: range, refuse: Callable[[Tool, str], None]
) -> Iterator[Run]:
    """Run the grid under every tool, in each round in another order."""
    able = [tool for tool in tools if grid.job in tool.jobs]
    for turn in turns:
        start = turn % len(able)
        for tool in (*able[start:], *able[:start]):
            try:
                yield bench.run(tool, grid, turn=turn)[0]
            except RuntimeError as error:
                refuse(tool, f"{grid.job}: {error}")


def rate_pairs(
    bench: Bench, tools: Mapping[str, Tool], grid: Grid, *, pairs: int, refuse: Callable[[Tool, str], None]
) -> Iterator[Pair]:
    """Train one point under a tool and by its bare script, in turns; which goes first alternates."""
    for tool in (tool for tool in tools.values() if tool.name != tool.bare):
        for index in range(pairs):
            sides = (tool, tools[tool.bare])
            rates = {}
            try:
                for side in sides if index % 2 == 0 else reversed(sides):
                    _, (trial,) = bench.run(side, grid, turn=index)
                    rates[side.name] = trial.rate
            except RuntimeError as error:
                refuse(tool, f"rates: {error}")
                break
            yield Pair(tool=tool.name, reported=rates[tool.name], bare=rates[tool.bare])


def collect_rows(
    tools: Iterable[Tool],
    *,
    runs: Sequence[Run],
    kills: Sequence[Resumed],
    pairs: Sequence[Pair],
    refusals: Mapping[str, str],
) -> list[dict[str, str]]:
    """Return the table, a row for every tool; a cell that was not measured is empty."""
    return [
        {
            "tool": tool.name,
            **_figures(runs, tool, "noop"),
            **_figures(runs, tool, "train"),
            "first step of the command, s": _median_of(
                run.first_step_seconds for run in runs if (run.tool, run.job) == (tool.name, "train")
            ),
            "next trial to first step, s": _median_of(
                run.next_step_seconds for run in runs if (run.tool, run.job) == (tool.name, "train")
            ),
            "executed again after a kill": _killed(kills, tool),
            "rate over the bare script": _rate(pairs, tool),
            "not run": refusals.get(tool.name, ""),
        }
        for tool in tools
    ]


def _figures(runs: Sequence[Run], tool: Tool, job: str) -> dict[str, str]:
    """Seconds and CPU seconds a trial of a job, with the ratios to the shell loop of the same rounds."""
    same = [run for run in runs if run.job == job]
    own = [run for run in same if run.tool == tool.name]
    figures: dict[str, Callable[[Run], float]] = {
        f"{job}, s a trial": lambda run: run.seconds_per_trial,
        f"{job}, command in s": lambda run: run.seconds,
        f"{job}, CPU s a trial": lambda run: run.cpu_seconds / run.trials,
    }
    cells = {}
    for name, figure in figures.items():
        ratio = ratio_to_bare(same, tool, figure)
        cells[name] = f"{median(map(figure, own)):.3g} ({ratio:.2f})" if own and ratio is not None else ""
    return cells


def _median_of(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{median(known):.3g}" if known else ""


def _killed(kills: Sequence[Resumed], tool: Tool) -> str:
    return ", ".join(
        f"{kill.executed} of {kill.jobs}, {kill.executed_twice} of {kill.finished_before} finished"
        for kill in kills
        if kill.tool == tool.name
    )


def _rate(pairs: Sequence[Pair], tool: Tool) -> str:
    ratios = [pair.reported / pair.bare for pair in pairs if pair.tool == tool.name]
    if not ratios:
        return ""
    interval = median_interval(ratios)
    return f"{interval.median:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def format_markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the table in the form of the documentation."""
    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([row[name] for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _write_batches(folder: Path, sizes: Iterable[int]) -> None:
    """The arrays that our trials train on, for the scripts."""
    for size in sizes:
        with sweep_of(*point_of("torch_ddp", batch_size=size)) as (settings, preflight):
            plan = plan_sweep(settings, preflight)
            require_all(plan)
            (placement,) = plan.placements
            spec = workload(placement.trial.workload, placement.trial.workload_options)
            (ref,) = preflight.data.values()
            write_batches(folder / f"{size}.npz", placement, spec, data_path=ref.path)


class Found:
    """Figures of a file, kept there while more are found.

    Args:
        file: gets JSON, and beside it the table as CSV.
    """

    def __init__(self, file: Path, tools: Iterable[Tool]) -> None:
        earlier = json.loads(file.read_text()) if file.exists() else {}
        self.runs = [Run(**run) for run in earlier.get("runs", [])]
        self.kills = [Resumed(**kill) for kill in earlier.get("kills", [])]
        self.pairs = [Pair(**pair) for pair in earlier.get("pairs", [])]
        self.refusals: dict[str, str] = earlier.get("refusals", {})
        self._file = file
        self._tools = tuple(tools)

    @property
    def next_turn(self) -> int:
        return 1 + max((run.turn for run in self.runs), default=-1)

    def refuse(self, tool: Tool, reason: str) -> None:
        """Keep why a tool did not run."""
        self.refusals[tool.name] = reason
        self._keep(f"{tool.name}: {reason}")

    def add(self, found: Run | Resumed | Pair) -> None:
        """Keep a figure; a tool that has run is refused no longer."""
        kept: list[Any] = {Run: self.runs, Resumed: self.kills, Pair: self.pairs}[type(found)]
        kept.append(found)
        self.refusals.pop(found.tool, None)
        self._keep(str(found))

    def rows(self) -> list[dict[str, str]]:
        """Return the table of all figures."""
        return collect_rows(
            self._tools, runs=self.runs, kills=self.kills, pairs=self.pairs, refusals=self.refusals
        )

    def _keep(self, told: str) -> None:
        print(told, file=sys.stderr)
        figures = {"runs": self.runs, "kills": self.kills, "pairs": self.pairs}
        kept = {name: [asdict(one) for one in found] for name, found in figures.items()}
        notes = {tool.name: tool.note for tool in self._tools}
        self._file.write_text(json.dumps(kept | {"refusals": self.refusals, "notes": notes}, indent=2) + "\n")
        rows = self.rows()
        with self._file.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def measure(bench: Bench, tools: Mapping[str, Tool], found: Found, asked: argparse.Namespace) -> None:
    """Run the requested parts one after the other."""
    noops = Grid(job="noop", batch_sizes=(64,), num_seeds=6 if asked.quick else 20)
    trainings = Grid(job="train", batch_sizes=_sizes(asked), num_seeds=3 if asked.quick else 4)
    for grid in (noops, trainings):
        if grid.job in asked.parts:
            turns = range(found.next_turn, found.next_turn + asked.rounds)
            for run in run_rounds(bench, tuple(tools.values()), grid, turns=turns, refuse=found.refuse):
                found.add(run)
    if "kill" in asked.parts:
        for tool in tools.values():
            try:
                found.add(bench.resumed(tool, _killed_grid(tool, noops, trainings)))
            except RuntimeError as error:
                found.refuse(tool, f"kill: {error}")
    if "rates" in asked.parts:
        one = Grid(job="train", batch_sizes=(64,), num_seeds=1)
        pairs = 2 if asked.quick else asked.pairs
        for pair in rate_pairs(bench, tools, one, pairs=pairs, refuse=found.refuse):
            found.add(pair)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="6 no-ops, 3 trainings, 2 pairs")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=count, default=1, help="of the parts noop and train")
    parser.add_argument("--pairs", type=count, default=6, help="of the part rates")
    parser.add_argument("--only", nargs="+", choices=tuple(tools_of("")), help="beside their shell loops")
    parser.add_argument("--out", type=Path, default=Path("outputs/peers.json"))
    parser.add_argument("--environment", type=Path, default=_HOME / ".venv-peers")
    asked = parser.parse_args(words)
    _become_subreaper()
    python = make_environment(asked.environment.absolute())
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    tools = tools_of(python)
    found = Found(asked.out, tools.values())
    chosen = set(asked.only or tools)
    chosen |= {tools[name].bare for name in chosen}
    for name in sorted(chosen & set(_MODULES)):
        if reason := reason_against(python, _MODULES[name]):
            found.refuse(tools[name], f"does not import: {reason}")
            chosen.remove(name)
    with tempfile.TemporaryDirectory() as batches:
        _write_batches(Path(batches), _sizes(asked))
        bench = Bench(batches=Path(batches), log=asked.out.with_suffix(".log").absolute())
        measure(bench, {name: tool for name, tool in tools.items() if name in chosen}, found, asked)
    print(format_markdown(found.rows()))
    return 0


def _sizes(asked: argparse.Namespace) -> tuple[int, ...]:
    return (64,) if asked.quick else (32, 64, 128)


def _killed_grid(tool: Tool, noops: Grid, trainings: Grid) -> Grid:
    """No-op jobs of 1.5 s, which a kill meets in the middle; trainings where a tool has no such job."""
    return replace(noops, seconds=1.5) if "noop" in tool.jobs else trainings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
