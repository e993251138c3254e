"""Trainers in processes of their own, without an executor: forked children of one interpreter train.

As a script, in a trainer's own environment: `python trainer_runs.py TRAINER`. A line of its standard input
names a folder: it does the runs there, and answers `done` or `failed`. It needs no test package.
"""

import atexit
import dataclasses
import json
import os
import select
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from repository import CHILD_PYTHONPATH, ROOT

from orchestrator.core.codec import from_plain, to_plain
from orchestrator.core.result import DeviceFacts
from orchestrator.core.trainer import RankContext
from orchestrator.core.trial_spec import TimingSpec, TrialSpec
from orchestrator.train.process.signals import die_with_parent
from orchestrator.train.registry import load_trainer, trainer_info
from orchestrator.train.trainer import Trainer, WorkerJob
from workloads.data import batches
from workloads.data.sources import resolve
from workloads.initial import initial_weights
from workloads.registry import workload
from workloads.spec import WorkloadSpec, phase_steps

RUNS: dict[str, dict[str, tuple[str, int, int]]] = {
    "torch_ddp": {"fp32": ("fp32", 1, 1), "bf16": ("bf16", 1, 1), "two processes": ("fp32", 2, 2)},
    "tensorflow": {
        "fp32": ("fp32", 1, 1),
        "bf16": ("bf16", 1, 1),
        "two processes": ("fp32", 2, 2),
        "two devices": ("fp32", 1, 2),
    },
    "torch_xla": {"fp32": ("fp32", 1, 1), "bf16": ("bf16", 1, 1), "two devices": ("fp32", 1, 2)},
}
"""(precision, processes, replicas) of each run of a trainer."""

COMPILED, TWO_COMPILED = "compiled", "two compiled processes"
"""Runs like `fp32` and `two processes` with compiled steps, where compiling is a choice."""

TWO_HOSTS = "two hosts"
"""A run of two processes with a mesh of two devices each, which exchange what hosts do."""

COMPILED_SOON = {"XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"}
"""XLA compiles for a CPU in a third of the time under these; the last losses of a GAN stayed the same."""

STEPS = 12
BATCH = 64
MATRIX_SIZE = 256
WORKLOADS: dict[str, dict[str, Any]] = {
    "mnist_cnn": {"filters": (8, 16), "dense_units": 64, "learning_rate": 0.02, "momentum": 0.9},
    "mnist_dbn": {"hidden_units": (48, 32), "gibbs_steps": 2, "learning_rate": 0.01},
    "mnist_gan": {"width": 4, "latent": 8, "dropout": 0.0},
    "imdb_bilstm": {"sequence_length": 12, "embedding_units": 8, "units": 8, "layers": 2, "dropout": 0.0},
    "imdb_bigru": {"sequence_length": 12, "embedding_units": 8, "units": 8, "dropout": 0.0},
    "gpt2": {"sequence_length": 12, "warmup_steps": 4, "decay_steps": 10},
    "llama_style": {"sequence_length": 12, "warmup_steps": 4, "decay_steps": 10},
    "bert_base": {"sequence_length": 12, "dropout": 0.0},
    "vit_b16": {"warmup_steps": 4},
}
"""Small networks with every step protocol and kind of layer, without what frameworks draw: dropout."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Report of one rank after its steps; `state` holds its weights by canonical name.

    Attributes:
        losses: of each step, by network.
        product: dtype and mean of a product of two matrices, as the trainer multiplies them.
        sum_apart: of all weights after a last step without an exchange; None where that is not possible.
    """

    losses: tuple[dict[str, float], ...]
    quality: dict[str, float]
    quality_of_five: dict[str, float]
    samples: int
    compile_counts: tuple[int | None, ...]
    facts: DeviceFacts
    product: tuple[str, float]
    sum_apart: float | None
    state: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)


def initial_state(task: str) -> dict[str, np.ndarray]:
    """Weights of all networks before the first step, by canonical name."""
    return {
        f"{network}.{name}": array
        for network, graph in workload(task, WORKLOADS[task]).networks.items()
        for name, array in initial_weights(graph, seed=0).items()
    }


def python_of(trainer: str) -> Path:
    """The interpreter that has the trainer's framework; it may be absent."""
    if trainer != "torch_xla":
        return Path(sys.executable)
    return Path(os.environ.get("ORCHESTRATOR_XLA_PYTHON", ROOT / ".venv-xla/bin/python") or "nowhere")


