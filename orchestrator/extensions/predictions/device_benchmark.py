"""Benchmark of one device with PyTorch: launches, arithmetic, memory and exchange. A child process runs it.

    python -m orchestrator.extensions.predictions.device_benchmark KIND PRECISION...

It prints one line of JSON: the fields of `calibration.DeviceBenchmark`, or `error`.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from statistics import quantiles

import torch
from torch import Tensor, nn

from orchestrator.core import codec
from orchestrator.core.device import DeviceKind
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.train.environment import cpu_model
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import build_autocast, matmul_benchmark, set_float32_rounding

_SHALLOW, _DEEP = 16, 64  # pairs of a dense layer and its activation
_LAYERS_PER_PAIR = 2
_WIDTH, _SAMPLES = 32, 8  # small: a step is all launches
_STEPS, _WARMUP_STEPS = 30, 10
_PRODUCT_SIZES = {"cpu": (256, 512, 1024, 2048), "gpu": (4096, 8192)}
_MOST_PRODUCT_SECONDS = 0.5  # CPUs without bf16 arithmetic take a minute for 2048
_COPIED_BYTES = {"cpu": 2**27, "gpu": 2**30}
_EXCHANGED_BYTES = 2**28
_REPEATS = 7


def benchmark(kind: DeviceKind, precisions: tuple[str, ...]) -> DeviceBenchmark:
    """Measure this process's first device of a kind, in a few seconds.

    Raises:
        RuntimeError: torch has no such device, or the device fails.
    """
    device = torch.device("cpu" if kind == "cpu" else "cuda:0")
    layers, steps, products = {}, {}, {}
    for precision in precisions:
        set_float32_rounding(PRECISIONS[precision], device)
        shallow, deep = (_overhead_seconds(depth, precision, device) for depth in (_SHALLOW, _DEEP))
        layer = max(0.0, deep - shallow) / (_LAYERS_PER_PAIR * (_DEEP - _SHALLOW))
        layers[precision] = layer
        steps[precision] = max(0.0, shallow - _LAYERS_PER_PAIR * _SHALLOW * layer)
        products[precision] = _fastest_product_rate(_PRODUCT_SIZES[kind], precision, device)
    return DeviceBenchmark(
        driver_name=cpu_model() if kind == "cpu" else torch.cuda.get_device_name(device),
        layer_seconds=layers,
        step_seconds=steps,
        flops_per_second=products,
        memory_bytes_per_second=_copy_rate(_COPIED_BYTES[kind], device),
        exchange_bytes_per_second=_exchange_rate() if kind == "gpu" else None,
    )


def _overhead_seconds(depth: int, precision: str, device: torch.device) -> float:
    """Return the seconds of a training step of a deep, narrow network: launches, hardly arithmetic.

    The lower quartile of some steps: on a busy host the median is that of its other work.
    """
    settings = PRECISIONS[precision]
    pairs = [layer for _ in range(depth) for layer in (nn.Linear(_WIDTH, _WIDTH), nn.ReLU())]
    network = nn.Sequential(*pairs).to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    scaler = torch.amp.GradScaler(device.type, enabled=settings.scale_loss)
    inputs = torch.randn(_SAMPLES, _WIDTH, device=device)

    def step() -> None:
        with build_autocast(settings, device):
            loss = network(inputs).square().mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    seconds = [_measure_seconds(step, device) for _ in range(_WARMUP_STEPS + _STEPS)]
    lower, _, _ = quantiles(seconds[_WARMUP_STEPS:], n=4)
    return lower


def _fastest_product_rate(sizes: Sequence[int], precision: str, device: torch.device) -> float:
    """Return the rate of the fastest size; larger sizes than one that takes long are left out."""
    rates: list[float] = []
    for size in sizes:
        if rates and 2.0 * size**3 / rates[-1] > _MOST_PRODUCT_SECONDS:
            break
        multiply = matmul_benchmark(size, PRECISIONS[precision], device)
        rates.append(2.0 * size**3 / _least_seconds(multiply, device))
    return max(rates)


def _copy_rate(num_bytes: int, device: torch.device) -> float:
    """Return bytes read and written per second of the fastest copy within the device's memory."""
    source = torch.zeros(num_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * num_bytes / _least_seconds(lambda: target.copy_(source), device)


def _exchange_rate() -> float | None:
    """Return bytes per second that one GPU sends in an all-reduce over all GPUs; None with a single GPU.

    A GPU sends 2 (n - 1) / n of the reduced bytes (Patarasuk and Yuan 2009).
    """
    count = torch.cuda.device_count()
    if count < 2:
        return None
    parts = [torch.zeros(_EXCHANGED_BYTES, dtype=torch.uint8, device=f"cuda:{one}") for one in range(count)]

    def wait() -> None:
        for one in range(count):
            torch.cuda.synchronize(one)

    def reduce() -> None:
        torch.cuda.nccl.all_reduce(parts)  # type: ignore[no-untyped-call]  # missing in torch's types
        wait()

    return 2 * (count - 1) / count * _EXCHANGED_BYTES / _least_seconds(reduce, torch.device("cuda:0"))


def _least_seconds(take: Callable[[], Tensor | None], device: torch.device) -> float:
    return min(_measure_seconds(take, device) for _ in range(1 + _REPEATS))


def _measure_seconds(take: Callable[[], Tensor | None], device: torch.device) -> float:
    """Return the seconds from an idle device to an idle device."""
    _wait_for(device)
    start = time.perf_counter()
    take()
    _wait_for(device)
    return time.perf_counter() - start


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main() -> None:
    """Measure, and print the result or the error as one line."""
    kind, *precisions = sys.argv[1:]
    assert kind in ("cpu", "gpu"), "the device is checked by the caller"
    try:
        answer = codec.to_plain(benchmark(kind, tuple(precisions)))  # type: ignore[arg-type]  # checked above
    except RuntimeError as error:
        answer = {"error": next(iter(str(error).splitlines()), "")}
    sys.stdout.write(f"{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
