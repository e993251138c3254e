"""Time of a training step by CUDA events, in a loop that shares no timing code with the trainers."""

from collections.abc import Mapping

import torch

from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import set_float32_rounding
from workloads.registry import workload
from workloads.with_torch.training import Losses, Networks, build_optimizer

_WARM_UP_STEPS = 20
_TIMED_STEPS = 50
_CLASSES = 10


def event_step_seconds(name: str, batch: int, options: Mapping[str, int]) -> float:
    """Return the mean time of a step of an image classifier in bf16, over 50 steps after 20."""
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda", 0)
    set_float32_rounding(PRECISIONS["bf16"], device)
    spec = workload(name, dict(options))
    networks, phase = Networks(spec, 0).to(device), spec.phases[-1]
    trained = networks.train_in(phase)
    losses = Losses(networks, phase)
    optimizers = [build_optimizer(phase.optimizers[key], parameters) for key, parameters in trained.items()]
    shape = next(iter(spec.networks.values())).input_shape
    data = {
        "x": torch.rand(batch, *shape, device=device),
        "y": torch.randint(0, _CLASSES, (batch,), device=device),
    }

    def step() -> None:
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            values = losses(data)
        torch.autograd.backward([*values.values()])
        for optimizer in optimizers:
            optimizer.step()

    for _ in range(_WARM_UP_STEPS):
        step()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(_TIMED_STEPS):
        step()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e-3 / _TIMED_STEPS
