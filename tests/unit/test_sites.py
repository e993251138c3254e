"""Which pool a trial gets, what it holds there, and the line for what no pool has."""

from dataclasses import replace

import pytest
from cluster_values import CPU, SLICE, T4S, inventory, pool
from plan_values import planned, point, tensorflow_like, torch_like

from orchestrator.core.errors import PlacementError
from orchestrator.core.placement import Skipped
from orchestrator.plan.sites import site_of

IMAGES = {"cpu": "an image", "gpu": "another"}
POOLS = (
    pool("cpu", device=CPU, environment="any"),
    pool("t4"),
    pool("t4-by-four", count=4),
    pool("t4-tensorflow", environment="tensorflow", provisioning="spot"),
    pool("v3", device=SLICE, environment="any"),
)


def chosen(asked, *, trainer=None, pools=POOLS) -> str | None:
    site = site_of(asked, trainer or torch_like(), inventory=inventory(*pools))
    return site and site.node.name


def placed(asked, **changes):
    (placement,) = planned(asked, inventory=inventory(*POOLS, **changes)).placements
    return placement


def test_the_first_pool_with_the_device_and_the_trainers_environment_is_chosen():
    assert chosen(point(device=T4S)) == "t4"
    assert chosen(point(device=T4S), trainer=tensorflow_like()) == "t4-tensorflow"
    assert chosen(point(device=CPU)) == "cpu"


def test_the_workers_of_a_trial_have_one_node():
    assert chosen(point(device=T4S, num_workers=2)) == "t4-by-four"
    assert chosen(point(device=T4S, num_workers=8)) is None


def test_an_image_that_has_all_environments_is_good_for_any_trainer():
    assert chosen(point(device=SLICE, precision="bf16"), trainer=tensorflow_like()) == "v3"


def test_a_host_of_a_larger_slice_is_no_device_of_its_own():
    v5e = replace(SLICE, name="tpu_v5e_4", slice_type="v5litepod-4", instances={1: "v5litepod-4"})
    asked = point(device=v5e, precision="bf16")
    whole = pool("v5e", device=v5e, environment="any")
    assert chosen(asked, trainer=tensorflow_like(), pools=[replace(whole, topology="4x4")]) is None
    assert chosen(asked, trainer=tensorflow_like(), pools=[whole]) == "v5e"


def test_of_a_launchers_cluster_the_pools_in_its_zone_count():
    far = pool("far", zone="us-east1-b")
    in_zone = {"provider": "gcp", "zone": "us-central1-a", "project": "my-project", "boot_images": IMAGES}
    assert list(inventory(far, pool("t4"), **in_zone).sites) == ["t4"]
    assert list(inventory(far, pool("t4")).sites) == ["far", "t4"]


def test_a_pool_that_may_have_no_node_is_none():
    assert chosen(point(device=T4S), pools=[pool(max_nodes=0)]) is None


def test_a_trial_holds_the_share_of_a_node_that_its_devices_are_of_those_there():
    found = placed(point(device=T4S, num_workers=2))
    assert (found.provenance, found.pool, found.node) == ("measured", "t4-by-four", "t4-by-four")
    assert (found.cpus, found.devices, found.chips) == (4, 2, 2)


def test_a_trial_on_cpus_is_of_the_machine_that_its_pool_rents():
    found = placed(point(device=CPU))
    assert (found.trial.host_cpu, found.cpus, found.threads) == ("n2-standard-8 x8", 8, 8)


def test_on_a_fake_node_a_trial_is_rehearsed_and_holds_what_it_would_hold_on_a_real_one():
    found = placed(point(device=SLICE, trainer="tensorflow", precision="bf16"), is_fake=True)
    assert (found.provenance, found.pool, found.kind) == ("rehearsed", "v3", "cpu")
    assert (found.cpus, found.devices, found.chips, found.threads) == (1, 1, 4, 1)
    assert found.substitutions[0] == "a fake node for tpu_v3_8"


def test_a_trial_on_the_processor_of_a_fake_node_is_of_this_host_and_rehearsed():
    found = placed(point(device=CPU), is_fake=True)
    assert (found.provenance, found.trial.host_cpu) == ("rehearsed", "Some CPU x4")
    assert found.substitutions == ("a fake node for cpu",)


def test_what_no_pool_has_is_skipped_with_the_pools_of_that_device():
    (skipped,) = planned(point(device=T4S, num_workers=8), inventory=inventory(*POOLS)).skipped
    assert skipped.reason == (
        "no pool has 8 x t4 on one node for torch_ddp (environment torch); pools: t4 (1 a node, torch), "
        "t4-by-four (4 a node, torch), t4-tensorflow (1 a node, tensorflow)"
    )


def test_a_device_of_no_pool_is_skipped_with_all_pools():
    (skipped,) = planned(point(device=CPU), inventory=inventory(pool("t4"), pool("l4"))).skipped
    assert isinstance(skipped, Skipped)
    assert skipped.reason == (
        "no pool has 1 x cpu on one node for torch_ddp (environment torch); pools: t4, l4"
    )


def test_what_no_pool_has_can_refuse_the_whole_command():
    with pytest.raises(PlacementError, match=r"no pool has 1 x cpu .*; cluster\.missing_device may be"):
        planned(point(device=CPU), inventory=inventory(pool("t4")), missing_device="fail")
