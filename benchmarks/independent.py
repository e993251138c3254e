"""The scripts in `bare/` for what our trial trains: same arrays, threads, warm-up and steps of a block."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.core.placement import Placement
from orchestrator.execute.executor import SweepContext
from orchestrator.train.environment import without_hidden_settings
from workloads.data import batches
from workloads.initial import initial_weights
from workloads.registry import workload
from workloads.spec import Sgd, WorkloadSpec

_WARMUP_STEPS = 20

SCRIPTS = {
    "torch_ddp": ("with_torch.py", {}),
    "tensorflow": ("with_tensorflow.py", {"TF_CPP_MIN_LOG_LEVEL": "2"}),
    "torch_xla": ("with_torch_xla.py", {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": "1", "NPROC": "{threads}"}),
}
"""Trainer -> the script of its framework, and the variables that a user would set for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """Number of timed steps and repetitions on either side."""

    blocks: int
    steps_per_block: int

    def overrides(self) -> tuple[str, ...]:
        """Return the overrides of our side: fixed blocks, and no steps after them."""
        return (
            f"measure.warmup_steps={_WARMUP_STEPS}",
            f"measure.max_warmup_steps={_WARMUP_STEPS}",
            f"measure.min_blocks={self.blocks}",
            f"measure.max_blocks={self.blocks}",
            f"measure.steps_per_block={self.steps_per_block}",
            f"steps={1 + _WARMUP_STEPS + self.blocks * self.steps_per_block}",
        )

    def words(self) -> tuple[str, ...]:
        """Return the arguments of a script, which takes as many blocks as requested."""
        return (f"--warmup-steps={_WARMUP_STEPS}", f"--steps-per-block={self.steps_per_block}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A script, ready to be started: its command line, its variables, and what it must have built."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    num_parameters: int

    @contextmanager
    def started(self, protocol: Protocol) -> Iterator["BareRun"]:
        """Run it in a process of its own; at the end it must have trained what we train."""
        with subprocess.Popen(
            (*self.command, *protocol.words()),
            env=dict(self.variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            run = BareRun(process, name=Path(self.command[1]).name)
            yield run
        run.require_training(num_parameters=self.num_parameters)


class BareRun:
    """A script that trains, block by block."""

    def __init__(self, process: "subprocess.Popen[str]", *, name: str) -> None:
        self._process = process
        self._name = name
        self._losses: list[float] = []
        self._num_parameters = 0

    def block_seconds(self) -> float:
        """Let it train one more block."""
        if not self._losses:
            self._num_parameters = self._said()["parameters"]
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._said()["seconds"])

    def require_training(self, *, num_parameters: int) -> None:
        """Exit unless it trained a network as large as ours, and it learnt."""
        if self._num_parameters != num_parameters:
            sys.exit(
                f"{self._name}: a network of {self._num_parameters} parameters; ours has {num_parameters}"
            )
        first, last = self._losses[0], self._losses[-1]
        if not last < first:
            sys.exit(f"{self._name}: its loss did not fall: {first} at first, {last} at last")

    def _said(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"{self._name} ended with {self._process.wait()}; its error is above")
        said: Mapping[str, Any] = json.loads(line)
        self._losses.append(said["loss"])
        return said


def point_of(trainer: str, *, batch_size: int) -> tuple[str, ...]:
    """One trial of the trainer, as a command line would ask for it."""
    common = ("+sweep=smoke", "executor=inline", "precision=fp32", "sweep.include=[]")
    return (*common, f"trainer={trainer}", f"global_batch_size={batch_size}")


@contextmanager
def bare_of(placement: Placement, context: SweepContext) -> Iterator[Bare]:
    """The script with the arrays, the threads and the interpreter that our trial has."""
    trial = placement.trial
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "batches.npz"
        spec = workload(trial.workload, trial.workload_options)
        write_batches(file, placement, spec, data_path=Path(context.data_paths[trial.data]))
        yield _bare(spec, placement, command=(context.pythons[trial.trainer], file))


def _bare(spec: WorkloadSpec, placement: Placement, *, command: tuple[str, Path]) -> Bare:
    script, variables = SCRIPTS[placement.trial.trainer]
    optimizer, threads = spec.phases[-1].optimizers["model"], str(placement.threads)
    assert isinstance(optimizer, Sgd), "the scripts descend as mnist_cnn does"
    python, file = command
    words = (
        *(python, str(Path(__file__).parent / "bare" / script), str(file), f"--threads={threads}"),
        *(f"--learning-rate={optimizer.learning_rate}", f"--momentum={optimizer.momentum}"),
    )
    threaded = {"OMP_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": ""}
    own = {name: value.format(threads=threads) for name, value in variables.items()}
    weights = initial_weights(spec.networks["model"], placement.trial.seed)
    return Bare(
        command=words,
        variables={**without_hidden_settings(os.environ), **threaded, **own},
        num_parameters=sum(weight.size for weight in weights.values()),
    )


def write_batches(file: Path, placement: Placement, spec: WorkloadSpec, *, data_path: Path) -> None:
    """Write the batches of one pass, in the order in which our trial trains on them."""
    trial = placement.trial
    data = batches.load(data_path, data=spec.data, global_batch_size=trial.global_batch_size, seed=trial.seed)
    shards = [data.shard(index, rank=0, world_size=1) for index in range(data.num_batches)]
    np.savez(file, **{name: np.stack([shard[name] for shard in shards]) for name in ("x", "y")})
