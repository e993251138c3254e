"""The tools that `peers.py` compares: their command lines, and what is read of their trials."""

import json
import os
import shlex
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from independent import Protocol
from peer_jobs.job import BLOCKS, STEPS_PER_BLOCK
from trials import steps_per_second

from orchestrator.core.result import TrialRecord
from orchestrator.record.ledger import Ledger

JOBS = Path(__file__).parent / "peer_jobs"
CORES = len(os.sched_getaffinity(0))
"""Cores that this process may use, and so the commands; all of them are one trial's."""

SHELL, BERT_SHELL = "shell loop", "shell loop of the BERT"

_HYDRA_RAY = ("hydra-ray-launcher==1.2.*", "hydra-core==1.3.*")
_OPTIMUM = ("optimum-benchmark==0.6.*", "transformers<5", "datasets>=4,<4.5")
"""Its release 0.6 does not import with transformers 5, nor with the datasets that need it."""

_PROTOCOL = Protocol(blocks=BLOCKS, steps_per_block=STEPS_PER_BLOCK)
"""Protocol of our trials: the peers time the same number of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial that ended.

    Attributes:
        ended, first_step: seconds since the epoch; of the first step its end, None where the tool keeps none.
        rate: samples per second that the tool reports; None for a job that computes nothing.
    """

    name: str
    ended: float
    first_step: float | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Trials of one job over batch sizes and seeds.

    Attributes:
        job: `noop` or `train`.
        seconds: length of a no-op job.
    """

    job: str
    batch_sizes: tuple[int, ...]
    num_seeds: int
    seconds: float = 0.0

    @property
    def num_trials(self) -> int:
        return len(self.batch_sizes) * self.num_seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that runs a grid.

    Attributes:
        command: grid and folder -> words.
        trials: folder -> trials that ended so far, in the order of their ends; one that was executed twice is
            there twice, or once with its last end.
        variables: what a user would set for it.
        bare: the shell loop that trains the same network.
        jobs: jobs that it can run.
        note: settings that the figures depend on.
    """

    name: str
    command: Callable[[Grid, Path], Sequence[str]]
    trials: Callable[[Path], list[Trial]]
    variables: Mapping[str, str] = field(default_factory=lambda: {"PYTHONPATH": str(JOBS)})
    bare: str = SHELL
    jobs: tuple[str, ...] = ("noop", "train")
    note: str = ""


def make_environment(folder: Path) -> str:
    """Return the Python of an environment with the peers; the first call makes it and takes minutes.

    torch, Ray and NumPy are of the versions that this project runs on here.
    """
    python, installed = folder / "bin" / "python", folder / ".installed"
    if not installed.exists():
        venv.create(folder, with_pip=True)
        same = [f"{name}=={version(name).partition('+')[0]}" for name in ("torch", "numpy")]
        ray = f"ray[tune,train]=={version('ray')}"
        for packages in ((ray, *same, *_HYDRA_RAY), (*_OPTIMUM, *same)):
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=False)
        installed.touch()
    return str(python)


def reason_against(python: str, module: str) -> str | None:
    """Return why a module of the peers cannot be used, the last line of its error; None where it can."""
    tried = subprocess.run(
        [python, "-c", f"import {module}"], capture_output=True, text=True, env={**os.environ, "USE_TF": "0"}
    )
    return None if tried.returncode == 0 else tried.stderr.strip().splitlines()[-1]


def tools_of(python: str) -> dict[str, Tool]:
    """Return all tools by name, the shell loops first: other tools are compared with them."""
    tools = (
        Tool(name=SHELL, command=_shell_loop(python, "job.py"), trials=_events),
        _ours("orchestrator", "executor=ray", note="trials inspect, evaluate and record too"),
        _ours("orchestrator, inline", "executor=inline", note="the same without Ray"),
        Tool(
            name="Ray Tune",
            command=_tune(python, "with_tune.py"),
            trials=_events,
            note="a function, reuse_actors=False, all cores a trial; after a kill Tuner.restore with "
            "resume_errored and resume_unfinished",
        ),
        Tool(
            name="Ray Train in Tune",
            command=_tune(python, "with_train.py"),
            trials=_events,
            note="TorchTrainer with one worker, max_concurrent_trials=1; restored as Ray Tune",
        ),
        Tool(
            name="hydra-ray-launcher",
            command=_hydra(python),
            trials=_events,
            note="all cores a job; its workers are reused, so that later jobs have torch imported",
        ),
        Tool(
            name=BERT_SHELL,
            command=_shell_loop(python, "bert.py"),
            trials=_events,
            bare=BERT_SHELL,
            jobs=("train",),
        ),
        _ours(
            "orchestrator, inline, BERT",
            "executor=inline",
            "workload=bert_base",
            "workload.task=classification",
            "workload.size=tiny",
            bare=BERT_SHELL,
            note="bert_base of size tiny: two layers of 64 units, 64 steps, as the script's",
        ),
        Tool(
            name="optimum-benchmark",
            command=_optimum(python),
            trials=_reports,
            variables={"USE_TF": "0", "HF_HUB_OFFLINE": "1"},
            bare=BERT_SHELL,
            jobs=("train",),
            note="process launcher, 120 steps, OVERRIDE_BENCHMARKS=0; its reports tell no first step",
        ),
    )
    return {tool.name: tool for tool in tools}


