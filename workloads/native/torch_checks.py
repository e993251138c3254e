"""Checks of a PyTorch job before a trial: reasons why it cannot be trained, in one line."""

import inspect
import warnings
from collections.abc import Sized
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import IterableDataset

from workloads.jobs import JobError, TorchJob

_TRIED_STEPS = 5_000
"""Steps that schedulers take when a job is described; most schedulers that end do so long before."""


def require_trainable(job: TorchJob) -> None:
    """Raise JobError for a job with parts that do not fit together."""
    if not isinstance(job.model, nn.Module):
        raise JobError(f"model is a {type(job.model).__name__}, expected a torch.nn.Module")
    _require_optimizers(job.optimizers)
    if not callable(job.loss):
        raise JobError(f"loss is a {type(job.loss).__name__}, expected a function (model, batch) -> scalar")
    trained = {id(weight) for weight in job.model.parameters() if weight.requires_grad}
    if not trained:
        raise JobError("the model has no parameters to train")
    for optimizer in job.optimizers:
        held = [weight for group in optimizer.param_groups for weight in group["params"]]
        if not any(id(weight) in trained for weight in held):
            raise JobError(
                "the optimizer has no parameter of the model; expected optimizer(model.parameters())"
            )
    if job.accumulation_steps < 1:
        raise JobError(f"accumulation_steps={job.accumulation_steps} must be at least 1")
    if any(isinstance(scheduler, ReduceLROnPlateau) for scheduler in job.schedulers):
        raise JobError("scheduler is a ReduceLROnPlateau, expected one that takes a step without a metric")
    if job.clip_norm is not None and not job.clip_norm > 0:
        raise JobError(f"clip_norm={job.clip_norm} must be above 0, or None")
    _require_data(job.data)


def steps_of_schedulers(job: TorchJob) -> int | None:
    """Count the steps that the schedulers allow; None: all of those that are tried.

    The job cannot be trained afterwards.
    """
    with warnings.catch_warnings(action="ignore"):  # the optimizers take no step here
        for step in range(1, _TRIED_STEPS + 1):
            try:
                for scheduler in job.schedulers:
                    scheduler.step()
            except Exception:  # noqa: BLE001  whatever the scheduler raises in a trial, too
                return step - 1
    return None


def _require_optimizers(optimizers: tuple[Any, ...]) -> None:
    if not optimizers:
        raise JobError("optimizer is an empty list, expected at least one torch.optim.Optimizer")
    for optimizer in optimizers:
        kind = type(optimizer)
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise JobError(f"optimizer is a {kind.__name__}, expected a torch.optim.Optimizer, or several")
        closure = inspect.signature(kind.step).parameters.get("closure")
        if closure is not None and closure.default is inspect.Parameter.empty:
            raise JobError(
                f"optimizer is a {kind.__name__}, whose step() needs a closure and computes the loss several "
                "times; expected one that needs none, as AdamW"
            )


def count_samples(data: Any) -> int | None:
    """Count the samples of a data set; None for an iterable one without a length."""
    return len(data) if isinstance(data, Sized) else None


def is_iterable(data: Any) -> bool:
    """Return whether a data set has its own order."""
    return isinstance(data, IterableDataset)


def _require_data(data: Any) -> None:
    if not is_iterable(data) and not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        raise JobError(
            f"data is a {type(data).__name__}, expected a torch.utils.data.Dataset of samples "
            "(not a DataLoader: batches are made for each number of workers)"
        )
    if count_samples(data) == 0:
        raise JobError("the data set is empty")
