"""A training of a Hugging Face causal language model: all of its weights, or adapters beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from workloads.causal_lm.four_bit import pack_linear_layers
from workloads.causal_lm.models import (
    add_adapters,
    build_empty_model,
    describe_network,
    find_length,
    find_weight_files,
    list_files,
    load_model,
    read_config,
)
from workloads.causal_lm.options import Options
from workloads.causal_lm.texts import read_samples
from workloads.causal_lm.weights import NamedTensors, iterate_weights
from workloads.jobs import JobError, TorchJob

_IGNORED = -100  # target of padding
_LEARNING_RATES = {"full": 2e-5, "lora": 2e-4, "qlora": 2e-4}
_MOST_HELD_OUT = 32

Batch = dict[str, Tensor]


def build(options: Options) -> TorchJob:
    """Build the job with its model on the meta device; its weights are made when a training starts."""
    _require_options(options)
    config = read_config(options.model)
    length = find_length(config, options.sequence_length, model=options.model)
    samples = read_samples(options, length=length, vocabulary=config.get_text_config().vocab_size)
    model = build_empty_model(config, dtype=getattr(torch, options.dtype))
    stored = find_weight_files(options.model, model)
    model = _adapt(model, options)
    held_out = [samples.held_out[index] for index in range(min(_MOST_HELD_OUT, len(samples.held_out)))]
    return TorchJob(
        model=model,
        load_model=partial(_load, options) if stored is None else None,
        iterate_weights=None if stored is None else partial(_iterate_weights, config, options, stored),
        loss=compute_loss,
        optimizer=_build_optimizer(model, options),
        data=samples.training,
        collate=collate,
        evaluate=_Evaluation(held_out),
        metric="held_out_loss",
        higher_is_better=False,
        epochs=1 if options.data else None,
        files=(*list_files(options.model), *samples.files),
        tokens_per_sample=samples.tokens_per_sample,
        unchecked=samples.unchecked,
        network=describe_network(config, round(samples.tokens_per_sample)),
    )


def collate(samples: Sequence[Tensor]) -> Batch:
    """Pad samples at their end to the longest of them: `input_ids`, and `labels` that leave out padding.

    Causal attention of a token does not reach what follows it, so that padding needs no mask.
    """
    length = max(map(len, samples))
    return {
        "input_ids": torch.stack([pad(sample, (0, length - len(sample))) for sample in samples]),
        "labels": torch.stack([pad(sample, (0, length - len(sample)), value=_IGNORED) for sample in samples]),
    }


def compute_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Return the cross-entropy of the next token in nats: mean over a sample's tokens, then samples."""
    logits = model(input_ids=batch["input_ids"], use_cache=False).logits[:, :-1]
    targets = batch["labels"][:, 1:]
    losses = cross_entropy(
        logits.flatten(0, 1).float(), targets.flatten(), ignore_index=_IGNORED, reduction="none"
    ).view(targets.shape)
    counted = (targets != _IGNORED).sum(1).clamp(min=1)
    return (losses.sum(1) / counted).mean()


@dataclass(frozen=True)
class _Evaluation:
    """Loss and perplexity of held-out samples, one after the other."""

    samples: Sequence[Tensor]

    def __call__(self, model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        losses = [
            compute_loss(model, {name: part.to(device) for name, part in collate([sample]).items()}).item()
            for sample in self.samples
        ]
        mean = sum(losses) / len(losses)
        return {"held_out_loss": mean, "perplexity": exp(min(mean, 700.0))}


def _load(options: Options) -> nn.Module:
    return _adapt(load_model(options.model, dtype=getattr(torch, options.dtype)), options)


def _iterate_weights(config: Any, options: Options, stored: Mapping[str, Path]) -> NamedTensors:
    base, adapted = (build_empty_model(config, dtype=getattr(torch, options.dtype)) for _ in range(2))
    return iterate_weights(base, _adapt(adapted, options), stored)


def _adapt(model: nn.Module, options: Options) -> nn.Module:
    """Pack a model, and put adapters into it, where the method asks for that."""
    if options.method == "full":
        return model
    if options.method == "qlora":
        pack_linear_layers(model, name=options.model)
    return add_adapters(model, rank=options.lora_rank, targets=options.lora_targets)


def _build_optimizer(model: nn.Module, options: Options) -> torch.optim.Optimizer:
    """Build AdamW of what is trained; without copies of all weights at once, on a GPU either."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    rate = options.learning_rate or _LEARNING_RATES[options.method]
    return torch.optim.AdamW(trained, lr=rate, foreach=False)


def _require_options(options: Options) -> None:
    """Raise JobError for options that no training can have."""
    checks: Sequence[tuple[bool, str]] = (
        (
            not options.model,
            "workload.model is missing; name a folder with config.json, or a model of the local cache",
        ),
        (
            options.method not in _LEARNING_RATES,
            f"workload.method={options.method} is unknown; choose {', '.join(_LEARNING_RATES)}",
        ),
        (
            options.dtype not in ("float32", "bfloat16"),
            f"workload.dtype={options.dtype} is unknown; choose float32 or bfloat16",
        ),
        (options.lora_rank < 1, f"workload.lora_rank={options.lora_rank} must be at least 1"),
        (options.learning_rate < 0, f"workload.learning_rate={options.learning_rate} must not be negative"),
    )
    for is_wrong, message in checks:
        if is_wrong:
            raise JobError(message)
