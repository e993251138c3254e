"""GPT-2, which predicts the next token of a text.

Radford, Wu, Child, Luan, Amodei, Sutskever 2019, "Language Models are Unsupervised Multitask Learners":
layers, heads, units, vocabulary and 1,024 positions of four sizes, with the parameters of the published
weights. Normalisation comes first, logits are tied to the embedding, and the products in front of residual
sums begin smaller by the root of their number.

The training is that of nanoGPT's config/train_gpt2.py: AdamW with 0.9, 0.95 and a decay of 0.1, no dropout,
and 600,000 steps of 491,520 tokens of OpenWebText's 9,035,582,198. Learning rates are those of Brown et al.
2020, "Language Models are Few-Shot Learners", table 2.1. Gradients are not clipped. Words take the place of
byte pairs, because their table is not on the machine: the cost of a step is the same.

`tiny` is ours, for a CPU. Its full training has 20 tokens for each parameter.
"""

from dataclasses import replace

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
from workloads.layers import Embedding
from workloads.network import Draft, Network
from workloads.sequence_layers import Float32, LayerNorm, PositionEmbedding, TiedDense
from workloads.spec import WorkloadSpec, language_model

VERSION = 1
Options = LanguageOptions
PUBLISHED = {"size": "small"}

_OPENWEBTEXT_TOKENS = 9_035_582_198
_EPOCHS = 600_000 * 491_520 / _OPENWEBTEXT_TOKENS
_BETA_2 = 0.95

_SMALL = Size(layers=12, heads=12, units=768, hidden=3072, length=1024, vocabulary=50_257, learning_rate=6e-4)
SIZES = {
    "tiny": Size(layers=2, heads=2, units=64, hidden=256, length=64, vocabulary=2_000, learning_rate=3e-3),
    "small": _SMALL,
    "medium": replace(_SMALL, layers=24, heads=16, units=1024, hidden=4096, learning_rate=3e-4),
    "large": replace(_SMALL, layers=36, heads=20, units=1280, hidden=5120, learning_rate=2.5e-4),
    "xl": replace(_SMALL, layers=48, heads=25, units=1600, hidden=6400, learning_rate=2e-4),
}


def make(options: LanguageOptions) -> WorkloadSpec:
    """Spell the task out."""
    size = choose_size("gpt2", options, SIZES)
    length = find_length("gpt2", options, size)
    network = _network(size, length, dropout=options.dropout)
    is_tiny = options.size == "tiny"
    return language_model(
        "gpt2",
        network,
        version=VERSION,
        optimizer=adamw(options, size, beta_2=_BETA_2),
        data=DataNeed(
            data_set="workloads.data.text:TEXT",
            vocabulary=size.vocabulary,
            sequence_length=length,
            targets="next_token",
            train_tokens=optimal_tokens(network) if is_tiny else _OPENWEBTEXT_TOKENS,
        ),
        epochs=1 if is_tiny else _EPOCHS,
        target=5.0,
    )


def _network(size: Size, length: int, *, dropout: float) -> Network:
    """Token ids -> logits of the next token at every step."""
    draft = Draft(input_shape=(length,))
    embedding = draft.add(Embedding(vocabulary=size.vocabulary, units=size.units))
    draft.chain(PositionEmbedding(), *dropped(dropout))
    block = Block(
        size=size,
        activation="gelu_tanh",
        initializer="bert",
        epsilon=1e-5,
        dropout=dropout,
        causal=True,
        gain=(2 * size.layers) ** -0.5,
    )
    for _ in range(size.layers):
        block.before(draft)
    draft.chain(LayerNorm(), TiedDense(embedding=embedding, units=size.vocabulary), Float32())
    return draft.done()
