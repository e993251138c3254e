"""Questions about fine-tuning language models, as people ask, with what is expected of `predict`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from language_steps import SIZES_BY_MODEL

from workloads.families.transformer import Size

_SIZES = {
    **SIZES_BY_MODEL,
    "llama3.2_1b": replace(
        SIZES_BY_MODEL["llama3_8b"], layers=16, units=2048, hidden=8192, heads=32, is_tied=True
    ),
    "llama3_70b": replace(SIZES_BY_MODEL["llama2_70b"], vocabulary=128_256),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A question and what is expected.

    Attributes:
        text: as people ask it.
        words: as `predict` is asked.
        kind: `answered`, `does not fit` or `refused`.
        why: why no time is expected; empty where one is.
        tokens_per_step, total_tokens: of one update, and of the whole job.
        published_tokens_per_second: of all devices; None: nothing was published.
    """

    text: str
    words: str
    kind: str
    why: str
    tokens_per_step: int
    total_tokens: float
    published_tokens_per_second: float | None = None


_SHARDED, _CHECKPOINTED = "sharding=full", "activation_checkpointing=full"
_ANSWERED, _NO_ROOM, _REFUSED = "answered", "does not fit", "refused"
_STATE = "weights, gradients and state take 16 bytes a parameter"
_SHORTER = "published samples are shorter"
_NO_NETWORK = "the network between hosts is unknown"
_MILLION = 1e6

_Row = tuple[str, str, str, int, int, int, str, str, str, float, float | None]
"""Model, method, device, workers, length, sequences of a step, settings, kind, why, M tokens, rate."""

