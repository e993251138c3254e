"""Shapes of TPU slices: chips, hosts, and those that do not exist."""

import pytest
from plan_builders import T4, TPU, device

from orchestrator.core.device import count_chips, count_hosts, find_topologies, topology_of_host
from orchestrator.core.errors import ConfigError

V5E_4 = device("tpu_v5e_4", kind="tpu", chips=4, replicas=4, slice_type="v5litepod-4")
V5P = device("tpu_v5p_8", kind="tpu", chips=4, replicas=4, slice_type="v5p-8")


@pytest.mark.parametrize(("topology", "chips"), [("1x1", 1), ("2x4", 8), ("2x2x4", 16), ("16x16", 256)])
def test_chips_are_the_product_of_the_sides(topology, chips):
    assert count_chips(topology) == chips


@pytest.mark.parametrize(("found", "topology"), [(V5E_4, "2x2"), (V5P, "2x2x1"), (TPU, "2x2")])
def test_a_host_is_the_slice_with_its_number_of_chips(found, topology):
    assert topology_of_host(found) == topology


def test_a_host_of_a_shape_that_does_not_exist_is_refused():
    odd = device("odd", kind="tpu", chips=3, slice_type="v5litepod-3")
    with pytest.raises(ConfigError, match=r"^no slice of v5litepod-3 has the 3 chips of odd$"):
        topology_of_host(odd)


@pytest.mark.parametrize(
    ("topology", "found", "hosts"), [("4x4", V5E_4, 4), ("2x2", V5E_4, 1), ("2x2x4", V5P, 4), ("4x4", TPU, 4)]
)
def test_hosts_are_the_chips_of_a_slice_over_those_of_one(topology, found, hosts):
    assert count_hosts(topology, found) == hosts


@pytest.mark.parametrize(
    ("topology", "found", "message"),
    [
        ("3x3", V5E_4, "topology '3x3' does not exist for tpu_v5e_4; possible: 1x1, 2x2, 2x4, 4x4"),
        ("4x4", V5P, "topology '4x4' does not exist for tpu_v5p_8; possible: 2x2x1, 2x2x2"),
        ("1x1", V5E_4, "topology '1x1' has 1 chips, and a host of tpu_v5e_4 4"),
        ("2x2", T4, "topology '2x2' does not exist for t4; possible: none, because it is not a TPU"),
    ],
)
def test_a_slice_that_cannot_be_had_is_refused(topology, found, message):
    with pytest.raises(ConfigError, match="topology") as told:
        count_hosts(topology, found)
    assert str(told.value).startswith(message)


@pytest.mark.parametrize("generation", ["v2", "v3", "v4", "v5litepod", "v5p", "v6e", "tpu7x"])
def test_every_generation_has_shapes_the_smallest_first_and_none_twice(generation):
    shapes = find_topologies(generation)
    assert sorted(shapes, key=count_chips) == list(shapes)
    assert len(set(shapes)) == len(shapes) > 0