@cache
def outcomes_of(trainer: str, task: str) -> dict[str, list[Outcome]]:
    """Do all runs of a workload, once in a test session: the outcome of each rank, by the name of the run."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        data_set = workload(task, WORKLOADS[task]).data.data_set
        data = resolve(data_set, "synthetic", cache=folder, download=False).path
        shapes = RUNS[trainer] | runs_over_hosts(trainer, task)
        jobs = {run: group_jobs(trainer, task, shape, data=data) for run, shape in shapes.items()}
        for run, shape in compiled_runs(trainer, task).items():
            jobs[run] = group_jobs(trainer, task, shape, data=data, options={"compile": "on"})
        (folder / "runs.json").write_text(json.dumps(to_plain(jobs)))
        interpreter = _find_interpreter(trainer)
        assert interpreter.stdin is not None
        assert interpreter.stdout is not None
        interpreter.stdin.write(f"{folder}\n")
        interpreter.stdin.flush()
        assert select.select([interpreter.stdout], [], [], 600)[0], "the runs take longer than 600 s"
        assert interpreter.stdout.readline() == "done\n", "its log is on standard error"
        return {run: [_outcome(folder / f"{run}-{item.rank}") for item in jobs[run]] for run in jobs}


@cache
def _find_interpreter(trainer: str) -> "subprocess.Popen[str]":
    """Start the interpreter that imports the trainer's framework once; it ends with this process."""
    interpreter = subprocess.Popen(
        [python_of(trainer), __file__, trainer],
        env={**os.environ, "PYTHONPATH": CHILD_PYTHONPATH, "TF_CPP_MIN_LOG_LEVEL": "2", **COMPILED_SOON},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(interpreter.communicate)
    return interpreter


def compiled_runs(trainer: str, task: str) -> dict[str, tuple[str, int, int]]:
    """The compiled runs of a workload, shaped as in `RUNS`."""
    if trainer == "torch_xla" or task not in ("mnist_cnn", "mnist_gan"):
        return {}
    alone = {COMPILED: ("fp32", 1, 1)}
    return alone | {TWO_COMPILED: ("fp32", 2, 2)} if task == "mnist_cnn" else alone


def runs_over_hosts(trainer: str, task: str) -> dict[str, tuple[str, int, int]]:
    """Return the runs of a trainer with one process per host: one network, and two with batch
    normalisation.
    """
    covered = trainer == "torch_xla" and task in ("mnist_cnn", "mnist_gan")
    return {TWO_HOSTS: ("fp32", 2, 4)} if covered else {}


def group_jobs(
    trainer: str,
    task: str,
    shape: tuple[str, int, int],
    *,
    data: Path,
    options: dict[str, str] | None = None,
    workload_options: dict[str, Any] | None = None,
) -> list[WorkerJob]:
    """The jobs of one trial, one for each process; `workload_options` are those of `WORKLOADS` by default."""
    precision, processes, replicas = shape
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(processes)]
    addresses = tuple(f"127.0.0.1:{socket.getsockname()[1]}" for socket in sockets)
    for item in sockets:
        item.close()
    trial = TrialSpec(
        workload=task,
        workload_version=1,
        workload_options=workload_options or WORKLOADS[task],
        trainer=trainer,
        trainer_version=1,
        trainer_options=options or {},
        device="cpu",
        precision=precision,
        data="synthetic:1",
        global_batch_size=BATCH,
        steps=STEPS,
        num_workers=replicas,
        timing=TimingSpec(warmup_steps=3, steps_per_block=1),
    )
    rank_contexts = [
        RankContext(rank=rank, addresses=addresses, kind="cpu", replicas=replicas, threads=1, local_rank=rank)
        for rank in range(processes)
    ]
    return [
        WorkerJob(
            trial=trial,
            kind="cpu",
            precision=precision,
            rehearsal=False,
            rank=rank_context.rank,
            world_size=processes,
            replicas=replicas,
            threads=rank_context.threads,
            data_path=str(data),
            addresses=addresses,
            variables=trainer_info(trainer).variables(rank_context),
        )
        for rank_context in rank_contexts
    ]


def _outcome(stem: Path) -> Outcome:
    said = json.loads(stem.with_suffix(".json").read_text())
    with np.load(stem.with_suffix(".npz")) as arrays:
        return dataclasses.replace(from_plain(Outcome, said), state=dict(arrays))


