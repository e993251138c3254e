"""Shapes by hand: stride, padding, dropped borders, and layers that do not fit."""

import pytest

from workloads.layers import (
    Add,
    AvgPool2d,
    Concatenate,
    Conv2d,
    ConvTranspose2d,
    Dense,
    Embedding,
    Flatten,
    Layer,
    MaxPool2d,
    Multiply,
    Recurrent,
    Reshape,
)
from workloads.network import Draft, Network, Node, sequential
from workloads.shapes import UnsuitableInputError, find_shapes, network_parameters


def test_stride_2_and_padding_1_on_9x6_leave_5x3_of_which_pooling_by_2_keeps_2x1() -> None:
    network = sequential(
        (9, 6, 3),
        Conv2d(filters=4, kernel=3, stride=2, padding=1),
        MaxPool2d(size=2),
        Flatten(),
        Dense(units=7),
    )
    assert find_shapes(network) == ((5, 3, 4), (2, 1, 4), (8,), (7,))
    parameters = {"0.kernel": (3, 3, 3, 4), "0.bias": (4,), "3.kernel": (8, 7), "3.bias": (7,)}
    assert network_parameters(network) == parameters


@pytest.mark.parametrize(
    ("layer", "inputs", "outputs"),
    [
        (Conv2d(filters=2, kernel=(1, 7), padding=(0, 3)), (5, 6, 3), (5, 6, 2)),
        (ConvTranspose2d(filters=2, kernel=5, stride=2), (7, 7, 3), (14, 14, 2)),
        (MaxPool2d(size=3, stride=2, padding=1), (8, 8, 3), (4, 4, 3)),
        (AvgPool2d(size=3, same=True), (5, 5, 3), (5, 5, 3)),
        (AvgPool2d(size=2), (5, 5, 3), (2, 2, 3)),
        (Reshape(shape=(2, 3, 4)), (24,), (2, 3, 4)),
        (Embedding(vocabulary=9, units=4), (6,), (6, 4)),
        (Recurrent(cell="gru", units=4), (6, 3), (8,)),
        (Recurrent(cell="lstm", units=4, sequences=True), (6, 3), (6, 8)),
    ],
)
def test_a_layer_gives_the_shape_counted_by_hand(
    layer: Layer, inputs: tuple[int, ...], outputs: tuple[int, ...]
) -> None:
    assert find_shapes(sequential(inputs, layer)) == (outputs,)


def test_branches_are_added_concatenated_and_scaled() -> None:
    draft = Draft(input_shape=(4, 4, 3))
    one = draft.add(Conv2d(filters=5, kernel=1))
    other = draft.add(Conv2d(filters=5, kernel=1), -1)
    draft.add(Concatenate(), draft.add(Add(), one, other), one)
    assert find_shapes(draft.done())[-1] == (4, 4, 10)


def test_a_layer_without_output_is_refused_with_its_input_shape() -> None:
    line = r"^layer 0, .*kernel=5.*, leaves no output of its input \(4, 4, 1\); a larger input"
    with pytest.raises(UnsuitableInputError, match=line):
        find_shapes(sequential((4, 4, 1), Conv2d(filters=1, kernel=5)))


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [(Add(), (0, 1)), (Multiply(), (0, 1)), (Concatenate(), (0, -1)), (Reshape(shape=(3, 3, 3)), (0,))],
)
def test_inputs_that_do_not_fit_a_layer_are_refused(layer: Layer, inputs: tuple[int, ...]) -> None:
    draft = Draft(input_shape=(4, 4, 3))
    draft.add(Conv2d(filters=2, kernel=3))
    draft.add(Conv2d(filters=2, kernel=2), -1)
    draft.add(layer, *inputs)
    with pytest.raises(ValueError, match=r"^layer 2, .*, cannot take inputs of shape \[\(2, 2, 2\)"):
        find_shapes(draft.done())


def test_a_node_may_not_take_a_later_one() -> None:
    with pytest.raises(ValueError, match=r"^node 0, Flatten\(\), takes \(0,\); it may take -1 to -1$"):
        Network(input_shape=(4,), nodes=(Node(layer=Flatten(), inputs=(0,)),))


def test_a_transposed_kernel_below_its_stride_is_refused() -> None:
    with pytest.raises(ValueError, match="kernel=1 must be at least stride=2"):
        ConvTranspose2d(filters=1, kernel=1, stride=2)
