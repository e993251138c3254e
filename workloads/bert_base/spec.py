"""BERT, which fills in masked tokens, or classifies a text.

Devlin, Chang, Lee, Toutanova 2019, "BERT: Pre-training of Deep Bidirectional Transformers": layers, units
and 30,522 word pieces of both sizes; 40 epochs over 3.3 thousand million words to pre-train, three to
fine-tune. Normalisation comes behind each sum, dropout of 0.1 in front of it. AdamW has 0.9, 0.999 and a
decay of 0.01.

What differs: a sequence is one segment, without a table of segments and a prediction of the next sentence;
dropout spares the attention weights; all steps go through the product with the vocabulary, where the paper's
code takes the masked ones alone; padding is attended to, and stands in front of a text. Words take the
place of word pieces, because their table is not on the machine.

`task=classification` fine-tunes on IMDB's reviews, from random weights, because the pre-trained ones are not
on the machine: time and cost of a step are those of fine-tuning, quality is not. `tiny` is ours, for a CPU,
with 20 tokens for each parameter to pre-train on.
"""

from dataclasses import dataclass, replace

from workloads.data.need import DataNeed
from workloads.families.transformer import (
    Block,
    LanguageOptions,
    Size,
    adamw,
    choose_size,
    dropped,
    find_length,
    optimal_tokens,
)
from workloads.layers import Activation, Dense, Embedding
from workloads.names import unknown_name
from workloads.network import Draft, Network
from workloads.sequence_layers import (
    ClassToken,
    FirstStep,
    Float32,
    LayerNorm,
    PositionEmbedding,
    TiedDense,
)
from workloads.spec import Quality, WorkloadSpec, classifier, language_model

VERSION = 1
PUBLISHED = {"size": "base"}

_TRAIN_TOKENS = 3_300_000_000
_PRETRAIN_EPOCHS, _FINETUNE_EPOCHS = 40, 3
_BETA_2 = 0.999
_EPSILON = 1e-12
_CLASSES = 2
_TASKS = ("masked_lm", "classification")
_FINETUNE_SHARE = 0.2
"""Share of the learning rate of pre-training that fine-tuning takes: 2e-5 of 1e-4 in the paper."""

_BASE = Size(layers=12, heads=12, units=768, hidden=3072, length=128, vocabulary=30_522, learning_rate=1e-4)
SIZES = {
    "tiny": Size(layers=2, heads=2, units=64, hidden=256, length=64, vocabulary=2_000, learning_rate=2e-3),
    "base": _BASE,
    "large": replace(_BASE, layers=24, heads=16, units=1024, hidden=4096),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LanguageOptions):
    """Knobs.

    Attributes:
        task: `masked_lm` or `classification`.
    """

    task: str = "masked_lm"
    dropout: float = 0.1
    weight_decay: float = 0.01


def make(options: Options) -> WorkloadSpec:
    """Spell the task out."""
    if options.task not in _TASKS:
        raise unknown_name("bert_base task", options.task, known=_TASKS)
    size = choose_size("bert_base", options, SIZES)
    length = find_length("bert_base", options, size)
    make_task = _masked_lm if options.task == "masked_lm" else _classification
    return make_task(options, size, length)


def _masked_lm(options: Options, size: Size, length: int) -> WorkloadSpec:
    draft = Draft(input_shape=(length,))
    embedding = draft.add(Embedding(vocabulary=size.vocabulary, units=size.units))
    _encode(draft, size, dropout=options.dropout)
    draft.chain(
        Dense(units=size.units, initializer="bert"),
        Activation(kind="gelu"),
        LayerNorm(epsilon=_EPSILON),
        TiedDense(embedding=embedding, units=size.vocabulary, bias=True),
        Float32(),
    )
    network, is_tiny = draft.done(), options.size == "tiny"
    return language_model(
        "bert_base",
        network,
        version=VERSION,
        optimizer=adamw(options, size, beta_2=_BETA_2),
        data=DataNeed(
            data_set="workloads.data.text:TEXT",
            vocabulary=size.vocabulary,
            sequence_length=length,
            targets="masked_token",
            train_tokens=optimal_tokens(network) if is_tiny else _TRAIN_TOKENS,
        ),
        epochs=1 if is_tiny else _PRETRAIN_EPOCHS,
        target=6.0,
    )


def _classification(options: Options, size: Size, length: int) -> WorkloadSpec:
    rate = options.learning_rate or _FINETUNE_SHARE * size.learning_rate
    return classifier(
        "bert_base",
        _classifying(size, length, dropout=options.dropout),
        version=VERSION,
        optimizer=adamw(replace(options, learning_rate=rate), size, beta_2=_BETA_2),
        data=DataNeed(
            data_set="workloads.data.imdb:IMDB",
            vocabulary=size.vocabulary,
            sequence_length=length - 1,  # the class token is the first step
        ),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.75),
        epochs=_FINETUNE_EPOCHS,
    )


def _classifying(size: Size, length: int, *, dropout: float) -> Network:
    """Token ids -> two logits."""
    draft = Draft(input_shape=(length - 1,))
    draft.chain(Embedding(vocabulary=size.vocabulary, units=size.units), ClassToken())
    _encode(draft, size, dropout=dropout)
    draft.chain(
        FirstStep(),
        Dense(units=size.units, initializer="bert"),
        Activation(kind="tanh"),
        *dropped(dropout),
        Dense(units=_CLASSES, initializer="bert"),
    )
    return draft.done()


def _encode(draft: Draft, size: Size, *, dropout: float) -> None:
    draft.chain(PositionEmbedding(), LayerNorm(epsilon=_EPSILON), *dropped(dropout))
    block = Block(size=size, activation="gelu", initializer="bert", epsilon=_EPSILON, dropout=dropout)
    for _ in range(size.layers):
        block.behind(draft)
