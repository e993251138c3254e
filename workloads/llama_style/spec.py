"""A language model in the style of Llama: RMS norms, rotary positions, SwiGLU, shared heads of keys.

Touvron et al. 2023, "Llama 2", and Dubey et al. 2024, "The Llama 3 Herd of Models"; layers, heads, units and
vocabularies are those of the configurations published with the weights: `160m` is JackFram/llama-160m,
`1.1b` TinyLlama (Zhang et al. 2024), `1b` Llama 3.2, `7b` Llama 2, `8b` Llama 3. AdamW has 0.9, 0.95 and a
decay of 0.1, as in both papers. `tiny` is ours, for a CPU.

No full training suits all sizes, so it has 20 tokens for each parameter (Hoffmann et al. 2022, "Training
Compute-Optimal Large Language Models"). Words take the place of word pieces, because their table is not on
the machine; the embedding has the published size all the same. Gradients are not clipped.
"""

from workloads.data.need import DataNeed
from workloads.families.transformer import (
    LanguageOptions,
    Size,
    adamw,
    choose_size,
    dropped,
    find_length,
    gated_block,
    optimal_tokens,
)
from workloads.layers import Dense, Embedding
from workloads.network import Draft, Network
from workloads.sequence_layers import Float32, RmsNorm, TiedDense
from workloads.spec import WorkloadSpec, language_model

VERSION = 1
Options = LanguageOptions

_BETA_2 = 0.95
_EPSILON = 1e-5

SIZES = {
    "tiny": Size(
        layers=2,
        heads=4,
        kv_heads=2,
        units=64,
        hidden=172,
        length=64,
        vocabulary=2_000,
        learning_rate=3e-3,
    ),
    "160m": Size(
        layers=12, heads=12, units=768, hidden=3072, length=2048, vocabulary=32_000, learning_rate=6e-4
    ),
    "1.1b": Size(
        layers=22,
        heads=32,
        kv_heads=4,
        units=2048,
        hidden=5632,
        length=2048,
        vocabulary=32_000,
        learning_rate=4e-4,
    ),
    "1b": Size(
        layers=16,
        heads=32,
        kv_heads=8,
        units=2048,
        hidden=8192,
        length=2048,
        vocabulary=128_256,
        rotary_base=500_000.0,
        is_tied=True,
        learning_rate=3e-4,
    ),
    "7b": Size(
        layers=32, heads=32, units=4096, hidden=11_008, length=4096, vocabulary=32_000, learning_rate=3e-4
    ),
    "8b": Size(
        layers=32,
        heads=32,
        kv_heads=8,
        units=4096,
        hidden=14_336,
        length=8192,
        vocabulary=128_256,
        rotary_base=500_000.0,
        learning_rate=3e-4,
    ),
}


def make(options: LanguageOptions) -> WorkloadSpec:
    """Spell the task out."""
    size = choose_size("llama_style", options, SIZES)
    length = find_length("llama_style", options, size)
    network = build_network(size, length, dropout=options.dropout)
    return language_model(
        "llama_style",
        network,
        version=VERSION,
        optimizer=adamw(options, size, beta_2=_BETA_2),
        data=DataNeed(
            data_set="workloads.data.text:TEXT",
            vocabulary=size.vocabulary,
            sequence_length=length,
            targets="next_token",
            train_tokens=optimal_tokens(network),
        ),
        epochs=1,
        target=5.0,
    )


def build_network(size: Size, length: int, *, dropout: float = 0.0) -> Network:
    """Token ids -> logits of the next token at every step."""
    draft = Draft(input_shape=(length,))
    embedding = draft.add(Embedding(vocabulary=size.vocabulary, units=size.units))
    draft.chain(*dropped(dropout))
    for _ in range(size.layers):
        gated_block(draft, size, dropout=dropout, epsilon=_EPSILON)
    logits = (
        TiedDense(embedding=embedding, units=size.vocabulary)
        if size.is_tied
        else Dense(units=size.vocabulary, bias=False, initializer="bert")
    )
    draft.chain(RmsNorm(epsilon=_EPSILON), logits, Float32())
    return draft.done()
