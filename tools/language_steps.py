"""Training rates that others published of language models of 1 to 70 billion parameters.

`language_steps.csv` has them: tokens a second of all devices together, the sequences of one pass of a
device, and the passes before an update. `lora` trains adapters alone, `qlora` adapters beside weights of 4
bits. All are in bf16, with fused attention, on full or packed sequences:

- Vector Institute: VectorInstitute/vectorlm @0703e07, docs/reference_throughput.md; profiling/configs/
  lora-benchmark.yaml @9045f08 has the checkpointing, rank 8, and 4 passes. Two and four devices are
  FULL_SHARD.
- InternLM: InternLM/InternEvo @3a665e8, doc/en/train_performance.md, tp=1 and zero1=8 of 8 GPUs. The
  optimizer's state is sharded, weights are whole.
- IBM: foundation-model-stack/fms-fsdp, README.md @0d31998 (compiled), and the front page in its documents
  as of early 2024 (tokens/sec/GPU on 128 A100 and 96 H100); the 7B on compiled H100: issue 89. Hybrid
  shards of 7B and 13B gather within a host and stand as one host of 8. 34B and 70B are sharded over all
  hosts: their link is a network, which the rows take for NVLink. Selective checkpointing of every second
  block is left out.
- IBM, "HF Trainer": foundation-model-stack/fms-acceleration @876e2ed, scripts/benchmarks/refs/a100_80gb.csv
  and a100_80gb_granite.csv, rows without fused kernels. `qlora` is accelerated-peft-bnb, which casts no
  weights to float32; defaults.yaml recomputes. The rate is of one device; several are FSDP's full shards.
- TinyLlama: jzhang38/TinyLlama @026587c, README.md: 24k tokens a second of each A100-40G with 16k tokens in
  a pass, on 16 of them; "32 hours with 8 A100" for 22B tokens is the same rate.
- chenyaofo: gist.github.com/chenyaofo/d4cd6a20ab4b95cb3a49491747e2139a, ZeRO 2 and 3 without offload. The
  unit of "Th.put" is taken for sequences a second of all devices: no other one is below the peak and above
  a tenth of it. An A800 is an A100 with two thirds of its NVLink.
- Kempner Institute: KempnerInstitute/KempnerForge @9f3f03a,
  benchmarks/mfu_scaling/mfu_scaling_2026-04-05.md, rows without tensor parallelism; mfu_bench.sh has the
  batches. The 13B is on two hosts.
- NVIDIA NeMo: NVIDIA/dgxc-benchmarking @741c886, ft_llama3/README_8b.md, BF16 on 8 H100 (TP=1, PP=1,
  distributed optimizer).
- NVIDIA NeMo AutoModel: docs.nvidia.com/nemo/automodel/nightly/performance-summary.html, LoRA on one H100;
  examples/llm_finetune/llama3_1/llama3_1_8b_peft_benchmark.yaml @1b66802 has rank 16 and no checkpointing.
- Meta: pytorch/torchtune @0031bfb, README.md, batch 2 of 2048 packed tokens; the recipes recompute. Full
  training has an 8-bit paged optimizer. Its A6000 is left out: LoRA is faster there than the peak of an RTX
  A6000. The A100 and `qlora`: README.md @bd2a0fc, "Optimization flags"; what is left out there (chunked loss,
  offloading) changes the rate by 2% at most.
- Answer.AI: AnswerDotAI/fsdp_qlora @05ed9f2, benchmarks_03_2024.md, seconds of 1,024 samples of 2,048 tokens.
  Batches are of a device; the 70B has an update of 32 samples. RTX cards are those without shards.
- LLaMA-Factory: hiyouga/LLaMA-Factory, wiki page "Performance comparison" of 2024-04-15, one sequence a pass.
- Google: AI-Hypercomputer/maxtext @30cd40a, MaxText/configs/a3/llama_2_7b/README.md, 492 TFLOP/s of each of
  8 H100 (1vm.sh), over 4.61e10 operations a token with attention of all pairs.

`further_steps.csv` has rows that the effects are not fitted to. They say what float8, hosts and PCIe
change, and check it (benchmarks/further_steps.py); `network_gbps` is the network of a host in each
direction:

- Answer.AI: the same file, shards over PCIe without offloading and with 2,048 tokens; "A6000 Ada" is taken
  for an RTX 6000 Ada. Left out: batches of one on two RTX 3090, whose times the text gives otherwise.
- IST Austria: IST-DASLab/llmq @b77d969, benchmarks/4090x1.md, H100x1.md, H100x8.md and Pro6000x{1,4,8}.md,
  step 5 of runs without offloading; several devices shard the optimizer's state (ZeRO 1). Own kernels in
  C++, with an optimizer in bf16; the head and attention stay in bf16. The 32B keeps its shards in bf16, and
  computes its feed-forward layers again.
- IBM: fms-fsdp as above, with the hosts and networks of its README: 128 A100 with 400 Gb/s, 96 H100 with
  800.
- Ant Group: intelligent-machine-learning/dlrover @11bf2fb, atorch/examples/llama2/README.md: FSDP on hosts
  of 8 A100 with 800 Gb/s; fsdp_llama2_entry.sh @0ada810 has 4,096 tokens, checkpointing and rank 16.
  TFLOP/s are over the operations of compute_llama2_training_flops (example_utils.py @358a3c9): 2.5062e14 a
  sample, LoRA 1.8770e14.
- Meta: pytorch/ao @36027d8, docs/source/workflows/training.md, Llama 3 8B on 8 H100 and on 8 B200 of
  limited power, compiled, "per-op SAC", one scale a tensor, shards gathered in float8; the rate is of one
  device.
- NVIDIA: NVIDIA-NeMo/Megatron-Bridge @067f987, docs/performance-summary-archive.md, "25.11", DGX-B200,
  FP8-CS; src/megatron/bridge/perf_recipes/llama/b200/llama3.py has no recomputation. Its H100 computes 5 of
  32 blocks again, which is left out.

Left out: tables that do not state the lengths of their texts (modelscope/ms-swift, LitGPT, PaddleNLP),
tensor, pipeline and context parallelism (most rows of NVIDIA), weights or state kept on the host, hosts
over a network of unknown bandwidth (Kempner's 13B but for its row, oumi-ai/oumi #213), and other makers'
accelerators.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from orchestrator.core.trial_spec import MemorySettings
from workloads.families.transformer import LanguageOptions, Size
from workloads.flops import block_flops, forward_flops
from workloads.llama_style.spec import SIZES, build_network, make
from workloads.spec import BlockCost, JobCost, NativeSpec, WorkloadSpec
from workloads.traffic import block_traffic, count_values_moved, num_weights

_HALF_BYTES, _FLOAT_BYTES = 2, 4
_RANK = 16
_MOVES_OF_TRAINED = 10  # as of all weights under AdamW
_UNPACKED_BYTES = 0.5 + 9 / 64 + _HALF_BYTES
"""Bytes that a pass moves to unpack a weight of 4 bits: the weight and its part of a scale, of 8 bits and
then of 32, are read, that scale and the weight in bf16 are written."""
_SAVED_BYTES = _HALF_BYTES - 0.5 - 1 / 64
_MODULES_OF_A_BLOCK, _MODULES_OUTSIDE = 23, 3  # with weights of their own: two norms, seven linear layers x 3

SIZES_BY_MODEL: Mapping[str, Size] = {
    "tinyllama_1.1b": SIZES["1.1b"],
    "llama2_7b": SIZES["7b"],
    "internlm_7b": replace(SIZES["7b"], vocabulary=103_168),
    "qwen2.5_7b": replace(
        SIZES["8b"], layers=28, heads=28, kv_heads=4, units=3584, hidden=18_944, vocabulary=152_064
    ),
    "llama3_8b": SIZES["8b"],
    "llama2_13b": replace(SIZES["7b"], layers=40, heads=40, units=5120, hidden=13_824),
    "kempner_13b": replace(SIZES["8b"], layers=40, heads=40, units=5120, hidden=17_920),
    "mistral_7b": replace(SIZES["8b"], vocabulary=32_000),
    "llama3.2_3b": replace(SIZES["8b"], layers=28, heads=24, units=3072, hidden=8192, is_tied=True),
    "qwen2.5_1.5b": replace(
        SIZES["8b"],
        layers=28,
        heads=12,
        kv_heads=2,
        units=1536,
        hidden=8960,
        vocabulary=151_936,
        is_tied=True,
    ),
    "qwen2.5_3b": replace(
        SIZES["8b"],
        layers=36,
        heads=16,
        kv_heads=2,
        units=2048,
        hidden=11_008,
        vocabulary=151_936,
        is_tied=True,
    ),
    "qwen2.5_32b": replace(
        SIZES["8b"], layers=64, heads=40, kv_heads=8, units=5120, hidden=27_648, vocabulary=152_064
    ),
    "yi_34b": replace(
        SIZES["8b"], layers=60, heads=56, kv_heads=8, units=7168, hidden=20_480, vocabulary=64_000
    ),
    "powerlm_3b": replace(
        SIZES["7b"], layers=40, heads=36, units=2304, hidden=9216, vocabulary=49_152, is_tied=True
    ),
    "codellama_34b": replace(SIZES["8b"], layers=48, heads=64, units=8192, hidden=22_016, vocabulary=32_000),
    "llama2_70b": replace(SIZES["8b"], layers=80, heads=64, units=8192, hidden=28_672, vocabulary=32_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageStep:
    """A language model in training.

    Attributes:
        software: framework, as the laboratory names it.
        device: name of its file in conf/device.
        spec: the same network here, or a job of its adapters.
        has_optimizer_shards: weights are whole, the state of the optimizer is sharded (ZeRO 1 and 2).
        global_batch_size: sequences of one update on all devices together.
        seconds: of one update.
        network_gbps: of a host, in each direction; None: one host.
    """

    laboratory: str
    software: str
    device: str
    num_workers: int
    spec: WorkloadSpec | NativeSpec
    memory_settings: MemorySettings
    has_optimizer_shards: bool
    global_batch_size: int
    seconds: float
    precision: str = "bf16"
    num_hosts: int = 1
    network_gbps: float | None = None


def language_steps(name: str = "language_steps.csv") -> Iterator[LanguageStep]:
    """Read the steps of a file."""
    with (Path(__file__).parent / name).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            num_workers, length = int(row["num_workers"]), int(row["sequence_length"])
            batch_size = num_workers * int(row["micro_batch_size"]) * int(row["passes"])
            yield LanguageStep(
                laboratory=row["laboratory"],
                software=row["software"],
                device=row["device"],
                num_workers=num_workers,
                spec=_build_spec(row["model"], length)
                if row["method"] == "full"
                else _adapt(row["model"], length, is_packed=row["method"] == "qlora"),
                memory_settings=MemorySettings(
                    micro_batch_size=int(row["micro_batch_size"]),
                    activation_checkpointing=row["activation_checkpointing"],
                    sharding=row["sharding"] if row["sharding"] in ("full", "hybrid") else "none",
                ),
                has_optimizer_shards=row["sharding"] == "optimizer",
                global_batch_size=batch_size,
                seconds=batch_size * length / float(row["tokens_per_second"]),
                precision=row.get("precision", "bf16"),
                num_hosts=int(row.get("num_hosts", 1)),
                network_gbps=float(row["network_gbps"]) if row.get("network_gbps") else None,
            )


@cache
def _build_spec(model: str, length: int) -> WorkloadSpec:
    """Build a declared model of a published size; only its network counts here."""
    spec = make(LanguageOptions(size="8b", sequence_length=length))
    return replace(spec, networks={"model": build_network(SIZES_BY_MODEL[model], length)})


@cache
def _adapt(model: str, length: int, *, is_packed: bool) -> NativeSpec:
    return adapt(SIZES_BY_MODEL[model], length, is_packed=is_packed)


def adapt(size: Size, length: int, *, is_packed: bool = False) -> NativeSpec:
    """Describe adapters beside a model with frozen weights in bf16, as `causal_lm` counts them.

    They compute no gradients of weights. Those of the adapters themselves, half a percent, are left out.

    Args:
        is_packed: the linear layers of the blocks have weights of 4 bits, which each pass unpacks.
    """
    network = build_network(size, length)
    flops, product_flops = block_flops(network)
    forward = forward_flops(network)
    frozen_bytes = _HALF_BYTES * num_weights(network)
    value_bytes, block_bytes = block_traffic(network)
    inner = size.units * (size.kv_heads or size.heads) // size.heads
    widths = 2 * (2 * size.units) + 2 * (size.units + inner) + 3 * (size.units + size.hidden)
    trained_bytes = float(_FLOAT_BYTES * _RANK * size.layers * widths)
    packed = size.layers * (2 * size.units * (size.units + inner) + 3 * size.units * size.hidden)
    unpacked_bytes = _UNPACKED_BYTES * packed if is_packed else 0.0
    cost = JobCost(
        flops_per_sample=3 * forward - (forward - flops + product_flops),
        flops_per_step=0.0,
        winograd_flops_per_sample=0.0,
        value_bytes_per_sample=float(_FLOAT_BYTES * count_values_moved(network)),
        weight_bytes=2.0 * (frozen_bytes + unpacked_bytes)
        + _MOVES_OF_TRAINED * trained_bytes,  # forward and backward, and update
        gradient_bytes=trained_bytes,
        num_weights=round(trained_bytes / _FLOAT_BYTES),
        layers=_MODULES_OF_A_BLOCK * size.layers + _MODULES_OUTSIDE,
        time_steps=0,
        recurrent_bytes=0.0,
        has_unused_weights=False,
        held_bytes=frozen_bytes + trained_bytes - (_SAVED_BYTES * packed if is_packed else 0.0),
        trained_bytes=trained_bytes,
        slot_bytes=2 * trained_bytes,
        blocks=BlockCost(
            flops_per_sample=flops,
            product_flops_per_sample=product_flops,
            value_bytes_per_sample=value_bytes,
            weight_bytes=block_bytes * _HALF_BYTES / _FLOAT_BYTES + unpacked_bytes,
            layers=_MODULES_OF_A_BLOCK * size.layers,
        ),
        has_packed_weights=is_packed,
    )
    return NativeSpec(
        name="causal_lm",
        version=0,
        costs={"torch": cost},
        data="",
        train_samples=None,
        quality=None,
        epochs=None,
        accumulation_steps=1,
        unchecked=(),
        tokens_per_sample=length,
    )
