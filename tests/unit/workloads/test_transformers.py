"""The transformers: sizes as published, operations against two formulas, and refused knobs."""

import math

import pytest

from workloads.flops import forward_flops, train_step_flops
from workloads.initial import initial_weights
from workloads.layers import Dense, Embedding
from workloads.network import Draft
from workloads.registry import workload
from workloads.sequence_layers import Attention, PositionEmbedding, TiedDense
from workloads.shapes import find_shapes, network_parameters
from workloads.spec import AdamW, WarmupCosine
from workloads.traffic import num_weights

PUBLISHED = {
    ("gpt2", "small"): 124_439_808,
    ("gpt2", "medium"): 354_823_168,
    ("gpt2", "large"): 774_030_080,
    ("gpt2", "xl"): 1_557_611_200,
    ("llama_style", "160m"): 162_417_408,
    ("llama_style", "1.1b"): 1_100_048_384,
    ("llama_style", "1b"): 1_235_814_400,
    ("llama_style", "7b"): 6_738_415_616,
    ("llama_style", "8b"): 8_030_261_248,
}
"""Parameters of the published weights, as `transformers` counts them."""

VIT = {"s16": 22_050_664, "b16": 86_567_656, "l16": 304_326_632}
"""Likewise, with 1,000 classes at 224 pixels, as torchvision and timm count them."""


@pytest.mark.parametrize(("name", "size"), PUBLISHED, ids=" ".join)
def test_a_published_size_has_the_published_parameters(name: str, size: str) -> None:
    assert num_weights(workload(name, {"size": size}).networks["model"]) == PUBLISHED[name, size]


@pytest.mark.parametrize("size", VIT)
def test_a_vision_transformer_has_the_published_parameters(size: str) -> None:
    network = workload("vit_b16", {"size": size, "num_classes": 1000}).networks["model"]
    assert num_weights(network) == VIT[size]


@pytest.mark.parametrize(("size", "published"), [("base", 109_514_298), ("large", 335_174_458)])
def test_bert_has_the_published_parameters_but_the_table_of_segments(size: str, published: int) -> None:
    """`BertForMaskedLM`, whose 512 positions and two segments are tables of the same width."""
    spec = workload("bert_base", {"size": size, "sequence_length": 512})
    units = network_parameters(spec.networks["model"])["0.kernel"][1]
    assert num_weights(spec.networks["model"]) == published - 2 * units


@pytest.mark.parametrize(("name", "size"), [("gpt2", "small"), ("gpt2", "xl"), ("llama_style", "7b")])
def test_operations_are_those_of_6nd_and_of_attention(name: str, size: str) -> None:
    """Chowdhery et al. 2022, "PaLM", appendix B: 6 N + 12 L H Q T for each token.

    N counts the weights of products: those of a tied table, and not those that are looked up or that norms
    and biases have.
    """
    spec = workload(name, {"size": size})
    network, tokens = spec.networks["model"], spec.data.sequence_length
    layers = [node.layer for node in network.nodes]
    attention = [layer for layer in layers if isinstance(layer, Attention)]
    kernels = {
        key: math.prod(shape)
        for key, shape in network_parameters(network).items()
        if key.endswith(".kernel") and isinstance(layers[int(key.split(".")[0])], Dense)
    }
    tied = sum(units_of(layers) * layer.units for layer in layers if isinstance(layer, TiedDense))
    width = attention[0].widths[0]
    per_token = 6 * (sum(kernels.values()) + tied) + 12 * len(attention) * width * tokens
    assert train_step_flops(spec, 1) == tokens * per_token


def units_of(layers: list[object]) -> int:
    return next(layer.units for layer in layers if isinstance(layer, Embedding))


def test_6nd_alone_is_within_a_fifth_at_1024_tokens() -> None:
    spec = workload("gpt2", {"size": "small"})
    by_weights = 6 * num_weights(spec.networks["model"]) * 1024
    assert 1 < train_step_flops(spec, 1) / by_weights < 1.2


def test_causal_attention_costs_what_attention_does() -> None:
    """PaLM's formula counts the masked half, and so does every table of utilisation that follows it."""
    plain, causal = (attended(causal=is_causal) for is_causal in (False, True))
    assert forward_flops(plain) == forward_flops(causal) == 4 * 10 * 10 * 6


def attended(*, units: int = 18, **options: object):
    draft = Draft(input_shape=(10, units))
    draft.add(Attention(heads=2, head_units=3, **options))
    return draft.done()


