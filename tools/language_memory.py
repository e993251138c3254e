"""Memory that others published of training steps of language models.

`language_memory.csv` has it, in GiB of one device: `allocated` by PyTorch's caching allocator
(`torch.cuda.max_memory_allocated`), `reserved` by it (`max_memory_reserved`), and of the whole `device`
(`nvidia-smi`). All are in bf16 with fused attention, on full or packed sequences; a batch is that of a
device.

- IBM: foundation-model-stack/fms-acceleration @876e2ed, scripts/benchmarks/refs/a100_80gb.csv and
  a100_80gb_granite.csv: the highest `memory.used` of nvidia-smi in a second less what was used before, and
  the peak of Hugging Face's trainer. Rows without fused kernels; several GPUs are FSDP's full shards.
  `upcast` casts what is not quantised to float32 (peft's prepare_model_for_kbit_training). santacoder and
  Mixtral have no count here and serve for allocated against device.
- Lightning: Lightning-AI/litgpt @e567dbe, tutorials/resource-tables.md, of @8641822; the longest text of
  Alpaca has 1,304 tokens. `finetune/lora.py` @cf91ad2 prints max_memory_allocated in 10^9 bytes.
- Hugging Face: huggingface/peft @5d602fd, method_comparison/MetaMathQA/results: `accelerator_memory_max` is
  max_memory_reserved; the batch is padded to its longest text, of 768 tokens at most.
- Answer.AI: AnswerDotAI/fsdp_qlora @05ed9f2, benchmarks_03_2024.md, two GPUs. Its "peak memory" is reserved.
  `none` is FSDP without shards.
- LLaMA-Factory: hiyouga/LLaMA-Factory, wiki page "Performance comparison" of 2024-04-15, with
  FlashAttention-2. "VRAM" in whole GB is taken for the device.
- Meta: pytorch/torchtune @bd2a0fc, README.md, "+ Packed Dataset"; "active" is allocated.
- Kempner Institute: KempnerInstitute/KempnerForge @5666d0d, benchmarks/mfu_scaling/mfu_scaling.md, the 13B
  on 8 GPUs, the only row without torch.compile; kempnerforge/metrics/memory.py has max_memory_allocated.
  `no_sync` holds the gradients of four passes whole, in float32: `maybe_no_sync` (training/grad.py) and
  `reduce_dtype` (distributed/parallel.py), which no program here does.

Left out: rows with torch.compile, fused losses or offloading, of which nothing is counted.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from language_steps import SIZES_BY_MODEL

from workloads.families.transformer import Size

MEMORY_SIZES: Mapping[str, Size] = {
    **SIZES_BY_MODEL,
    "yi_34b": replace(
        SIZES_BY_MODEL["llama3_8b"], layers=60, heads=56, units=7168, hidden=20_480, vocabulary=64_000
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMemory:
    """Memory of a device in a training step, in GiB; None: not published.

    Attributes:
        targets: layers with adapters; empty: all linear ones.
        micro_batch_size: sequences of one pass of a device.
    """

    laboratory: str
    software: str
    device: str
    num_workers: int
    model: str
    method: str
    lora_rank: int
    targets: tuple[str, ...]
    sharding: str
    activation_checkpointing: str
    sequence_length: int
    micro_batch_size: int
    allocated: float | None
    reserved: float | None
    used: float | None

    @property
    def is_counted(self) -> bool:
        """Return whether the model is known, and the program is the one that is counted here."""
        return self.model in MEMORY_SIZES and not self.software.endswith(("upcast", "no_sync"))


def read_memory() -> Iterator[PublishedMemory]:
    """Read the rows."""
    with (Path(__file__).parent / "language_memory.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield PublishedMemory(
                laboratory=row["laboratory"],
                software=row["software"],
                device=row["device"],
                num_workers=int(row["num_workers"]),
                model=row["model"],
                method=row["method"],
                lora_rank=int(row["lora_rank"] or 0),
                targets=tuple(row["lora_targets"].split()),
                sharding=row["sharding"],
                activation_checkpointing=row["activation_checkpointing"],
                sequence_length=int(row["sequence_length"]),
                micro_batch_size=int(row["micro_batch_size"]),
                allocated=_read(row["allocated_gib"]),
                reserved=_read(row["reserved_gib"]),
                used=_read(row["device_gib"]),
            )


def _read(text: str) -> float | None:
    return float(text) if text else None
