"""Shared parts of the torch trainers of native jobs: update, quality, and checkpoints."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from orchestrator.core.errors import TrialError
from workloads.jobs import TorchJob
from workloads.native.evaluation import evaluate_job
from workloads.with_torch.shards import gather, shard_like

_WEIGHT = "weight."
_REST = "rest"


def clip(job: TorchJob, weights: Iterable[nn.Parameter]) -> None:
    """Scale the gradients down to the job's largest norm, if it has one."""
    if job.clip_norm is not None:
        nn.utils.clip_grad_norm_(weights, job.clip_norm)


def compute_quality(job: TorchJob) -> dict[str, float]:
    """Evaluate the model as the job does, in evaluation mode and without gradients."""
    job.model.eval()
    with torch.no_grad():
        metrics = evaluate_job(job)
    job.model.train()
    return metrics


def copy_state(model: nn.Module) -> dict[str, npt.NDArray[Any]]:
    """Copies of the trained weights, as `model.<name>`."""
    return {name: make() for name, make in find_makers(model).items()}


def find_makers(model: nn.Module) -> dict[str, Callable[[], npt.NDArray[Any]]]:
    """Return what makes each of these copies."""
    weights = model.named_parameters()
    return {f"model.{name}": partial(_copy_array, one) for name, one in weights if one.requires_grad}


def copy_arrays(job: TorchJob, rest: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Return all that a further identical step needs: `weight.<name>`, and the rest in PyTorch's own format.

    Args:
        rest: what the trainer itself keeps, in plain values and tensors.
    """
    weights = {f"{_WEIGHT}{name}": _copy_array(value) for name, value in _find_tensors(job).items()}
    kept = {
        **rest,
        "optimizer": _kept(job.optimizers),
        "scheduler": _kept(job.schedulers),
    }
    written = io.BytesIO()
    torch.save(kept, written)
    return {**weights, _REST: np.frombuffer(written.getvalue(), np.uint8)}


def put_back(arrays: Mapping[str, npt.NDArray[Any]], job: TorchJob) -> dict[str, Any]:
    """Overwrite a job's state with that of `copy_arrays`, and return the trainer's own part.

    Raises:
        TrialError: `error`, where the job's state is of another form than what was kept.
    """
    rest: dict[str, Any] = torch.load(io.BytesIO(arrays[_REST].tobytes()), weights_only=True)
    with torch.no_grad():
        for name, tensor in _find_tensors(job).items():
            if f"{_WEIGHT}{name}" not in arrays:
                raise TrialError(
                    "error", f"the checkpoint lacks {name}; remove it, or undo the change of code"
                )
            tensor.copy_(shard_like(torch.from_numpy(arrays[f"{_WEIGHT}{name}"]), tensor))
    _restore(job.optimizers, rest.pop("optimizer"))
    _shard_slots(job.optimizers)
    _restore(job.schedulers, rest.pop("scheduler"))
    return rest


def _kept(parts: Sequence[Any]) -> Any:
    """Return the states of optimizers or schedulers: a list of several, the state of one, None of none."""
    states = [_on_host(part.state_dict()) for part in parts]
    return states if len(states) > 1 else next(iter(states), None)


def _restore(parts: Sequence[Any], kept: Any) -> None:
    states = kept if len(parts) > 1 else [kept]
    for part, state in zip(parts, states, strict=False):
        part.load_state_dict(state)


def _shard_slots(optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Keep of each restored slot this replica's shard, where its weight is sharded."""
    for optimizer in optimizers:
        for weight, slots in optimizer.state.items():
            for name, value in slots.items():
                if isinstance(value, torch.Tensor) and value.shape == weight.shape:
                    slots[name] = shard_like(value, weight)


def _find_tensors(job: TorchJob) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name; one that modules share has its first name.

    Weights that are not trained are left out where they are made again.
    """
    weights = {
        name: weight
        for name, weight in job.model.named_parameters()
        if weight.requires_grad or job.has_weights
    }
    return weights | dict(job.model.named_buffers())


def _copy_array(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """Copy a tensor to an array; numpy has no bfloat16, of which float32 holds every value."""
    host = gather(tensor.detach()).cpu()
    return np.array((host.float() if host.dtype == torch.bfloat16 else host).numpy())


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return gather(value.detach()).cpu()
    if isinstance(value, np.generic):  # a learning rate that numpy computed, which is not read back
        return value.item()
    if type(value) is dict:
        return {key: _on_host(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_on_host(item) for item in value]
    return value
