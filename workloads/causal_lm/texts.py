"""Samples of tokens: texts and chats of files, packed or one a sample, and drawn ones."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from workloads.causal_lm.models import read_tokenizer
from workloads.causal_lm.options import Options
from workloads.jobs import JobError

_SUFFIXES = (".txt", ".md", ".jsonl")
_HELD_OUT_SHARE = 10  # the last tenth of the samples is not trained on
_BYTES = 256
_DRAWN, _DRAWN_HELD_OUT = 20_000, 32
_STRIDES = 8
_BYTES_ARE_TOKENS = "tokens are the bytes of the text, for the model's folder has no tokenizer"


@dataclass(frozen=True, kw_only=True)
class TokenSamples:
    """Samples of a training and of its evaluation.

    Attributes:
        files: files that they were read from.
        tokens_per_sample: mean length of a training sample.
        unchecked: what a reader of the results has to know.
    """

    training: Any
    held_out: Any
    tokens_per_sample: float
    files: tuple[Path, ...] = ()
    unchecked: tuple[str, ...] = ()


class Rows(Dataset[Tensor]):
    """Sequences of tokens of any length, each a sample."""

    def __init__(self, rows: Sequence[Tensor]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Tensor:
        return self.rows[index].long()


class DrawnTokens(Dataset[Tensor]):
    """Sequences that count on by a stride, which a model can learn; each is drawn from its index."""

    def __init__(self, first: int, count: int, *, length: int, vocabulary: int) -> None:
        self.first, self.count, self.length, self.vocabulary = first, count, length, vocabulary

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        random = torch.Generator().manual_seed(self.first + index)
        start = torch.randint(self.vocabulary, (1,), generator=random)
        stride = torch.randint(1, _STRIDES, (1,), generator=random)
        return (start + stride * torch.arange(self.length)) % self.vocabulary


def read_samples(options: Options, *, length: int, vocabulary: int) -> TokenSamples:
    """Read the samples of the options' data, of at most `length` tokens.

    Raises:
        JobError: no such data, or none of a known form.
    """
    if not options.data:
        return TokenSamples(
            training=DrawnTokens(0, _DRAWN, length=length, vocabulary=vocabulary),
            held_out=DrawnTokens(_DRAWN, _DRAWN_HELD_OUT, length=length, vocabulary=vocabulary),
            tokens_per_sample=length,
        )
    files = _find_files(options.data)
    tokenizer = read_tokenizer(options.model)
    if tokenizer is None and vocabulary < _BYTES:
        raise JobError(
            f"workload.model={options.model} has no tokenizer, and its vocabulary of {vocabulary} has no "
            "place for bytes; add tokenizer.json to its folder"
        )
    texts = (_encode(text, tokenizer) for file in files for text in _read_texts(file))
    rows = pack(texts, length) if options.packing else [row[:length] for row in texts if len(row) > 1]
    count = len(rows) - max(1, len(rows) // _HELD_OUT_SHARE)
    if count < 1:
        raise JobError(
            f"workload.data={options.data} has {len(rows)} samples of {length} tokens, 2 are needed; "
            "give more text, or a smaller workload.sequence_length"
        )
    return TokenSamples(
        training=Rows(rows[:count]),
        held_out=Rows(rows[count:]),
        tokens_per_sample=sum(map(len, rows[:count])) / count,
        files=files,
        unchecked=() if tokenizer else (_BYTES_ARE_TOKENS,),
    )


def pack(texts: Iterator[Tensor], length: int) -> list[Tensor]:
    """Join texts and cut them into samples of one length; what is left at the end is dropped."""
    parts = list(texts)
    if not parts:
        return []
    joined = torch.cat(parts)
    count = len(joined) // length
    return list(joined[: count * length].view(count, length)) if count else []


def _find_files(data: str) -> tuple[Path, ...]:
    path = Path(data).expanduser()
    files = (path,) if path.is_file() else tuple(sorted(path.rglob("*"))) if path.is_dir() else ()
    found = tuple(file for file in files if file.is_file() and file.suffix in _SUFFIXES)
    if not found:
        raise JobError(f"workload.data={data} is no file or folder of {', '.join(_SUFFIXES)}")
    return found


def _read_texts(file: Path) -> Iterator[Any]:
    """Yield the text of a file, or the `text` or `messages` of each of its JSON lines."""
    if file.suffix != ".jsonl":
        yield file.read_text()
        return
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text = row["messages"] if "messages" in row else row["text"]
            well_formed = isinstance(text, str) or all({"role", "content"} <= set(part) for part in text)
        except (ValueError, KeyError, TypeError):
            well_formed = False
        if not well_formed:
            raise JobError(
                f'{file}, line {number} is neither {{"text": …}} nor '
                '{"messages": [{"role": …, "content": …}]}'
            )
        yield text


def _encode(text: Any, tokenizer: Any | None) -> Tensor:
    """Return the tokens of a text or a chat, with the token of its end where the tokenizer has one."""
    if tokenizer is None:
        content = text if isinstance(text, str) else _write_chat(text)
        return torch.frombuffer(bytearray(content.encode()), dtype=torch.uint8).int()
    if not isinstance(text, str):
        if tokenizer.chat_template:
            text = tokenizer.apply_chat_template(text, tokenize=False)
        else:
            text = _write_chat(text)
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    return torch.tensor([*tokenizer(text)["input_ids"], *end], dtype=torch.int32)


def _write_chat(messages: Sequence[Any]) -> str:
    """Write a chat as lines `role: content`, for models without a template of their own."""
    return "".join(f"{message['role']}: {message['content']}\n" for message in messages)
