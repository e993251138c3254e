"""The program of a torch_xla training step, traced without a buffer and without executing anything.

Private functions of torch_xla 2.9, which the package pins: `_get_xla_tensors_hlo_proto`,
`_get_tensors_xla_device_data_node` and `_xla_get_tensor_id`.
"""

import sys
import time
from collections.abc import Callable, Mapping

import torch
import torch_xla
from torch import Tensor, nn
from torch_xla import backends
from torch_xla.core import xla_builder, xla_model

from orchestrator.extensions.tpu_compiler.capture.hlo import with_donations
from orchestrator.train.capture.request import CapturedStep, CaptureRequest, serve
from orchestrator.train.capture.steps import DeclaredStep, NativeStep
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_xla_trainer import build_autocast

_RECORDINGS = 3


def capture(request: CaptureRequest) -> CapturedStep:
    """Trace the steady step: forward, backward and update of every optimizer, with its state.

    Weights and batch are placeholders without memory, so that every batch size can be traced. The first step
    makes the optimizers' state; the second one is the program of all further steps. The host records the same
    operations again in every step; the fastest of a few recordings is the time of the host.
    """
    precision = PRECISIONS[request.precision]
    backends.set_mat_mul_precision(precision.xla_matmul)
    step = (NativeStep if request.is_native else DeclaredStep)(request, _on_device)
    networks, optimizers = step.module, step.optimizers
    torch_xla.sync()
    xla_model.wait_device_ops()

    def record() -> tuple[Mapping[str, Tensor], list[int]]:
        ids: list[int] = []

        def placeholder(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
            tensor = _placeholder(shape, dtype)
            ids.append(_build_id(tensor))
            return tensor

        return step.take(step.batch(placeholder), autocast=build_autocast(precision)), ids

    record()
    _forget(networks, optimizers)
    state = _list_state(networks, optimizers)
    before = [_build_id(tensor) for tensor in state]
    losses, batch_ids = record()
    outputs = [*losses.values(), *state]
    module = bytes(torch_xla._XLAC._get_xla_tensors_hlo_proto(outputs))
    parameters, _ = torch_xla._XLAC._get_tensors_xla_device_data_node(outputs)
    number_of = {identity: number for number, identity in enumerate(parameters)}
    times = [_recorded_seconds(networks, optimizers, record) for _ in range(_RECORDINGS)]
    donated = [
        (len(losses) + index, number_of[identity])
        for index, identity in enumerate(before)
        if identity in number_of
    ]
    return CapturedStep(
        module=with_donations(module, donated),
        batch_parameters=tuple(number_of[identity] for identity in batch_ids if identity in number_of),
        host_seconds=min(times),
    )


def _on_device(tensor: Tensor) -> Tensor:
    if tensor.is_meta:
        return _placeholder(tuple(tensor.shape), tensor.dtype)
    return tensor.to(torch_xla.device())


def _recorded_seconds(
    networks: nn.Module, optimizers: list[torch.optim.Optimizer], record: Callable[[], object]
) -> float:
    """Record a step of networks that have none pending, and return the time that this took."""
    _forget(networks, optimizers)
    start = time.perf_counter()
    record()
    return time.perf_counter() - start


def _placeholder(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    tensor: Tensor = xla_builder.create_placeholder_tensor(shape, dtype)
    return tensor


def _build_id(tensor: Tensor) -> int:
    return int(torch_xla._XLAC._xla_get_tensor_id(tensor))


def _list_state(networks: nn.Module, optimizers: list[torch.optim.Optimizer]) -> list[Tensor]:
    """Return all tensors that a step reads and overwrites."""
    slots = [
        value
        for optimizer in optimizers
        for slots in optimizer.state.values()
        for value in slots.values()
        if torch.is_tensor(value) and value.device.type == "xla"
    ]
    return [*networks.parameters(), *networks.buffers(), *slots]


def _forget(networks: nn.Module, optimizers: list[torch.optim.Optimizer]) -> None:
    """Put placeholders where the recorded step left its results, as if it had been run."""
    for optimizer in optimizers:
        optimizer.zero_grad()
        for slots in optimizer.state.values():
            for name, value in slots.items():
                if torch.is_tensor(value) and value.device.type == "xla":
                    slots[name] = _placeholder(tuple(value.shape), value.dtype)
    for tensor in (*networks.parameters(), *networks.buffers()):
        tensor.data = _placeholder(tuple(tensor.shape), tensor.dtype)


if __name__ == "__main__":
    serve(capture, sys.argv[1])
