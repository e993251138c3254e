"""The text classifiers: their networks, counted by hand, and what is told of wrong knobs."""

import pytest

from workloads.flops import forward_flops
from workloads.initial import initial_weights
from workloads.layers import Recurrent
from workloads.registry import workload
from workloads.shapes import network_parameters
from workloads.traffic import num_weights

every_workload = pytest.mark.parametrize(
    ("name", "gates", "bias_rows"), [("imdb_bilstm", 4, 1), ("imdb_bigru", 3, 2)]
)


@every_workload
def test_default_weights_are_those_of_20000_words_two_directions_and_two_classes(
    name: str, gates: int, bias_rows: int
) -> None:
    network = workload(name, {}).networks["model"]
    direction = gates * 32 * (32 + 32 + bias_rows)
    assert num_weights(network) == 20_000 * 32 + 2 * direction + (64 * 2 + 2)


@every_workload
def test_a_review_costs_both_kernels_of_both_directions_at_each_of_80_words(
    name: str, gates: int, bias_rows: int
) -> None:
    recurrent = 2 * 80 * 2 * (32 + 32) * gates * 32
    assert forward_flops(workload(name, {}).networks["model"]) == recurrent + 2 * 64 * 2


@every_workload
def test_all_recurrent_layers_but_the_last_hand_on_every_word(name: str, gates: int, bias_rows: int) -> None:
    network = workload(name, {"layers": 3, "units": 5}).networks["model"]
    layers = [node.layer for node in network.nodes if isinstance(node.layer, Recurrent)]
    assert [layer.sequences for layer in layers] == [True, True, False]
    assert network_parameters(network)["3.forward_kernel"] == (10, gates * 5)


def test_a_gru_starts_without_bias_in_either_row() -> None:
    state = initial_weights(workload("imdb_bigru", {"units": 5}).networks["model"], 0)
    assert state["1.backward_bias"].shape == (2, 15)
    assert not state["1.backward_bias"].any()


@every_workload
def test_the_data_come_in_the_vocabulary_and_length_of_the_knobs(
    name: str, gates: int, bias_rows: int
) -> None:
    spec = workload(name, {"vocabulary": 500, "sequence_length": 12})
    assert (spec.data.vocabulary, spec.data.sequence_length) == (500, 12)
    assert spec.networks["model"].input_shape == (12,)
    assert spec.networks["model"].takes_tokens


@every_workload
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("vocabulary", 2, "vocabulary=2 must be at least 3"),
        ("sequence_length", 0, "sequence_length=0 must be at least 1"),
        ("embedding_units", 0, "embedding_units=0 must be at least 1"),
        ("units", 0, "units=0 must be at least 1"),
        ("layers", 0, "layers=0 must be at least 1"),
        ("dropout", 1, r"dropout=1\.0 must lie in \[0, 1\)"),
        ("learning_rate", 0, r"learning_rate=0\.0 must be above 0 and finite"),
    ],
)
def test_a_knob_out_of_range_is_shown(
    name: str, gates: int, bias_rows: int, option: str, value: float, expected: str
) -> None:
    with pytest.raises(ValueError, match=f"^{name} {expected}$"):
        workload(name, {option: value})