def _shell_loop(python: str, script: str) -> Callable[[Grid, Path], Sequence[str]]:
    def command(grid: Grid, _folder: Path) -> Sequence[str]:
        sizes = " ".join(map(str, grid.batch_sizes))
        started = f"{shlex.join((python, str(JOBS / script)))} --batch-size $size --seed $seed || exit 1"
        seeds = f"$(seq 0 {grid.num_seeds - 1})"
        return ("bash", "-c", f"for size in {sizes}; do for seed in {seeds}; do {started}; done; done")

    return command


def _ours(name: str, executor: str, *words: str, bare: str = SHELL, note: str) -> Tool:
    def command(grid: Grid, _folder: Path) -> Sequence[str]:
        own = ("trainer=noop",)
        if grid.job == "train":
            sizes = ",".join(map(str, grid.batch_sizes))
            own = (*words, "trainer=torch_ddp", f"global_batch_size={sizes}", *_PROTOCOL.overrides())
        common = ("+sweep=smoke", executor, "precision=fp32", "sweep.include=[]", "data.source=synthetic")
        seeds = f"seed=range({grid.num_seeds})"
        return (sys.executable, "-m", "orchestrator", *common, *own, "tracking=none", seeds)

    jobs = ("noop", "train") if bare == SHELL else ("train",)
    return Tool(name=name, command=command, trials=_records, variables={}, bare=bare, jobs=jobs, note=note)


def _tune(python: str, script: str) -> Callable[[Grid, Path], Sequence[str]]:
    def command(grid: Grid, _folder: Path) -> Sequence[str]:
        sizes = ",".join(map(str, grid.batch_sizes))
        return (python, str(JOBS / script), sizes, str(grid.num_seeds))

    return command


def _hydra(python: str) -> Callable[[Grid, Path], Sequence[str]]:
    def command(grid: Grid, folder: Path) -> Sequence[str]:
        sizes = ",".join(map(str, grid.batch_sizes))
        start = (
            *("address=local", "include_dashboard=false"),
            *(f"num_cpus={CORES}", f"_temp_dir={folder / 'ray'}"),
        )
        settings = (
            *(f"+hydra.launcher.ray.init.{option}" for option in start),
            f"+hydra.launcher.ray.remote.num_cpus={CORES}",
        )
        points = (f"+batch_size={sizes}", f"+seed=range(0,{grid.num_seeds})")
        return (python, str(JOBS / "with_hydra.py"), "-m", *points, "hydra/launcher=ray", *settings)

    return command


def _optimum(python: str) -> Callable[[Grid, Path], Sequence[str]]:
    def command(grid: Grid, folder: Path) -> Sequence[str]:
        model = folder / "model"
        if not model.exists():
            subprocess.run([python, str(JOBS / "bert.py"), "--save", str(model)], check=True)
        sizes = ",".join(map(str, grid.batch_sizes))
        points = (
            f"scenario.training_arguments.per_device_train_batch_size={sizes}",
            f"backend.seed=range(0,{grid.num_seeds})",
        )
        program = str(Path(python).parent / "optimum-benchmark")
        return (program, "--config-dir", str(JOBS), "--config-name", "optimum", "-m", *points)

    return command


def _events(folder: Path) -> list[Trial]:
    """Return the trials that `job.py` wrote down."""
    file = folder / "events"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("\n")]
    return [
        Trial(
            name=event["trial"],
            ended=event["ended"],
            first_step=event["first_step"],
            rate=event["rate"] or None,
        )
        for event in found
    ]


def _records(folder: Path) -> list[Trial]:
    """Records with a result in our ledger."""
    ledger = folder / "outputs" / "smoke" / "records.jsonl"
    records = Ledger(ledger).records() if ledger.exists() else ()
    return sorted((_trial_of(record) for record in records if record.result), key=lambda trial: trial.ended)


def _trial_of(record: TrialRecord) -> Trial:
    result, spec = record.result, record.spec
    assert result is not None
    begun = record.started_at + result.launch_seconds
    return Trial(
        name=f"{spec.global_batch_size}-{spec.seed}",
        ended=record.ended_at,
        first_step=begun + result.first_step_seconds,
        rate=spec.global_batch_size * steps_per_second(record) if result.block_seconds[0] else None,
    )


def _reports(folder: Path) -> list[Trial]:
    """Reports of optimum-benchmark; a report ends a trial."""
    found = []
    for file in (folder / "runs").glob("*/benchmark_report.json"):
        train = json.loads(file.read_text())["train"]
        trial = Trial(name=file.parent.name, ended=file.stat().st_mtime, rate=train["throughput"]["value"])
        found.append(trial)
    return sorted(found, key=lambda trial: trial.ended)
