"""Times and memory of training steps on one device, by this project's networks in one process.

    python benchmarks/step_times.py --device cuda --out steps.csv [--most-seconds 120] [--only resnet50,gpt2]

A row is a workload, a batch size and a precision. `step_seconds` is the median of five blocks of
back-to-back steps after a warm-up, without input pipeline and without readings of the loss.
`peak_memory_bytes` is the most that PyTorch's allocator gave out. `counted_bytes` is the count of live
tensors without a device. Steps that fail have the error in place of a time. The rows are in the order of the
list, until the time is over.
"""

import argparse
import csv
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from orchestrator.core import codec
from orchestrator.train.capture.declared_step import DeclaredStep
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import autocast_of, set_float32_rounding

_BATCHES = {
    "resnet50": (32, 128, 512),
    "gpt2": (4, 16),
    "bert_base": (8, 32),
    "vit_b16": (32, 128),
    "mnist_cnn": (64, 1024),
    "mnist_gan": (64, 512),
    "imdb_bilstm": (64, 512),
    "imdb_bigru": (64, 512),
    "cifar10_cnn": (64, 512),
    "lenet5": (64, 1024),
    "resnet18": (64, 512),
    "alexnet": (64, 512),
    "vgg16": (64, 256),
    "mobilenet_v2": (64, 256),
    "llama_style": (8,),
    "inception_v3": (32,),
}
_BLOCKS, _LEAST_BLOCK_SECONDS = 5, 0.05
_COLUMNS = (
    "device",
    "torch",
    "workload",
    "global_batch_size",
    "precision",
    "step_seconds",
    "first_step_seconds",
    "peak_memory_bytes",
    "counted_bytes",
    "error",
)


def main(arguments: Sequence[str]) -> int:
    """Write the table; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most-seconds", type=float, default=120.0)
    parser.add_argument("--only", default=",".join(_BATCHES), help="workloads, in this order")
    parser.add_argument("--precisions", default="tf32,bf16,fp32,fp16")
    parser.add_argument("--count", action="store_true", help="count the memory too")
    chosen = parser.parse_args(arguments)
    device = torch.device(chosen.device)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True  # as the trainer does
    until = time.monotonic() + chosen.most_seconds
    with chosen.out.open("w", newline="") as file:
        table = csv.DictWriter(file, _COLUMNS)
        table.writeheader()
        for row in _rows(chosen.only.split(","), chosen.precisions.split(","), device, until=until):
            if chosen.count and not row["error"]:
                row["counted_bytes"] = _counted(row)
            table.writerow(row)
            file.flush()
            sys.stdout.write(
                f"{row['workload']} {row['global_batch_size']} {row['precision']}: "
                f"{row['error'] or _milliseconds(row)}\n"
            )
    return 0


def _rows(
    workloads: Sequence[str], precisions: Sequence[str], device: torch.device, *, until: float
) -> Iterator[dict[str, object]]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    for workload in workloads:
        for batch in _BATCHES[workload]:
            for precision in precisions:
                if time.monotonic() > until:
                    return
                row: dict[str, object] = dict.fromkeys(_COLUMNS, "")
                row |= {
                    "device": name,
                    "torch": torch.__version__,
                    "workload": workload,
                    "global_batch_size": batch,
                    "precision": precision,
                }
                request = CaptureRequest(
                    workload=workload, workload_options={}, precision=precision, global_batch_size=batch
                )
                try:
                    row |= _measured(request, device)
                except RuntimeError as error:
                    row["error"] = str(error).splitlines()[0]
                yield row
                gc.collect()
                if device.type == "cuda":
                    torch.cuda.empty_cache()


def _measured(request: CaptureRequest, device: torch.device) -> dict[str, object]:
    settings = PRECISIONS[request.precision]
    set_float32_rounding(settings, device)

    def filled(tensor: Tensor) -> Tensor:
        value = torch.empty_like(tensor, device=device)
        return value.normal_(std=0.02) if value.is_floating_point() else value.zero_()

    def made(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        zeros = torch.zeros(shape, dtype=dtype, device=device)
        return zeros.normal_() if dtype.is_floating_point else zeros

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    step = DeclaredStep(request, filled)
    batch = step.batch(made)

    def take(count: int) -> float:
        _wait_for(device)
        start = time.perf_counter()
        for _ in range(count):
            step.take(batch, autocast=autocast_of(settings, device))
        _wait_for(device)
        return time.perf_counter() - start

    first = take(1)
    take(3)
    count = max(3, round(_LEAST_BLOCK_SECONDS / max(take(3) / 3, 1e-6)))
    seconds = median(take(count) / count for _ in range(_BLOCKS))
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else ""
    return {"step_seconds": seconds, "first_step_seconds": first, "peak_memory_bytes": peak}


def _counted(row: dict[str, object]) -> object:
    """Ask the count of live tensors for a step, in a process of its own."""
    request = CaptureRequest(
        workload=str(row["workload"]),
        workload_options={},
        precision=str(row["precision"]),
        global_batch_size=int(str(row["global_batch_size"])),
    )
    command = [sys.executable, "-m", "orchestrator.train.capture.torch_tensors"]
    done = subprocess.run(command, input=codec.to_json(request) + "\n", capture_output=True, text=True)
    return json.loads(done.stdout).get("tensor_bytes", "")


def _milliseconds(row: dict[str, object]) -> str:
    return f"{1e3 * float(str(row['step_seconds'])):.3f} ms"


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
