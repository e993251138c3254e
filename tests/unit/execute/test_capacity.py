"""Number of nodes that trials need, and room for one more."""

import pytest
from builders import placement, trial_spec
from cluster_builders import inventory, pool
from hypothesis import given
from hypothesis import strategies as st
from plan_builders import held, node

from orchestrator.execute.scheduling.capacity import fits, fits_now, num_nodes

NODE = node(cpus=8, devices={"t4": held(4)})
TWO_POOLS = inventory(pool("t4", count=4), pool("spot"), max_nodes=3)


def on(pool_name: str, devices: int = 1, seed: int = 0, provenance: str = "measured", num_hosts: int = 1):
    return placement(
        trial_spec(device="t4", seed=seed, host_cpu=None),
        kind="gpu",
        pool=pool_name,
        cpus=2 * devices,
        devices=devices,
        provenance=provenance,
        num_hosts=num_hosts,
    )


@pytest.mark.parametrize(
    ("devices", "nodes"), [([], 0), ([1], 1), ([1, 2, 1], 1), ([3, 3], 2), ([3, 2, 1, 2], 2), ([4, 4, 1], 3)]
)
def test_trials_share_nodes_where_they_fit(devices, nodes):
    assert num_nodes([on("t4", count) for count in devices], NODE, pool="t4") == nodes


@given(st.lists(st.integers(1, 4), max_size=12))
def test_as_many_nodes_as_needed_and_no_more_than_one_a_trial(devices):
    found = num_nodes([on("t4", count) for count in devices], NODE, pool="t4")
    assert sum(devices) / 4 <= found <= len(devices)


def test_each_part_of_a_trial_on_several_hosts_has_a_node_of_its_own():
    two = on("t4", 2, num_hosts=2)
    assert num_nodes([two], NODE, pool="t4") == 2
    assert num_nodes([two, two], NODE, pool="t4") == 2
    assert num_nodes([on("t4", 3), two], NODE, pool="t4") == 3
    assert num_nodes([on("t4", 1), two, on("t4", 4)], NODE, pool="t4") == 3


def test_a_trial_has_all_its_nodes_or_waits():
    gang = on("spot", num_hosts=2)
    assert fits_now(gang, [], inventory=TWO_POOLS, kept={})
    assert not fits_now(gang, [on("spot")], inventory=TWO_POOLS, kept={})
    assert not fits_now(gang, [on("t4", 4), on("t4", 4)], inventory=TWO_POOLS, kept={}), "three in all"
    assert not fits_now(on("spot", num_hosts=3), [], inventory=TWO_POOLS, kept={})


def test_a_trial_fits_a_node_that_has_what_it_asks_for():
    assert fits(on("t4", 4), NODE, pool="t4")
    assert not fits(on("t4", 5), NODE, pool="t4")
    assert not fits(on("t4", 1), node(cpus=1, devices={"t4": held(4)}), pool="t4")
    assert not fits(on("t4", 1), node(cpus=8), pool="t4")


def test_a_pool_has_room_for_as_many_nodes_as_it_may_have():
    assert fits_now(on("spot"), [on("spot")], inventory=TWO_POOLS, kept={})
    assert not fits_now(on("spot"), [on("spot"), on("spot")], inventory=TWO_POOLS, kept={})


def test_a_pool_that_is_full_holds_up_no_other():
    assert fits_now(on("t4"), [on("spot"), on("spot")], inventory=TWO_POOLS, kept={})


def test_all_pools_together_have_no_more_nodes_than_the_cluster():
    beside = [on("spot"), on("spot"), on("t4", 4)]
    assert not fits_now(on("t4"), beside, inventory=TWO_POOLS, kept={})
    assert fits_now(on("t4"), [on("spot"), on("spot"), on("t4", 3)], inventory=TWO_POOLS, kept={})


def test_provenances_are_kept_apart_on_one_site_only():
    rehearsal = on("spot", provenance="rehearsed")
    assert not fits_now(on("spot"), [rehearsal], inventory=TWO_POOLS, kept={})
    assert fits_now(on("t4"), [rehearsal], inventory=TWO_POOLS, kept={})


def test_a_trial_too_large_for_any_node_never_has_room():
    assert not fits_now(on("t4", 5), [], inventory=TWO_POOLS, kept={})


def test_nodes_that_a_pool_will_need_again_are_kept_from_other_pools():
    """Check that the other pool keeps two of three nodes, although one of its trials runs."""
    beside = [on("spot"), on("t4", 4)]
    assert fits_now(on("spot"), beside, inventory=TWO_POOLS, kept={})
    assert not fits_now(on("spot"), beside, inventory=TWO_POOLS, kept={"t4": 2})
    assert fits_now(on("t4", 4), beside, inventory=TWO_POOLS, kept={"t4": 2})