_ROWS: tuple[_Row, ...] = (
    ("llama3_8b", "full", "h100", 8, 8192, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    ("llama3_8b", "full", "h100", 8, 8192, 8, "", _NO_ROOM, _STATE, 50, None),
    ("llama3_8b", "full", "h100", 8, 4096, 32, f"{_SHARDED} micro_batch_size=1", _ANSWERED, "", 10, 99296),
    ("llama3_8b", "full", "h100", 8, 16384, 8, f"{_SHARDED} {_CHECKPOINTED}", _REFUSED, _SHORTER, 50, None),
    ("llama3_8b", "full", "h100", 8, 32768, 8, f"{_SHARDED} {_CHECKPOINTED}", _REFUSED, _SHORTER, 50, None),
    (
        "llama3_8b",
        "full",
        "h100",
        16,
        8192,
        16,
        f"{_SHARDED} {_CHECKPOINTED}",
        _REFUSED,
        _NO_NETWORK,
        1000,
        None,
    ),
    (
        "llama3_8b",
        "full",
        "h100",
        64,
        8192,
        64,
        f"{_SHARDED} {_CHECKPOINTED} cluster.network_gbps=3200",
        _ANSWERED,
        "",
        1000,
        None,
    ),
    ("llama3_8b", "full", "a100_80", 8, 8192, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    (
        "llama3_8b",
        "full",
        "a100_80",
        4,
        2048,
        128,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=8",
        _ANSWERED,
        "",
        100,
        12688.44,
    ),
    (
        "llama3_8b",
        "full",
        "a100_80",
        4,
        4096,
        64,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=4",
        _ANSWERED,
        "",
        100,
        12249.74,
    ),
    (
        "llama3_8b",
        "full",
        "a100_80",
        4,
        8192,
        32,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=2",
        _ANSWERED,
        "",
        100,
        11463.46,
    ),
    ("llama3_8b", "full", "a100_80", 1, 2048, 1, _CHECKPOINTED, _NO_ROOM, _STATE, 50, None),
    ("llama3_8b", "full", "a100_40", 8, 2048, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    (
        "llama3_8b",
        "full",
        "h200",
        1,
        4096,
        8,
        f"{_CHECKPOINTED} micro_batch_size=2",
        _ANSWERED,
        "",
        50,
        10471,
    ),
    (
        "llama3_8b",
        "full",
        "h200",
        2,
        4096,
        16,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=2",
        _ANSWERED,
        "",
        50,
        18728,
    ),
    (
        "llama3_8b",
        "full",
        "h200",
        4,
        4096,
        32,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=4",
        _ANSWERED,
        "",
        50,
        38983,
    ),
    ("llama3_8b", "full", "b200", 8, 8192, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    ("llama3_8b", "full", "l40s", 8, 2048, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    (
        "llama3_8b",
        "full",
        "rtx_4090",
        8,
        2048,
        8,
        f"{_SHARDED} {_CHECKPOINTED}",
        _ANSWERED,
        "",
        50,
        None,
    ),
    ("llama3_8b", "full", "rtx_4090", 1, 2048, 1, _CHECKPOINTED, _NO_ROOM, _STATE, 50, None),
    (
        "llama3_8b",
        "full",
        "mi300x",
        8,
        8192,
        8,
        f"{_SHARDED} {_CHECKPOINTED}",
        _REFUSED,
        "no published step is of an AMD GPU",
        50,
        None,
    ),
    ("llama2_7b", "full", "a100_80", 8, 4096, 16, _SHARDED, _ANSWERED, "", 1000, 29600),
    ("llama2_7b", "full", "h100", 8, 4096, 16, _SHARDED, _ANSWERED, "", 1000, 60000),
    ("llama2_7b", "full", "h100", 8, 4096, 32, _SHARDED, _ANSWERED, "", 1000, 85376),
    (
        "llama2_7b",
        "full",
        "a100_80",
        8,
        4096,
        64,
        f"{_SHARDED} micro_batch_size=2",
        _ANSWERED,
        "",
        1000,
        20275.2,
    ),
    (
        "llama2_7b",
        "full",
        "a100_80",
        8,
        4096,
        64,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=2",
        _ANSWERED,
        "",
        1000,
        18227.2,
    ),
    (
        "llama2_7b",
        "full",
        "a100_80",
        8,
        4096,
        64,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=8",
        _ANSWERED,
        "",
        1000,
        19374.1,
    ),
    ("llama2_7b", "full", "a100_40", 8, 4096, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    (
        "llama2_7b",
        "full",
        "v100_32",
        8,
        2048,
        8,
        f"{_SHARDED} {_CHECKPOINTED}",
        _REFUSED,
        "a V100 has no bf16",
        50,
        None,
    ),
    ("llama2_7b", "full", "t4", 1, 512, 1, _CHECKPOINTED, _NO_ROOM, _STATE, 10, None),
    ("llama2_13b", "full", "a100_80", 8, 4096, 8, _SHARDED, _ANSWERED, "", 100, 13600),
    ("mistral_7b", "full", "a100_80", 8, 4096, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    ("qwen2.5_7b", "full", "h100", 8, 4096, 8, f"{_SHARDED} {_CHECKPOINTED}", _ANSWERED, "", 50, None),
    (
        "llama2_70b",
        "full",
        "h100",
        8,
        4096,
        8,
        f"{_SHARDED} {_CHECKPOINTED}",
        _NO_ROOM,
        "140 GiB of each of 8 devices",
        50,
        None,
    ),
    ("tinyllama_1.1b", "full", "rtx_4090", 1, 2048, 4, _CHECKPOINTED, _ANSWERED, "", 10, None),
    (
        "tinyllama_1.1b",
        "full",
        "a100_40",
        8,
        2048,
        512,
        f"{_SHARDED} micro_batch_size=8",
        _ANSWERED,
        "",
        22000,
        192000,
    ),
    ("tinyllama_1.1b", "full", "l4", 1, 2048, 2, _CHECKPOINTED, _ANSWERED, "", 10, None),
    ("llama3.2_1b", "full", "h100", 1, 2048, 8, "", _ANSWERED, "", 50, None),
    ("llama3.2_1b", "full", "rtx_3090", 1, 2048, 1, _CHECKPOINTED, _ANSWERED, "", 10, None),
    ("llama3_8b", "lora", "rtx_4090", 1, 2048, 2, _CHECKPOINTED, _ANSWERED, "", 50, 3083),
    (
        "llama3_8b",
        "lora",
        "a100_80",
        1,
        2048,
        32,
        f"{_CHECKPOINTED} micro_batch_size=8",
        _ANSWERED,
        "",
        50,
        4079.28,
    ),
    (
        "llama3_8b",
        "lora",
        "a100_80",
        1,
        8192,
        8,
        f"{_CHECKPOINTED} micro_batch_size=2",
        _ANSWERED,
        "",
        50,
        3528.93,
    ),
    (
        "llama3_8b",
        "lora",
        "a100_80",
        4,
        4096,
        64,
        f"{_SHARDED} {_CHECKPOINTED} micro_batch_size=4",
        _ANSWERED,
        "",
        50,
        13834.43,
    ),
    ("llama3_8b", "lora", "h100", 8, 4096, 32, "micro_batch_size=1", _ANSWERED, "", 10, 142469),
    ("llama3_8b", "lora", "h100", 1, 4096, 32, "micro_batch_size=2", _ANSWERED, "", 10, 12472.87),
    ("llama3_8b", "lora", "h200", 1, 8192, 4, _CHECKPOINTED, _ANSWERED, "", 50, None),
    ("llama3_8b", "lora", "l40s", 1, 2048, 4, _CHECKPOINTED, _ANSWERED, "", 50, None),
    ("llama3_8b", "lora", "a10g", 1, 2048, 1, _CHECKPOINTED, _ANSWERED, "", 10, None),
    ("llama3_8b", "lora", "t4", 1, 2048, 1, _CHECKPOINTED, _NO_ROOM, "weights alone fill it", 10, None),
    ("llama3_8b", "lora", "rtx_4090", 8, 2048, 16, _CHECKPOINTED, _ANSWERED, "", 50, None),
    (
        "llama3_8b",
        "lora",
        "rtx_4090",
        8,
        2048,
        16,
        f"{_SHARDED} {_CHECKPOINTED}",
        _ANSWERED,
        "",
        50,
        None,
    ),
    ("llama3_8b", "lora", "h100", 1, 32768, 1, _CHECKPOINTED, _REFUSED, _SHORTER, 50, None),
    ("mistral_7b", "lora", "rtx_3090", 1, 2048, 1, _CHECKPOINTED, _ANSWERED, "", 10, None),
    ("llama2_13b", "lora", "a100_40", 1, 2048, 1, _CHECKPOINTED, _ANSWERED, "", 10, None),
    ("qwen2.5_7b", "lora", "h100", 1, 4096, 32, "micro_batch_size=2", _ANSWERED, "", 10, 14110.05),
    (
        "llama3_70b",
        "lora",
        "h100",
        8,
        2048,
        8,
        f"{_SHARDED} {_CHECKPOINTED}",
        _ANSWERED,
        "",
        50,
        None,
    ),
    (
        "llama3_70b",
        "lora",
        "h100",
        1,
        2048,
        1,
        _CHECKPOINTED,
        _NO_ROOM,
        "weights alone take 131 GiB",
        50,
        None,
    ),
    ("llama3_8b", "qlora", "rtx_4090", 1, 2048, 1, _CHECKPOINTED, _ANSWERED, "", 50, None),
    ("llama3_70b", "qlora", "a100_80", 1, 2048, 1, _CHECKPOINTED, _ANSWERED, "", 50, None),
    ("llama3_8b", "qlora", "rtx_4090", 1, 2048, 2, _CHECKPOINTED, _ANSWERED, "", 50, 2413),
    ("mistral_7b", "qlora", "a100_80", 1, 4096, 4, _CHECKPOINTED, _ANSWERED, "", 50, 3595.714),
    ("mistral_7b", "qlora", "t4", 1, 1024, 1, _CHECKPOINTED, _REFUSED, "a T4 has no bf16", 10, None),
)


def fine_tuning_questions(folder: Path) -> Iterator[Expected]:
    """Yield the questions; a model without a declared size gets a `config.json` in the folder."""
    for model, method, device, workers, length, batch, settings, kind, why, millions, rate in _ROWS:
        yield Expected(
            text=_ask(model, method, device, workers, length, millions),
            words=f"{_name_workload(model, method, length, folder)} device={device} num_workers={workers} "
            f"global_batch_size={batch} precision=bf16 {settings}".strip(),
            kind=kind,
            why=why,
            tokens_per_step=batch * length,
            total_tokens=millions * _MILLION,
            published_tokens_per_second=rate,
        )


def _ask(model: str, method: str, device: str, workers: int, length: int, millions: float) -> str:
    how = {"full": "full", "lora": "LoRA", "qlora": "QLoRA"}[method]
    devices = f"{workers}x {device}" if workers > 1 else f"one {device}"
    return f"{model}, {how}, {length:,} tokens, {devices}: how long for {millions:g} M tokens?"


def _name_workload(model: str, method: str, length: int, folder: Path) -> str:
    declared = {"llama3_8b": "8b", "llama2_7b": "7b", "tinyllama_1.1b": "1.1b", "llama3.2_1b": "1b"}
    if method == "full" and model in declared:
        return f"workload=llama_style workload.size={declared[model]} workload.sequence_length={length}"
    path = folder / model
    if not path.exists():
        path.mkdir()
        (path / "config.json").write_text(json.dumps(describe_model(_SIZES[model])))
    return (
        f"workload=causal_lm workload.model={path} workload.method={method} workload.dtype=bfloat16 "
        f"workload.sequence_length={length}"
    )


def describe_model(size: Size) -> dict[str, object]:
    """Return the `config.json` of a model of that size."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": size.vocabulary,
        "hidden_size": size.units,
        "intermediate_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads or size.heads,
        "max_position_embeddings": 131_072,
        "tie_word_embeddings": size.is_tied,
    }
