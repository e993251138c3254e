"""Times and memory of training steps on one device, by this project's networks in one process.

    python benchmarks/step_times.py --device cuda --out steps.csv [--sizes published] [--most-seconds 120]

A row is a workload with its options, a batch size and a precision. `step_seconds` is the median of five
blocks of back-to-back steps after a warm-up, without input pipeline and without readings of the loss.
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
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from orchestrator.core import codec
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.capture.steps import DeclaredStep
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import build_autocast, set_float32_rounding

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from step_options import build_options

_IMAGENET, _LARGER = "image_size=224 num_classes=1000", "image_size=299 num_classes=1000"
_JOBS = {
    "small": (
        ("resnet50", "", (32, 128, 512)),
        ("gpt2", "", (4, 16)),
        ("bert_base", "", (8, 32)),
        ("vit_b16", "", (32, 128)),
        ("mnist_cnn", "", (64, 1024)),
        ("mnist_gan", "", (64, 512)),
        ("imdb_bilstm", "", (64, 512)),
        ("imdb_bigru", "", (64, 512)),
        ("cifar10_cnn", "", (64, 512)),
        ("lenet5", "", (64, 1024)),
        ("resnet18", "", (64, 512)),
        ("alexnet", "", (64, 512)),
        ("vgg16", "", (64, 256)),
        ("mobilenet_v2", "", (64, 256)),
        ("llama_style", "", (8,)),
        ("inception_v3", "", (32,)),
    ),
    "published": (
        ("resnet50", _IMAGENET, (64, 256)),
        ("bert_base", "size=base", (32, 128)),
        ("gpt2", "size=small", (4, 16)),
        ("mobilenet_v2", _IMAGENET, (64, 256)),
        ("vit_b16", "size=b16", (64, 256)),
        ("vgg16", _IMAGENET, (64,)),
        ("resnet18", _IMAGENET, (256,)),
        ("inception_v3", _LARGER, (64,)),
        ("alexnet", _IMAGENET, (512,)),
        ("xception", _LARGER, (64,)),
        ("resnet34", _IMAGENET, (128,)),
        ("bert_base", "size=large", (16,)),
        ("gpt2", "size=medium", (4,)),
        ("inception_resnet_v2", _LARGER, (64,)),
    ),
}
"""Sizes -> workload, its options, and batches: small networks for any host, and those that papers train."""
_BLOCKS, _LEAST_BLOCK_SECONDS = 5, 0.05
_COLUMNS = (
    "device",
    "torch",
    "workload",
    "options",
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
    parser.add_argument("--sizes", default="small", choices=_JOBS, help="list of jobs")
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
        for row in _rows(_JOBS[chosen.sizes], chosen.precisions.split(","), device, until=until):
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
    jobs: Sequence[tuple[str, str, Sequence[int]]],
    precisions: Sequence[str],
    device: torch.device,
    *,
    until: float,
) -> Iterator[dict[str, object]]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    for workload, options, batches in jobs:
        for batch, precision in product(batches, precisions):
            if time.monotonic() > until:
                return
            row: dict[str, object] = dict.fromkeys(_COLUMNS, "")
            row |= {
                "device": name,
                "torch": torch.__version__,
                "workload": workload,
                "options": options,
                "global_batch_size": batch,
                "precision": precision,
            }
            try:
                row |= _measured(_build_request(row), device)
            except RuntimeError as error:
                row["error"] = str(error).splitlines()[0]
            yield row
            gc.collect()
            if device.type == "cuda":
                torch.cuda.empty_cache()


def _build_request(row: Mapping[str, object]) -> CaptureRequest:
    return CaptureRequest(
        workload=str(row["workload"]),
        workload_options=build_options(str(row["options"])),
        precision=str(row["precision"]),
        global_batch_size=int(str(row["global_batch_size"])),
    )


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
            step.take(batch, autocast=build_autocast(settings, device))
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
    command = [sys.executable, "-m", "orchestrator.train.capture.torch_tensors"]
    done = subprocess.run(
        command, input=codec.to_json(_build_request(row)) + "\n", capture_output=True, text=True
    )
    return json.loads(done.stdout).get("tensor_bytes", "")


def _milliseconds(row: dict[str, object]) -> str:
    return f"{1e3 * float(str(row['step_seconds'])):.3f} ms"


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
