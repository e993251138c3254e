"""A classifier of Hugging Face transformers with random weights: which letter of a text is the commonest?"""

from dataclasses import dataclass

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, get_cosine_schedule_with_warmup

from workloads.jobs import TorchJob

LETTERS, LENGTH = 4, 32


@dataclass(frozen=True, kw_only=True)
class Options:
    """Knobs; each may be an axis of a sweep."""

    units: int = 32
    layers: int = 2
    learning_rate: float = 3e-3


class Texts(Dataset):
    """Texts of letters, drawn anew from the index of each."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        random = torch.Generator().manual_seed(self.first + index)
        text = torch.randint(LETTERS, (LENGTH,), generator=random)
        label = text.bincount(minlength=LETTERS).argmax()
        return {"input_ids": text, "attention_mask": torch.ones_like(text), "labels": label}


def build(options: Options) -> TorchJob:
    config = BertConfig(
        vocab_size=LETTERS,
        hidden_size=options.units,
        num_hidden_layers=options.layers,
        num_attention_heads=2,
        intermediate_size=4 * options.units,
        max_position_embeddings=LENGTH,
        num_labels=LETTERS,
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    held_out = [Texts(first=1_000_000, count=256)[index] for index in range(256)]

    def evaluate(model: BertForSequenceClassification) -> dict[str, float]:
        batch = torch.utils.data.default_collate(held_out)
        batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
        is_right = model(**batch).logits.argmax(1) == batch["labels"]
        return {"accuracy": is_right.float().mean().item()}

    return TorchJob(
        model=model,
        loss=lambda model, batch: model(**batch).loss,
        optimizer=optimizer,
        scheduler=get_cosine_schedule_with_warmup(optimizer, 20, 400),
        clip_norm=1.0,
        data=Texts(first=0, count=20_000),
        evaluate=evaluate,
        target=0.7,
    )
