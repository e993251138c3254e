"""Counted memory of published steps of language models against what was published of their GPUs.

    python benchmarks/language_memory.py

Counts each row of `tools/language_memory.csv` on tensors without data, as `plan` does for GPUs, and prints
it beside the published figures: models of two and three blocks, extended in a line to all of them. Then each
laboratory is held out: what a device shows, over the count, is taken from the others, all laboratories
counting alike.
"""

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.core.memory_fit import CONTEXT_BYTES, EXCHANGE_BYTES
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.capture.torch_tensors import count
from workloads.registry import find_origin

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from fine_tuning_questions import describe_model
from language_memory import MEMORY_SIZES, PublishedMemory, read_memory

_GIB = 2**30
_CONTEXT, _EXCHANGE = CONTEXT_BYTES / _GIB, EXCHANGE_BYTES / _GIB
_Q = 1.645
_LAYERS = 2, 3


def count_row(row: PublishedMemory, folder: Path) -> float:
    """Return the GiB of the tensors of a row's step on one device."""
    size, (few, more) = MEMORY_SIZES[row.model], _LAYERS
    method, _, dtype = row.method.partition(" ")
    counted = []
    for layers in _LAYERS:
        path = folder / f"{row.model}_{layers}"
        path.mkdir(exist_ok=True)
        (path / "config.json").write_text(json.dumps(describe_model(replace(size, layers=layers))))
        counted.append(
            _count(
                str(path),
                (method, row.lora_rank or 16, row.targets, dtype or "bfloat16"),
                (row.sequence_length, row.micro_batch_size),
                row.activation_checkpointing,
                row.num_workers if row.sharding == "full" else 1,
                row.num_workers,
            )
        )
    return counted[0] + (counted[1] - counted[0]) * (size.layers - few) / (more - few)


@cache
def _count(
    model: str,
    how: tuple[str, int, tuple[str, ...], str],
    size: tuple[int, int],
    checkpointing: str,
    shards: int,
    workers: int,
) -> float:
    method, rank, targets, dtype = how
    request = CaptureRequest(
        workload="causal_lm",
        workload_options={
            "model": model,
            "method": method,
            "lora_rank": rank,
            "lora_targets": targets,
            "dtype": dtype,
            "sequence_length": size[0],
        },
        precision="bf16",
        global_batch_size=size[1],
        origin=find_origin("causal_lm"),
        memory_settings=MemorySettings(activation_checkpointing=checkpointing),
        shards=shards,
    )
    found = count(request)
    buckets = found["gradient_bytes"] if workers > shards else 0
    return (found["tensor_bytes"] + buckets) / _GIB


def find_used(row: PublishedMemory) -> float | None:
    """Return what the device shows in GiB; None: only what is allocated was published."""
    if row.used is not None or row.reserved is None:
        return row.used
    return row.reserved + _CONTEXT + (_EXCHANGE if row.num_workers > 1 else 0)


def find_factor(row: PublishedMemory, tensors: float) -> float | None:
    """Return what the allocator keeps over the tensors; None: not published."""
    used = find_used(row)
    if used is None:
        return None
    return (used - _CONTEXT - (_EXCHANGE if row.num_workers > 1 else 0)) / tensors


def fit(factors: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Return the middle factor and the factor to both sides of the 90% interval, laboratories alike."""
    means = {name: statistics.fmean(map(math.log, found)) for name, found in factors.items()}
    middle = statistics.fmean(means.values())
    squares = [statistics.fmean((math.log(one) - middle) ** 2 for one in found) for found in factors.values()]
    return math.exp(middle), math.exp(_Q * math.sqrt(statistics.fmean(squares)))


def _main() -> None:
    rows = [row for row in read_memory() if row.is_counted]
    factors: dict[str, list[float]] = defaultdict(list)
    shown: list[tuple[str, float, float]] = []
    print("| laboratory | step | counted | allocated | reserved | device | allocated / counted |")
    print("|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        for row in rows:
            tensors = count_row(row, Path(folder))
            if row.allocated:
                ratios[row.laboratory].append(row.allocated / tensors)
            if (factor := find_factor(row, tensors)) is not None:
                factors[row.laboratory].append(factor)
                shown.append((row.laboratory, tensors, factor))
            figures = (tensors, row.allocated, row.reserved, row.used)
            texts = ["" if one is None else f"{one:.1f}" for one in figures]
            ratio = f"{row.allocated / tensors:.2f}" if row.allocated else ""
            what = (
                f"{row.model} {row.method}, {row.num_workers} x {row.device}, "
                f"{row.micro_batch_size} x {row.sequence_length}"
            )
            print(f"| {row.laboratory} | {what} | {' | '.join(texts)} | {ratio} |", flush=True)
    print("\n| laboratory | rows | allocated / counted, median | least | most |\n|---|---|---|---|---|")
    for name, found in ratios.items():
        middle = statistics.median(found)
        print(f"| {name} | {len(found)} | {middle:.2f} | {min(found):.2f} | {max(found):.2f} |")
    print(
        "\n| held out | rows | factor of the others | 90% | covered | within 15% |\n|---|---|---|---|---|---|"
    )
    for name in factors:
        middle, width = fit({one: found for one, found in factors.items() if one != name})
        errors = [factor / middle for laboratory, _, factor in shown if laboratory == name]
        covered = sum(1 / width <= one <= width for one in errors)
        near = sum(abs(1 / one - 1) <= 0.15 for one in errors)
        print(f"| {name} | {len(errors)} | {middle:.2f} | {width:.2f} | {covered} | {near} |")
    middle, width = fit(factors)
    print(f"| none | {len(shown)} | {middle:.3f} | {width:.3f} | | |")


if __name__ == "__main__":
    _main()
