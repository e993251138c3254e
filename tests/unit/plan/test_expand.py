"""Axes, exclude and include become combinations."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import ConfigError
from orchestrator.plan.expand import expand

AXES = ("device", "trainer", "precision", "seed")
VALUES = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True).map(tuple)
GRIDS = st.dictionaries(st.sampled_from(AXES), VALUES, min_size=1)


@st.composite
def grids_with_an_entry(draw):
    grid = draw(GRIDS)
    axes = draw(st.lists(st.sampled_from(sorted(grid)), min_size=1, unique=True))
    return grid, {axis: draw(st.integers(0, 5)) for axis in axes}


@given(GRIDS)
def test_every_combination_comes_exactly_once_in_the_order_of_the_axes(grid):
    found = [tuple(combination.values()) for combination in expand(grid)]
    assert found == list(product(*grid.values()))
    assert len(set(found)) == math.prod(map(len, grid.values()))


@given(grids_with_an_entry())
def test_exclude_removes_only_combinations_with_all_values_of_an_entry(drawn):
    grid, entry = drawn
    matching = [combination for combination in expand(grid) if entry.items() <= combination.items()]
    kept = expand(grid, exclude=[entry], include=[{"device": "kept"}])[:-1]
    assert sorted(map(str, (*kept, *matching))) == sorted(map(str, expand(grid)))
    assert not any(entry.items() <= item.items() for item in kept)


@given(grids_with_an_entry())
def test_included_combinations_come_last_and_are_not_excluded(drawn):
    grid, entry = drawn
    everything = [{axis: values} for axis, values in grid.items()]
    assert expand(grid, exclude=everything, include=[entry]) == (entry,)
    assert expand(grid, include=[entry]) == (*expand(grid), entry)


def test_a_tuple_in_an_exclude_means_any_of():
    grid = {"device": ("cpu", "t4", "v100"), "precision": ("fp32", "bf16")}
    kept = expand(grid, exclude=[{"device": ("t4", "v100"), "precision": "bf16"}])
    assert len(kept) == 4
    assert {"device": "cpu", "precision": "bf16"} in kept


def test_without_axes_there_is_only_what_is_included():
    assert expand({}, include=[{"device": "t4"}]) == ({"device": "t4"},)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"grid": {}},
            "sweep.grid and sweep.include are empty, so the sweep has no points; add an axis or an entry",
        ),
        ({"grid": {"seed": ()}}, "axis 'seed' of sweep.grid has no values; give one or take the axis out"),
        (
            {"grid": {"seed": (1, 2)}, "exclude": [{"sed": 1}]},
            "unknown axis in sweep.exclude 'sed'; did you mean 'seed'? known: seed",
        ),
        (
            {"grid": {"seed": (1, 2)}, "exclude": [{"seed": (1, 2)}]},
            "sweep.exclude leaves none of the 2 combinations of sweep.grid; "
            "take an entry out of sweep.exclude or add a value to an axis",
        ),
        (
            {"grid": {"seed": (1, 2)}, "exclude": [{}]},
            "an entry of sweep.exclude is empty, so it would exclude every combination",
        ),
    ],
)
def test_an_empty_grid_is_refused_with_the_reason(arguments, message):
    with pytest.raises(ConfigError) as raised:
        expand(arguments.pop("grid"), **arguments)
    assert str(raised.value) == message
