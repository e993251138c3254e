"""A training step of a job in PyTorch: its loss as a module, and its tensors put elsewhere."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from workloads.jobs import JobError, TorchJob
from workloads.with_torch.shards import shard_like


class JobLoss(nn.Module):
    """batch -> mean loss over this process's samples: what is wrapped, compiled and run."""

    def __init__(self, job: TorchJob) -> None:
        super().__init__()
        self.model: nn.Module = job.model
        self._loss = job.loss

    def forward(self, batch: Any) -> Tensor:
        """Return a scalar. Raises JobError for a loss that is none."""
        if isinstance(self._loss, nn.Module):
            *inputs, target = batch
            loss = self._loss(self.model(*inputs), target)
        else:
            loss = self._loss(self.model, batch)
        if not isinstance(loss, Tensor):
            raise JobError(f"the loss is a {type(loss).__name__}, expected a tensor with one value")
        if loss.numel() != 1:
            raise JobError(f"the loss has the shape {tuple(loss.shape)}, expected one value: the mean")
        return loss.reshape(())


def moved(batch: Any, place: Callable[[Tensor], Tensor], *, device: torch.device | None = None) -> Any:
    """Return a batch with every tensor of its tuples, lists, mappings and dataclasses put elsewhere.

    Args:
        device: where another object with a method `to` is put, by that method; None: it stays.
    """
    if isinstance(batch, Tensor):
        return place(batch)
    if isinstance(batch, Mapping):
        parts = {name: moved(part, place, device=device) for name, part in batch.items()}
        return parts if type(batch) is dict else type(batch)(parts)  # type: ignore[call-arg]  # any mapping
    if is_dataclass(batch):
        values = {field.name: getattr(batch, field.name) for field in fields(batch)}
        return _with_fields(batch, moved(values, place, device=device))
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(moved(part, place, device=device) for part in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(moved(part, place, device=device) for part in batch)
    return batch.to(device) if device is not None and is_movable(batch) else batch


def is_movable(value: Any) -> bool:
    """Return whether a part of a batch is an object that moves its tensors itself."""
    return callable(getattr(value, "to", None))


def _with_fields(value: Any, parts: Mapping[str, Any]) -> Any:
    """Copy a dataclass with other values; its own initialisation, which may compute, is not called."""
    copied = copy.copy(value)
    for name, part in parts.items():
        object.__setattr__(copied, name, part)  # of a frozen one, too
    return copied


def replace_tensors(
    module: nn.Module, optimizers: Iterable[torch.optim.Optimizer], make: Callable[[Tensor], Tensor]
) -> None:
    """Put new tensors in the place of all parameters and buffers, also in fresh optimizers.

    A tensor that several modules share stays shared, which `Module.to` does not ensure on an XLA device.
    """
    made: dict[int, Tensor] = {}

    def replaced(tensor: Tensor) -> Tensor:
        if id(tensor) not in made:
            new = make(tensor.detach())
            is_weight = isinstance(tensor, nn.Parameter)
            made[id(tensor)] = nn.Parameter(new, requires_grad=tensor.requires_grad) if is_weight else new
        return made[id(tensor)]

    kept = [
        tensor
        for part in module.modules()
        for tensor in (*part._parameters.values(), *part._buffers.values())
    ]
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    tensors[name] = replaced(tensor)  # type: ignore[assignment]  # a Parameter for a Parameter
    for group in (group for optimizer in optimizers for group in optimizer.param_groups):
        group["params"] = [made.get(id(parameter), parameter) for parameter in group["params"]]
    del kept  # until here no identity was given to another tensor


def load_weights(job: TorchJob) -> None:
    """Give a model on the meta device its weights. Raises JobError for a loaded model of another form."""
    if job.iterate_weights is not None:
        replace_tensors(job.model, job.optimizers, lambda tensor: torch.empty_like(tensor, device="cpu"))
        fill_weights(job)
    if job.load_model is None:
        return
    model = job.load_model()
    if _list_shapes(model) != _list_shapes(job.model):
        raise JobError("load_model makes another model than the job's; expected the same modules")
    # Of equal modules the order is that in which `replace_tensors` asks for others.
    loaded = iter(_list_distinct(model))
    replace_tensors(job.model, job.optimizers, lambda _: next(loaded).detach())


def fill_weights(job: TorchJob) -> None:
    """Overwrite tensors with those of `iterate_weights`, or their shards. Raises JobError for others."""
    assert job.iterate_weights is not None, "the job has such weights"
    tensors = {**dict(job.model.named_parameters()), **dict(job.model.named_buffers())}
    with torch.no_grad():
        for name, values in job.iterate_weights():
            if name not in tensors or values.shape != tensors[name].shape:
                raise JobError(
                    f"iterate_weights yields {name} {[*values.shape]}, which the model does not have"
                )
            tensor = tensors.pop(name)
            tensor.copy_(shard_like(values, tensor))
    if tensors:
        raise JobError(f"iterate_weights leaves out {', '.join(sorted(tensors))}")


def without_data(mode: FakeTensorMode, tensor: Tensor) -> Tensor:
    """Return a tensor of the same shape on the CPU that has no data."""
    if not tensor.is_meta:
        return mode.from_tensor(tensor)
    with mode:
        return torch.empty_like(tensor, device="cpu")


def _list_shapes(model: nn.Module) -> list[tuple[str, torch.Size]]:
    tensors = (*model.named_parameters(), *model.named_buffers())
    return [(name, tensor.shape) for name, tensor in tensors]


def _list_distinct(model: nn.Module) -> list[Tensor]:
    """List parameters and buffers, one that modules share once."""
    tensors = {
        id(tensor): tensor
        for part in model.modules()
        for tensor in (*part._parameters.values(), *part._buffers.values())
        if tensor is not None
    }
    return list(tensors.values())


class ProductDtype:
    """Type of the output of the first layer with a matrix of weights that runs; embeddings look up.

    Attributes:
        name: `float32`; None before a forward pass.
    """

    def __init__(self, model: nn.Module) -> None:
        self.name: str | None = None
        self._hooks = [
            module.register_forward_hook(self._see)
            for module in model.modules()
            if not isinstance(module, (nn.Embedding, nn.EmbeddingBag))
            and any(weight.ndim > 1 for weight in module.parameters(recurse=False))
        ]

    def _see(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, (tuple, list)) else output
        if self.name is None and isinstance(first, Tensor):
            self.name = str(first.dtype).removeprefix("torch.")
        if not torch.compiler.is_compiling():
            for hook in self._hooks:
                hook.remove()
