"""Times that laboratories published of recurrent layers without a network around them.

`recurrent_steps.csv` holds the figures:

- Baidu: baidu-research/DeepBench @da81ba7, results/train/DeepBench_NV_{M40,1080Ti,P100,V100}.xlsx, sheets
  "Results FP32" and "Results - FP16 ip, Mixed math": forward, and backward to inputs and weights, by cuDNN
  without a framework and without an update. The first layer adds its inputs as they are
  (CUDNN_SKIP_INPUT). Of LSTMs batches of 16 and 64, of GRUs 187 and 1,500 time steps. Apache 2.0.
- Braun: stefbraun/rnn_benchmarks @eb6358a, results/10/pytorch_comparison/results.csv, cudnnLSTM with
  cross-entropy: means of 500 steps with copies of inputs and updates by Adam; a dense layer of ten outputs
  is left out here. No licence file.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workloads.shapes import GATES
from workloads.spec import JobCost, NativeSpec

_FLOAT32_BYTES = 4
_PASSES = 3  # forward, gradient of the weights, gradient of the inputs
_MOVES = {"no": 3, "yes": 10}  # of a weight: read twice, gradient written; and Adam's update


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentStep:
    """Step of a stack of recurrent layers on one GPU.

    Attributes:
        device: name in conf/device or laboratory_devices.csv.
        spec: the counts of the layers as those of a job.
    """

    laboratory: str
    software: str
    device: str
    precision: str
    spec: NativeSpec
    batch_size: int
    step_seconds: float


def recurrent_steps() -> Iterator[RecurrentStep]:
    """Yield the published steps."""
    with (Path(__file__).parent / "recurrent_steps.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield RecurrentStep(
                laboratory=row["laboratory"],
                software=row["software"],
                device=row["device"],
                precision=row["precision"],
                spec=_build_spec(row),
                batch_size=int(row["batch_size"]),
                step_seconds=float(row["step_seconds"]),
            )


def _build_spec(row: dict[str, str]) -> NativeSpec:
    return NativeSpec(
        name=f"{row['layers']} x {row['directions']} x {row['units']} {row['cell']}",
        version=1,
        costs={"torch": _compute_cost(row)},
        data="",
        train_samples=None,
        quality=None,
        epochs=None,
        accumulation_steps=1,
        unchecked=(),
    )


def _compute_cost(row: dict[str, str]) -> JobCost:
    """Count the layers as `workloads` counts those of a network; zero inputs have no kernel."""
    layers, units, steps = (int(row[name]) for name in ("layers", "units", "time_steps"))
    outputs = int(row["directions"]) * units
    inputs = [int(row["inputs"]), *[outputs] * (layers - 1)]
    width = GATES[row["cell"]] * outputs
    recurrent = layers * width * units
    kernels = recurrent + width * sum(inputs)
    weights = kernels + layers * width
    moved = sum(3 * (size or units) + 2 * outputs for size in inputs)
    return JobCost(
        flops_per_sample=2.0 * _PASSES * kernels * steps,
        flops_per_step=0.0,
        winograd_flops_per_sample=0.0,
        value_bytes_per_sample=float(_FLOAT32_BYTES * moved * steps),
        weight_bytes=float(_FLOAT32_BYTES * _MOVES[row["updates"]] * weights),
        gradient_bytes=float(_FLOAT32_BYTES * weights),
        num_weights=weights,
        layers=layers,
        time_steps=layers * steps,
        recurrent_bytes=2.0 * _FLOAT32_BYTES * recurrent * steps,
        has_unused_weights=False,
    )