def _main(trainer: str) -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what frameworks print is no answer
    for module in trainer_info(trainer).preload:
        import_module(module)
    for line in sys.stdin:
        folder = Path(line.rstrip("\n"))
        runs = json.loads((folder / "runs.json").read_text())
        is_done = all(_is_done(folder, name, jobs) for name, jobs in runs.items())
        answers.write("done\n" if is_done else "failed\n")


def _is_done(folder: Path, name: str, jobs: list[Any]) -> bool:
    stems = [folder / f"{name}-{rank}" for rank in range(len(jobs))]
    return do_all([from_plain(WorkerJob, job) for job in jobs], stems, work=_work)


def do_all(jobs: list[WorkerJob], stems: list[Path], *, work: Callable[[WorkerJob, Path], None]) -> bool:
    """Do the work of all ranks side by side; whether all did it, otherwise the log of the one that failed."""
    children = [fork(job, stem, work) for job, stem in zip(jobs, stems, strict=True)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    for code, stem in zip(codes, stems, strict=True):
        if code:
            sys.stderr.write(stem.with_suffix(".log").read_text())
            return False
    return True


def fork(job: WorkerJob, stem: Path, work: Callable[[WorkerJob, Path], None]) -> int:
    """Do a rank's work in a child process, whose output goes to `stem`.log: its process id."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        die_with_parent(parent)  # which a timeout ends
        log = os.open(stem.with_suffix(".log"), os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(job.variables)
        work(job, stem)
        code = 0
    except Exception:  # noqa: BLE001  the border of the process: the parent shows its log
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def set_up(job: WorkerJob, trainer: Trainer | None = None) -> tuple[WorkloadSpec, Trainer]:
    """The workload of a job, and a trainer that is ready for its first phase: that of the job by default."""
    trial = job.trial
    spec = workload(trial.workload, trial.workload_options)
    data = batches.load(
        Path(job.data_path),
        data=spec.data,
        global_batch_size=trial.global_batch_size,
        seed=trial.seed,
        noise=spec.noise,
    )
    trainer = trainer or load_trainer(trainer_info(trial.trainer), shards=job.shards > 1)
    trainer.setup(spec, job, data)
    return spec, trainer


def _work(job: WorkerJob, stem: Path) -> None:
    spec, trainer = set_up(job)
    losses: list[dict[str, float]] = []
    counts: list[int | None] = []
    for phase, last in zip(spec.phases, accumulate(phase_steps(spec.phases, job.trial.steps)), strict=True):
        trainer.begin(phase)
        trainer.synchronize()  # as the loop does before the first step
        for index in range(len(losses), last):
            trainer.step(index)
            trainer.synchronize()
            losses.append(dict(trainer.losses()))
            counts.append(trainer.compile_count())
    quality, quality_of_five = _evaluate(trainer, counts)
    said: dict[str, Any] = {
        "losses": losses,
        "samples": trainer.samples,
        "compile_counts": counts,
        "quality": quality,
        "quality_of_five": quality_of_five,
        "facts": to_plain(trainer.device_facts()),
    }
    said["product"] = _product(trainer)
    np.savez(stem.with_suffix(".npz"), **trainer.state())
    said["sum_apart"] = _sum_apart(trainer)
    trainer.close()
    stem.with_suffix(".json").write_text(json.dumps(said))


def _evaluate(trainer: Trainer, counts: list[int | None]) -> list[dict[str, float]]:
    """Quality on all held-out samples and on five of them; what that compiles is appended to `counts`."""
    found = []
    for limit in (None, 5):
        found.append(dict(trainer.evaluate(limit)))
        counts.append(trainer.compile_count())
    return found


def _product(trainer: Trainer) -> tuple[str, float]:
    """Compute a product of numbers between 0 and 1."""
    multiply = trainer.matmul_benchmark(MATRIX_SIZE)
    assert multiply is not None
    product = multiply()
    trainer.synchronize()
    array = product.float().cpu() if hasattr(product, "float") else product
    return str(product.dtype), float(np.asarray(array, np.float32).mean())


def _sum_apart(trainer: Trainer) -> float | None:
    """The sum of all weights after one more step, of this rank's share alone."""
    apart = trainer.without_exchange()
    if apart is None:
        return None
    with apart:
        trainer.step(STEPS)
    return float(sum(array.sum(dtype=np.float64) for array in trainer.state().values()))


if __name__ == "__main__":
    _main(sys.argv[1])
