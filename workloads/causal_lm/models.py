"""Hugging Face models by folder or name: their configuration, files, weights and adapters."""

import os
import socket
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
from torch import nn

from workloads.causal_lm.libraries import import_library
from workloads.causal_lm.weights import find_stored
from workloads.families.transformer import Size
from workloads.jobs import JobError
from workloads.llama_style.spec import build_network
from workloads.network import Network

_USUAL_LENGTH = 2048
_USUAL_HIDDEN = 4  # times the units
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def read_config(model: str) -> Any:
    """Read the configuration of a model.

    Raises:
        JobError: no such model, or one that transformers does not know.
    """
    transformers = import_library("transformers")
    folder = _find_folder(model)
    is_folder = folder.is_dir()
    if is_folder and not (folder / "config.json").is_file():
        raise JobError(f"workload.model={model} has no config.json; name the folder of a Hugging Face model")
    if not is_folder and (folder.is_absolute() or model.count("/") > 1):
        raise JobError(f"workload.model={model} is not a folder; name one with config.json")
    try:
        config = _load(transformers.AutoConfig, str(folder) if is_folder else model)
    except OSError as error:
        raise JobError(
            f"workload.model={model} is no folder, is not in the local cache, and the hub did not give it; "
            "name a folder with config.json"
        ) from error
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise JobError(
            f"workload.model={model}: transformers {transformers.__version__} cannot read its config.json: "
            f"{_cut_reason(error)}"
        ) from error
    if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        raise JobError(
            f"workload.model={model} is of type {config.model_type}, which transformers "
            f"{transformers.__version__} has no causal language model for"
        )
    return config


def find_length(config: Any, asked: int, *, model: str) -> int:
    """Return the tokens of a sample. Raises JobError for more than the model takes."""
    most = getattr(config.get_text_config(), "max_position_embeddings", None)
    if asked < 0 or asked == 1 or (most is not None and asked > most):
        limit = "" if most is None else f" to {most:,}, the max_position_embeddings of {model}"
        raise JobError(f"workload.sequence_length={asked} is not possible; choose 2{limit}")
    return asked or min(_USUAL_LENGTH, most or _USUAL_LENGTH)


def describe_network(config: Any, length: int) -> Network | None:
    """Return a declared network with the layers and units of a model, as Llama has them; None: unknown."""
    text = config.get_text_config()
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size")
    counts = [count for name in names if isinstance(count := getattr(text, name, None), int)]
    if len(counts) < len(names) or counts[2] % counts[1]:
        return None
    layers, heads, units = counts
    kv_heads, hidden = (getattr(text, name, None) for name in ("num_key_value_heads", "intermediate_size"))
    size = Size(
        layers=layers,
        heads=heads,
        units=units,
        kv_heads=kv_heads if isinstance(kv_heads, int) and heads % kv_heads == 0 else None,
        hidden=hidden if isinstance(hidden, int) else _USUAL_HIDDEN * units,
        vocabulary=text.vocab_size,
        length=length,
        learning_rate=0.0,
    )
    return build_network(size, length)


def list_files(model: str) -> tuple[Path, ...]:
    """List the files of a folder that decide what is computed; of a name its configuration."""
    folder = _find_folder(model)
    if folder.is_dir():
        tokenizer = sorted(folder.glob("*token*.json")) + sorted(folder.glob("*.model"))
        return (folder / "config.json", *tokenizer, *_find_weights(folder))
    hub = import_library("transformers.utils.hub")
    found = hub.cached_file(model, "config.json", local_files_only=True)
    return (Path(found),)


def build_empty_model(config: Any, *, dtype: torch.dtype) -> nn.Module:
    """Build a model without weights, on the meta device."""
    with torch.device("meta"):
        auto = import_library("transformers").AutoModelForCausalLM
        return auto.from_config(config, dtype=dtype)  # type: ignore[no-any-return]  # transformers' own


def load_model(model: str, *, dtype: torch.dtype) -> nn.Module:
    """Load a model with the weights of its folder or name."""
    auto = import_library("transformers").AutoModelForCausalLM
    folder = _find_folder(model)
    return _load(auto, str(folder) if folder.is_dir() else model, dtype=dtype)  # type: ignore[no-any-return]


def find_weight_files(model: str, empty: nn.Module) -> dict[str, Path] | None:
    """Return the file of each weight, none for a folder without weights, whose weights are drawn.

    None: they have to be loaded as a whole, from a name or from files with other names of weights.
    """
    folder = _find_folder(model)
    if not folder.is_dir():
        return None
    if not _find_weights(folder):
        return {}
    stored = find_stored(folder)
    return stored if stored.keys() >= {name for name, _ in empty.named_parameters()} else None


def add_adapters(model: nn.Module, *, rank: int, targets: Sequence[str]) -> nn.Module:
    """Freeze a model, and put low-rank adapters (Hu et al. 2021, "LoRA") beside its linear layers.

    Raises:
        JobError: targets that no layer has.
    """
    peft = import_library("peft")
    names = {name.rpartition(".")[2] for name, part in model.named_modules() if isinstance(part, nn.Linear)}
    absent = [target for target in targets if not _matches(target, model)]
    if absent:
        raise JobError(
            f"workload.lora_targets={','.join(absent)} match no layer; possible: {', '.join(sorted(names))}"
        )
    how = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=2 * rank,
        target_modules=list(targets) or "all-linear",
    )
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # peft's, of transformers' names
        return peft.get_peft_model(model, how)  # type: ignore[no-any-return]  # peft's own


def read_tokenizer(model: str) -> Any | None:
    """Read the tokenizer of a model; None of a folder that has none."""
    folder = _find_folder(model)
    if folder.is_dir() and not any(folder.glob("*token*.json")) and not any(folder.glob("*.model")):
        return None
    tokenizer = import_library("transformers").AutoTokenizer
    try:
        return _load(tokenizer, str(folder) if folder.is_dir() else model)
    except (OSError, ValueError, KeyError) as error:
        raise JobError(f"workload.model={model}: its tokenizer cannot be read: {error}") from error


def _find_folder(model: str) -> Path:
    """Return the folder that a model may be; a user who is not known has none."""
    try:
        return Path(model).expanduser()
    except RuntimeError:
        return Path(model)


def _cut_reason(error: Exception) -> str:
    """Return the first sentence of an error."""
    return str(error).strip().partition("\n")[0].partition(". ")[0] or type(error).__name__


def _matches(target: str, model: nn.Module) -> bool:
    """Return whether a layer has the name, or ends with it."""
    return any(name == target or name.endswith(f".{target}") for name, _ in model.named_modules())


def _find_weights(folder: Path) -> tuple[Path, ...]:
    return tuple(path for pattern in _WEIGHTS for path in sorted(folder.glob(pattern)))


def _load(auto: Any, name: str, **how: Any) -> Any:
    """Load from the disk, and from the hub only what is not there."""
    try:
        return auto.from_pretrained(name, local_files_only=True, **how)
    except OSError:
        if Path(name).is_dir() or os.environ.get("HF_HUB_OFFLINE"):
            raise
        _require_hub()
        return auto.from_pretrained(name, **how)


def _require_hub() -> None:
    """Raise OSError where the hub has no address, which its client would ask for six times."""
    if not getproxies():
        host = urlsplit(import_library("huggingface_hub.constants").ENDPOINT).hostname
        socket.getaddrinfo(host, None)