def test_groups_of_heads_share_their_keys() -> None:
    draft = Draft(input_shape=(10, 8))
    parts = [draft.add(Dense(units=units), -1) for units in (24, 12, 12)]
    draft.add(Attention(heads=4, head_units=6, kv_heads=2), *parts)
    assert find_shapes(draft.done())[-1] == (10, 24)


def test_attention_of_other_widths_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^layer 0, Attention\(.*cannot take inputs of shape"):
        find_shapes(attended(units=17))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"heads": 4, "kv_heads": 3, "head_units": 2}, "heads=4 must be a multiple of kv_heads=3"),
        ({"heads": 0, "head_units": 2}, "heads=0 must be a multiple"),
        ({"heads": 2, "head_units": 3, "rotary_base": 1e4}, "head_units=3 must be even"),
    ],
)
def test_impossible_heads_are_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Attention(**options)


@pytest.mark.parametrize("embedding", [0, 7])
def test_logits_are_tied_to_an_embedding_of_their_vocabulary(embedding: int) -> None:
    draft = Draft(input_shape=(10,))
    draft.chain(Embedding(vocabulary=50, units=8), TiedDense(embedding=embedding, units=51))
    with pytest.raises(ValueError, match="needs an Embedding of that vocabulary before it"):
        draft.done()


def test_projections_before_residual_sums_begin_smaller_in_gpt2() -> None:
    network = workload("gpt2", {}).networks["model"]
    weights = initial_weights(network, seed=0)
    names = [f"{index}.kernel" for index, node in enumerate(network.nodes) if isinstance(node.layer, Dense)]
    assert [round(float(weights[name].std()), 3) for name in names[:4]] == [0.02, 0.01, 0.02, 0.01]
    [positions] = [i for i, node in enumerate(network.nodes) if isinstance(node.layer, PositionEmbedding)]
    assert weights[f"{positions}.kernel"].std() == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("gpt2", {"size": "smal"}, r"^unknown gpt2 size 'smal'; did you mean 'small'\? known: "),
        ("gpt2", {"sequence_length": 1}, r"^gpt2 sequence_length=1 must be at least 2, or 0 for 64$"),
        ("gpt2", {"dropout": 1.0}, r"^gpt2 dropout=1\.0 must lie in \[0, 1\)$"),
        ("gpt2", {"learning_rate": -1.0}, r"^gpt2 learning_rate=-1\.0 must be at least 0 and finite$"),
        ("gpt2", {"decay_steps": 5}, r"^warmup_steps=20, decay_steps=5: a rate falls behind its rise"),
        ("llama_style", {"weight_decay": math.inf}, r"^llama_style weight_decay=inf must be at least 0"),
        ("bert_base", {"task": "mlm"}, r"^unknown bert_base task 'mlm'; .*known: "),
        ("vit_b16", {"image_size": 30}, r"^vit_b16 image_size=30 must be a multiple of size=tiny's patches"),
        ("vit_b16", {"image_size": 2}, r"^vit_b16 image_size=2 is too small; it takes 4 pixels or more$"),
        ("vit_b16", {"num_classes": 9}, r"^vit_b16 num_classes=9 is below the 10 classes of CIFAR-10$"),
    ],
)
def test_a_knob_out_of_range_is_one_line(name: str, options: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        workload(name, options)


def test_the_rate_rises_stays_and_falls_to_its_last_share() -> None:
    falling = WarmupCosine(warmup_steps=4, decay_steps=12)
    assert [falling.share_at(step) for step in (0, 3, 4, 8, 12, 99)] == pytest.approx(
        [0.25, 1, 1, 0.55, 0.1, 0.1]
    )
    staying = WarmupCosine(warmup_steps=0)
    assert {staying.share_at(step) for step in (0, 1, 10**6)} == {1.0}


def test_a_size_brings_its_learning_rate_and_a_knob_overrides_it() -> None:
    rates = [
        workload("gpt2", {"size": "medium", **options}).phases[0].optimizers["model"]
        for options in ({}, {"learning_rate": 1e-3})
    ]
    assert [rate.learning_rate for rate in rates if isinstance(rate, AdamW)] == [3e-4, 1e-3]


def test_a_full_training_is_that_of_its_authors() -> None:
    gpt2, bert = workload("gpt2", {"size": "small"}), workload("bert_base", {"size": "base"})
    assert gpt2.epochs * gpt2.data.train_tokens == pytest.approx(600_000 * 491_520)
    assert (bert.epochs, bert.data.train_tokens) == (40, 3_300_000_000)
    assert workload("bert_base", {"task": "classification"}).epochs == 3
