"""Specs as plain values: what comes back is the same, and anything else is refused by name."""

import json
from dataclasses import replace

import numpy as np
import pytest
from declared_workloads import DECLARED

from workloads.layers import Conv2d, Custom, Dense
from workloads.network import sequential
from workloads.plain import Knob, of_plain, to_plain
from workloads.registry import workload
from workloads.spec import Adam, WorkloadSpec


def there_and_back(spec: WorkloadSpec) -> WorkloadSpec:
    return of_plain(WorkloadSpec, json.loads(json.dumps(to_plain(spec, path="spec"))), path="spec")


def with_layers(*layers) -> WorkloadSpec:
    return replace(workload("mnist_cnn", {}), networks={"model": sequential((28, 28, 1), *layers)})


@pytest.mark.parametrize("name", DECLARED)
def test_every_workload_comes_back_as_it_was(name: str) -> None:
    spec = workload(name, {})
    assert there_and_back(spec) == spec


def test_a_layer_of_somebodys_own_comes_back_as_it_was() -> None:
    arguments = (("length", 3), ("rate", 0.5), ("kind", "full"))
    custom = Custom(
        torch="mine.a:A",
        keras="mine.b:B",
        parameters=(("kernel", (3, 4)),),
        output_shape=(4,),
        forward_flops=24.0,
        arguments=arguments,
    )
    assert there_and_back(with_layers(custom)) == with_layers(custom)


def test_numbers_of_numpy_and_lists_are_numbers_and_tuples() -> None:
    loose = with_layers(Conv2d(filters=np.int64(8), kernel=[3, np.int32(3)]), Dense(units=5))
    assert there_and_back(loose) == with_layers(Conv2d(filters=8, kernel=(3, 3)), Dense(units=5))


def test_a_layer_that_builds_on_one_of_ours_is_that_one() -> None:
    class Wide(Dense):
        pass

    assert there_and_back(with_layers(Wide(units=5))) == with_layers(Dense(units=5))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object(), r"^spec\.networks\.model\.nodes\[0\]\.layer\.units is of type object, which cannot be"),
        (None, r"^spec\.networks\.model\.nodes\[0\]\.layer\.units: expected int, found None$"),
        (True, r"units: expected int, found True$"),
        (5.0, r"units: expected int, found 5\.0$"),
        ("5", r"units: expected int, found '5'$"),
        ({}, r"units: expected int, found \{\}$"),
        (Dense(units=5), r"units: expected int, found \{'is': 'Dense', 'units': 5, 'bias'"),
    ],
)
def test_a_field_of_another_type_is_named(value: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        there_and_back(with_layers(Dense(units=value)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"is": "Adam", "learning_rate": 1}, r"^a: expected the fields of Adam, found \['learning_rate'\]$"),
        ({"is": "Sgd", "learning_rate": 1.0, "momentum": 0.0}, r"^a: expected Adam, found \{'is': 'Sgd'"),
        ({"is": "Adam", "learning_rate": 1, "beta_1": 1, "beta_2": 1, "x": 1}, r"^a: expected the fields of"),
        ({"is": ["Adam"]}, r"^a: expected Adam, found"),
        ([], r"^a: expected Adam, found \[\]$"),
        (None, r"^a: expected Adam, found None$"),
    ],
)
def test_what_is_no_such_value_is_refused(change: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        of_plain(Adam, change, path="a")


@pytest.mark.parametrize("default", [None, 5, 0.5, True, "five", (1, 2), ("a",)])
def test_a_knob_keeps_its_default_and_the_type_of_that(default: object) -> None:
    knob = Knob(name="units", kind="int", is_tuple=False, default=default)
    back = of_plain(Knob, json.loads(json.dumps(to_plain(knob, path="knob"))), path="knob")
    assert (back, type(back.default)) == (knob, type(default))
