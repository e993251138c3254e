"""Knobs of `causal_lm`; each may be an axis of a sweep."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Options:
    """Model, method and data.

    Attributes:
        model: folder with a `config.json`, or a name in the local cache or on the hub.
        method: `full` trains every weight, `lora` adapters beside frozen weights, `qlora` adapters beside
            frozen weights of 4 bits.
        lora_rank: rank of the adapters.
        lora_targets: names of the layers that get adapters; none: all linear layers but the head.
        sequence_length: most tokens of a sample; 0: 2,048, or the model's own maximum where that is less.
        packing: join the texts and cut them into samples of equal length; else a text is a sample.
        data: file or folder of `.txt`, `.md` or `.jsonl`; empty: drawn tokens.
        dtype: type in which the weights are kept, `float32` or `bfloat16`; adapters are kept in float32.
        learning_rate: of AdamW; 0: 2e-5 of `full`, 2e-4 of `lora` and `qlora`.
    """

    model: str = ""
    method: str = "full"
    lora_rank: int = 16
    lora_targets: tuple[str, ...] = ()
    sequence_length: int = 0
    packing: bool = True
    data: str = ""
    dtype: str = "float32"
    learning_rate: float = 0.0

    def list_inputs(self) -> tuple[Path, ...] | None:
        """List the files and folders that the job depends on; None: the model is on a hub, and may change."""
        model = Path(self.model).expanduser()
        if not self.model or not model.is_dir():
            return None
        return (model, Path(self.data).expanduser()) if self.data else (model,)
