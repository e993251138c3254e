"""Faults that are planted in the shipped trainers, inside the worker processes of real trials.

A fork server that imports this module and calls `plant` forks workers with a faulty trainer. A trial
names its fault by its `repeat`, so that one fork server serves all of them.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import WorkerJob

_EVERY = 10  # steps


def never_synchronizes(trainer: Any) -> None:
    trainer.synchronize = lambda: None


def counts_samples_twice(trainer: Any) -> None:
    def count_again(_index: int) -> None:
        trainer.samples += trainer._batches.global_batch_size

    _after_each_step(trainer, count_again)


def trains_on_half_of_each_batch(trainer: Any) -> None:
    trainer._staged = [{name: _half(each) for name, each in batch.items()} for batch in trainer._staged]


def computes_in_float32(trainer: Any) -> None:
    """Disable rounding; for TensorFlow see `_with_float32`."""
    trainer._autocast = nullcontext()


def compiles_every_tenth_step(trainer: Any) -> None:
    _COMPILERS[type(trainer).__name__](trainer)


def learns_at_a_rate_of_zero(trainer: Any) -> None:
    begin = trainer.begin

    def faulty(phase: Any) -> None:
        still = {name: replace(each, learning_rate=0.0) for name, each in phase.optimizers.items()}
        begin(replace(phase, optimizers=still))

    trainer.begin = faulty


def tells_its_first_loss_for_ever(trainer: Any) -> None:
    losses, told = trainer.losses, []

    def faulty() -> Mapping[str, float]:
        told.append(losses())
        return told[0]

    trainer.losses = faulty


def falls_back_to_the_cpu(_trainer: Any) -> None:
    """Use the CPU before set-up: see `_on_the_cpu`."""


FAULTS: tuple[Callable[[Any], None] | None, ...] = (
    None,
    never_synchronizes,
    counts_samples_twice,
    trains_on_half_of_each_batch,
    computes_in_float32,
    compiles_every_tenth_step,
    learns_at_a_rate_of_zero,
    tells_its_first_loss_for_ever,
    falls_back_to_the_cpu,
)
"""By the repeat of a trial; the first is none: the healthy twin of all others."""


def plant(trainer: str) -> None:
    """Let the shipped trainer of this name, once it is set up, have the fault that its trial names."""
    kind = resolve_name(trainer_info(trainer).path)
    healthy = kind.setup

    def setup(self: Any, workload: Any, job: WorkerJob, batches: Any) -> None:
        fault = FAULTS[job.trial.repeat]
        healthy(self, workload, _BEFORE.get(fault, lambda job: job)(job), batches)
        if fault is not None:
            fault(self)

    kind.setup = setup


def _with_float32(job: WorkerJob) -> WorkerJob:
    """Keras' layers take their precision when they are made."""
    return replace(job, precision="fp32") if job.trial.trainer == "tensorflow" else job


def _on_the_cpu(job: WorkerJob) -> WorkerJob:
    os.environ["PJRT_DEVICE"] = "CPU"
    return replace(job, kind="cpu")


_BEFORE: Mapping[Any, Callable[[WorkerJob], WorkerJob]] = {
    computes_in_float32: _with_float32,
    falls_back_to_the_cpu: _on_the_cpu,
}


def _half(whole: Any) -> Any:
    return whole[: len(whole) // 2]


def _after_each_step(trainer: Any, act: Callable[[int], None]) -> None:
    step = trainer.step

    def faulty(index: int) -> None:
        step(index)
        act(index)

    trainer.step = faulty


def _forget_graphs(trainer: Any) -> None:
    import torch

    _after_each_step(trainer, lambda index: torch._dynamo.reset() if index % _EVERY == 0 else None)


def _remake_function(trainer: Any) -> None:
    """A traced function that is made again counts from 1 again."""
    import tensorflow as tf

    def remake(index: int) -> None:
        if index % _EVERY == 0:
            trainer._train = tf.function(trainer._train_everywhere, autograph=False)

    _after_each_step(trainer, remake)


def _lengthen_graph(trainer: Any) -> None:
    """A tensor of another length waits for the next step's graph to be cut."""
    import torch

    def lengthen(index: int) -> None:
        if index % _EVERY == 0:
            trainer.extra = torch.zeros(index + 1, device=trainer._device) + 1

    _after_each_step(trainer, lengthen)


_COMPILERS: Mapping[str, Callable[[Any], None]] = {
    "TorchDdpTrainer": _forget_graphs,
    "TensorFlowTrainer": _remake_function,
    "TorchXlaTrainer": _lengthen_graph,
}
