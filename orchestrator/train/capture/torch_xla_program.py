"""The program of a torch_xla training step, traced without a buffer and without executing anything.

Private functions of torch_xla 2.9, which the package pins: `_get_xla_tensors_hlo_proto`,
`_get_tensors_xla_device_data_node` and `_xla_get_tensor_id`.
"""

import sys
import time
from collections.abc import Callable

import torch
import torch_xla
from torch import Tensor
from torch_xla import backends
from torch_xla.core import xla_builder, xla_model

from orchestrator.train.capture.hlo import with_donations
from orchestrator.train.capture.request import CapturedStep, CaptureRequest, batch_shapes, serve
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_xla_trainer import autocast_of, record_step
from workloads.with_torch.training import Losses, Networks, optimizer_of

_RECORDINGS = 3


def capture(request: CaptureRequest) -> CapturedStep:
    """Trace the steady step: forward, backward and update of every optimizer, with its state.

    Weights and batch are placeholders without memory, so that every batch size can be traced. The first step
    makes the optimizers' state; the second one is the program of all further steps. The host records the same
    operations again in every step; the fastest of a few recordings is the time of the host.
    """
    spec, precision = request.spec(), PRECISIONS[request.precision]
    backends.set_mat_mul_precision(precision.xla_matmul)
    device, phase = torch_xla.device(), spec.phases[-1]
    networks = Networks(spec, 0).to(device)
    torch_xla.sync()
    xla_model.wait_device_ops()
    trained = networks.train_in(phase)
    losses_of = Losses(networks, phase)
    optimizers = [optimizer_of(phase.optimizers[name], weights) for name, weights in trained.items()]
    shapes = batch_shapes(spec, request.global_batch_size)

    def record() -> tuple[dict[str, Tensor], dict[str, int]]:
        batch = {name: _placeholder(shape, getattr(torch, dtype)) for name, (shape, dtype) in shapes.items()}
        ids = {name: _id_of(tensor) for name, tensor in batch.items()}
        losses = record_step(losses_of, optimizers, batch, autocast=autocast_of(precision))
        return losses, ids

    record()
    _forget(networks, optimizers)
    state = _state_of(networks, optimizers)
    before = [_id_of(tensor) for tensor in state]
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
        batch_parameters=tuple(number_of[one] for one in batch_ids.values() if one in number_of),
        host_seconds=min(times),
    )


def _recorded_seconds(
    networks: Networks, optimizers: list[torch.optim.Optimizer], record: Callable[[], object]
) -> float:
    """Record a step of networks that have none pending, and return the time that this took."""
    _forget(networks, optimizers)
    start = time.perf_counter()
    record()
    return time.perf_counter() - start


def _placeholder(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    tensor: Tensor = xla_builder.create_placeholder_tensor(shape, dtype)
    return tensor


def _id_of(tensor: Tensor) -> int:
    return int(torch_xla._XLAC._xla_get_tensor_id(tensor))


def _state_of(networks: Networks, optimizers: list[torch.optim.Optimizer]) -> list[Tensor]:
    """Return all tensors that a step reads and overwrites."""
    slots = [
        value
        for optimizer in optimizers
        for slots in optimizer.state.values()
        for value in slots.values()
        if torch.is_tensor(value) and value.device.type == "xla"
    ]
    return [*networks.parameters(), *networks.buffers(), *slots]


def _forget(networks: Networks, optimizers: list[torch.optim.Optimizer]) -> None:
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
