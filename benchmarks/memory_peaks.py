"""Counted memory of training steps against the memory that the same steps take on this CPU.

    python benchmarks/memory_peaks.py [CASE ...]

Each case runs in fresh processes. One counts on tensors without data, as `plan` does for GPUs. The other
builds the model with its weights, takes two steps, and reads the most resident memory (VmHWM) above what
it had before. Large tensors are mapped one by one (MALLOC_MMAP_THRESHOLD_), so that a freed one leaves the
process at once, as in the allocator of a GPU. Prints a table: case, counted, measured, their ratio.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_MIB = 2**20
_STEPS = 2

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 8_000,
    "hidden_size": 512,
    "intermediate_size": 1_408,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
}
"""A model of 31 million weights: 124 MB in float32."""

_FULL, _SELECTIVE = {"activation_checkpointing": "full"}, {"activation_checkpointing": "selective"}
CASES: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "full": ("causal_lm", {"method": "full"}, {}),
    "full, micro batches of 2": ("causal_lm", {"method": "full"}, {"micro_batch_size": 2}),
    "full, checkpointed": ("causal_lm", {"method": "full"}, _FULL),
    "full, selective": ("causal_lm", {"method": "full"}, _SELECTIVE),
    "LoRA": ("causal_lm", {"method": "lora"}, {}),
    "LoRA, checkpointed": ("causal_lm", {"method": "lora"}, _FULL),
    "QLoRA": ("causal_lm", {"method": "qlora"}, {}),
    "QLoRA, checkpointed": ("causal_lm", {"method": "qlora"}, _FULL),
    "gpt2 small": ("gpt2", {"size": "small", "sequence_length": 256}, {}),
    "gpt2 small, checkpointed": ("gpt2", {"size": "small", "sequence_length": 256}, _FULL),
    "gpt2 small, selective": ("gpt2", {"size": "small", "sequence_length": 256}, _SELECTIVE),
}
"""Name -> workload, its options and settings of memory; the batch is 8 samples."""


def compare(name: str) -> tuple[int, int]:
    """Return the counted and the measured bytes of a case, in fresh processes."""
    with TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(CONFIG))
        return _ask("count", name, folder), _ask("measure", name, folder)


def _ask(what: str, name: str, folder: str) -> int:
    variables = {"PYTHONPATH": str(ROOT), "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, __file__, f"--{what}", name, folder],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(answer.stdout.split()[-1])


def _answer(what: str, name: str, folder: str) -> int:
    from orchestrator.core.trial_spec import MemorySettings
    from orchestrator.train.capture.request import CaptureRequest
    from workloads.registry import find_origin

    workload, options, settings = CASES[name]
    own = {"model": folder, "sequence_length": 256} if workload == "causal_lm" else {}
    request = CaptureRequest(
        workload=workload,
        workload_options={**options, **own},
        precision="fp32",
        global_batch_size=8,
        origin=find_origin(workload),
        memory_settings=MemorySettings(**settings),
    )
    if what == "count":
        from orchestrator.train.capture.torch_tensors import count

        return count(request)["tensor_bytes"]
    return _measure(request)


def _measure(request: Any) -> int:
    """Return by how much the most resident memory of real steps is above that before them."""
    from contextlib import nullcontext

    import torch

    from orchestrator.train.capture.steps import DeclaredStep, NativeStep

    torch.set_num_threads(1)
    build = NativeStep if request.is_native else DeclaredStep
    build(request, lambda weight: weight)  # on the meta device: the libraries that it imports are no tensors
    (torch.ones(64, 64, requires_grad=True) @ torch.ones(64, 64)).sum().backward()
    before = _read("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    step = build(request, _make_weight)
    for _ in range(_STEPS):
        step.take(step.batch(_make_batch), autocast=nullcontext())
    return _read("VmHWM") - before


def _make_weight(tensor: Any) -> Any:
    """Return a tensor with small random values in the place of one without memory."""
    import torch

    return (torch.randn(tensor.shape) / 50).to(tensor.dtype)


def _make_batch(shape: tuple[int, ...], dtype: Any) -> Any:
    import torch

    return torch.ones(shape, dtype=dtype)


def _read(field: str) -> int:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field)]
    return int(line.split()[1]) * 1024


def _main(names: list[str]) -> None:
    print(f"{'case':<28}{'counted MiB':>12}{'measured MiB':>14}{'ratio':>8}")
    for name in names or CASES:
        counted, measured = compare(name)
        print(
            f"{name:<28}{counted / _MIB:>12,.0f}{measured / _MIB:>14,.0f}{counted / measured:>8.3f}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] in (["--count"], ["--measure"]):
        print(_answer(sys.argv[1].removeprefix("--"), *sys.argv[2:4]))
    else:
        _main(sys.argv[1:])
