"""CPU seconds of training steps on one core, with the calibration of that core in the same process.

    python benchmarks/cpu_steps.py --steps cpu_steps.csv --calibration cpu_calibration.json

Both are counted by the clock of the process and with one thread, so that other work on the host does not
count but by its use of caches and memory. A step is the lower quartile of those of a few seconds, as are the
launches. Both files are new; `tools/published_steps.py` reads those in `benchmarks/measured/`.
"""

import argparse
import csv
import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles

import torch
from torch import Tensor, nn

from orchestrator.core import codec
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.capture.steps import DeclaredStep
from orchestrator.train.environment import cpu_model
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import build_autocast

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from step_options import build_options

_IMAGENET = "image_size=224 num_classes=1000"
_JOBS = (
    ("mnist_cnn", "", (16, 64, 256)),
    ("lenet5", "", (16, 64, 512)),
    ("imdb_bilstm", "", (16, 64)),
    ("imdb_bigru", "", (16, 64)),
    ("mnist_gan", "", (16, 64)),
    ("mnist_dbn", "", (64,)),
    ("cifar10_cnn", "", (16,)),
    ("resnet18", "", (8, 32)),
    ("gpt2", "", (4, 16)),
    ("bert_base", "", (8,)),
    ("vit_b16", "", (8,)),
    ("llama_style", "", (4,)),
    ("mobilenet_v2", "", (8, 32)),
    ("resnet50", "", (8, 32)),
    ("alexnet", "", (16,)),
    ("vgg16", "", (8,)),
    ("resnet50", _IMAGENET, (2,)),
    ("vgg16", _IMAGENET, (1,)),
    ("resnet18", _IMAGENET, (4,)),
    ("gpt2", "size=small", (1,)),
)
_STEP_SECONDS, _CALIBRATION_SECONDS = 6.0, 2.0
_MOST_STEPS = 30
_PRODUCT_SIZE, _COPIED_BYTES = 1024, 2**27
# As in orchestrator/extensions/predictions/device_benchmark.py.
_SHALLOW, _DEEP, _WIDTH, _SAMPLES = 16, 64, 32, 8
_COLUMNS = ("device", "torch", "workload", "options", "global_batch_size", "precision", "step_seconds")


def cpu_seconds(take: Callable[[], object], *, least: float) -> float:
    """Return the lower quartile of the CPU seconds of some calls, after one that does not count."""
    take()
    found: list[float] = []
    end = time.process_time() + least
    while len(found) < 2 or (time.process_time() < end and len(found) < _MOST_STEPS):
        start = time.process_time()
        take()
        found.append(time.process_time() - start)
    return quantiles(found, n=4)[0]


def calibration() -> DeviceBenchmark:
    """Measure one core as `predict calibrate` measures a device."""
    left, right = torch.rand(2, _PRODUCT_SIZE, _PRODUCT_SIZE)
    source = torch.zeros(_COPIED_BYTES, dtype=torch.uint8)
    target = torch.empty_like(source)
    shallow, deep = (_overhead_seconds(depth) for depth in (_SHALLOW, _DEEP))
    layer = (deep - shallow) / (2 * (_DEEP - _SHALLOW))
    product = cpu_seconds(lambda: left @ right, least=_CALIBRATION_SECONDS)
    copy = cpu_seconds(lambda: target.copy_(source), least=_CALIBRATION_SECONDS)
    return DeviceBenchmark(
        driver_name=cpu_model(),
        layer_seconds={"fp32": layer},
        step_seconds={"fp32": max(0.0, shallow - 2 * _SHALLOW * layer)},
        flops_per_second={"fp32": 2.0 * _PRODUCT_SIZE**3 / product},
        memory_bytes_per_second=2 * _COPIED_BYTES / copy,
    )


def _overhead_seconds(depth: int) -> float:
    pairs = [layer for _ in range(depth) for layer in (nn.Linear(_WIDTH, _WIDTH), nn.ReLU())]
    network = nn.Sequential(*pairs)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    inputs = torch.randn(_SAMPLES, _WIDTH)

    def step() -> None:
        loss = network(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return cpu_seconds(step, least=_CALIBRATION_SECONDS)


def step_seconds(workload: str, options: Mapping[str, object], batch_size: int) -> float:
    """Measure a step in fp32."""
    request = CaptureRequest(
        workload=workload, workload_options=options, precision="fp32", global_batch_size=batch_size
    )

    def filled(tensor: Tensor) -> Tensor:
        value = torch.empty_like(tensor, device="cpu")
        return value.normal_(std=0.02) if value.is_floating_point() else value.zero_()

    def made(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        zeros = torch.zeros(shape, dtype=dtype)
        return zeros.normal_() if dtype.is_floating_point else zeros

    step = DeclaredStep(request, filled)
    batch, settings = step.batch(made), PRECISIONS["fp32"]
    autocast = build_autocast(settings, torch.device("cpu"))
    return cpu_seconds(lambda: step.take(batch, autocast=autocast), least=_STEP_SECONDS)


def main(arguments: Sequence[str]) -> int:
    """Write both files; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    for file in (chosen.steps, chosen.calibration):
        if file.exists():
            parser.error(f"{file} exists, and the bundled models may be fitted to it; name a new file")
    torch.set_num_threads(1)
    chosen.calibration.write_text(f"{codec.to_json(calibration())}\n", encoding="utf-8")
    with chosen.steps.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        table.writeheader()
        for workload, options, batch_sizes in _JOBS:
            for batch_size in batch_sizes:
                seconds = step_seconds(workload, build_options(options), batch_size)
                table.writerow(
                    {
                        "device": f"{cpu_model()}, one core",
                        "torch": torch.__version__,
                        "workload": workload,
                        "options": options,
                        "global_batch_size": batch_size,
                        "precision": "fp32",
                        "step_seconds": f"{seconds:.6g}",
                    }
                )
                file.flush()
                gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
