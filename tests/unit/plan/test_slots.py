"""Pool of a trial, its share there, and the line where no pool fits."""

from dataclasses import replace

import pytest
from cluster_builders import CPU, SLICE, T4S, inventory, pool
from plan_builders import environment, planned, point, tensorflow_like, torch_like

from orchestrator.core.errors import PlacementError
from orchestrator.core.placement import Skipped
from orchestrator.plan.slots import find_slots
from orchestrator.train.registry import trainer_info

IMAGES = {"cpu": "an image", "gpu": "another"}
POOLS = (
    pool("cpu", device=CPU, environment="any"),
    pool("t4"),
    pool("t4-by-four", count=4),
    pool("t4-tensorflow", environment="tensorflow", provisioning="spot"),
    pool("v3", device=SLICE, environment="any"),
)


def chosen(asked, *, trainer=None, pools=POOLS) -> str | None:
    slots = find_slots(asked, trainer or torch_like(), inventory=inventory(*pools))
    return slots[0].node_group.node.name if slots else None


def placed(asked, **changes):
    (placement,) = planned(asked, inventory=inventory(*POOLS, **changes)).placements
    return placement


def test_the_first_pool_with_the_device_and_the_trainers_environment_is_chosen():
    assert chosen(point(device=T4S)) == "t4"
    assert chosen(point(device=T4S), trainer=tensorflow_like()) == "t4-tensorflow"
    assert chosen(point(device=CPU)) == "cpu"


def test_the_workers_of_a_trial_have_as_few_nodes_as_can_be():
    assert chosen(point(device=T4S, num_workers=2)) == "t4-by-four"
    assert placed(point(device=T4S, num_workers=8)).num_hosts == 2
    assert chosen(point(device=T4S, num_workers=12, global_batch_size=60)) is None, "two nodes at most"


def test_a_trainer_of_one_host_gets_one():
    alone = torch_like(spans_hosts=())
    assert chosen(point(device=T4S, num_workers=4), trainer=alone) == "t4-by-four"
    assert chosen(point(device=T4S, num_workers=8), trainer=alone) is None


def test_workers_can_be_spread_over_more_nodes_than_they_need():
    spread = point(device=T4S, num_workers=2, num_hosts=2)
    assert (chosen(spread), placed(spread).devices) == ("t4", 1)
    assert chosen(point(device=T4S, num_workers=6, num_hosts=3, global_batch_size=60)) is None


def test_workers_on_cpus_share_one_node_unless_they_are_spread():
    together, apart = (point(device=CPU, num_workers=4, num_hosts=hosts) for hosts in (None, 2))
    assert (placed(together).num_hosts, placed(together).threads) == (1, 2)
    assert (placed(apart).num_hosts, placed(apart).num_processes, placed(apart).threads) == (2, 4, 4)


def test_a_trial_on_more_hosts_is_another_trial_and_one_on_one_host_what_it_always_was():
    together, apart = (placed(point(device=CPU, num_workers=4, num_hosts=hosts)) for hosts in (1, 2))
    assert together.trial_id != apart.trial_id
    assert together.trial_id == placed(point(device=CPU, num_workers=4)).trial_id


def test_a_trainer_shows_what_is_another_thing_over_several_hosts():
    told = {"torch_ddp": torch_like(over_hosts={"cpu": "gloo connects the hosts"})}
    asked = [point(device=CPU, num_workers=4, num_hosts=hosts) for hosts in (1, 2)]
    alone, apart = planned(*asked, inventory=inventory(*POOLS), trainers=told).placements
    assert (alone.warnings, apart.warnings) == ((), ("gloo connects the hosts",))


def test_a_rehearsal_over_several_hosts_shows_what_stands_in_for_their_collectives():
    v4 = replace(SLICE, name="tpu_v4_8", replicas=4, slice_type="v4-8", instances={1: "v4-8"})
    slices = inventory(pool("v4", device=v4, environment="any", topology="2x2x2"), is_fake=True)
    asked = point(device=v4, trainer="torch_xla", precision="bf16", num_workers=2)
    (found,) = planned(
        asked,
        inventory=slices,
        trainers={"torch_xla": trainer_info("torch_xla")},
        environments={"torch_xla": environment()},
        start_methods={"torch_xla": "auto"},
    ).placements
    assert (found.num_hosts, found.num_processes, found.replicas) == (2, 2, 2)
    assert found.substitutions == (
        "a fake node for tpu_v4_8",
        "2 replicas for 8",
        "PJRT's CPU devices for TPU chips",
        "gloo for the collectives between hosts",
    )


def test_this_host_is_one():
    asked = point(num_workers=2, num_hosts=2)
    found = planned(asked, missing_device="rehearse").placements[0]
    assert (found.provenance, found.num_hosts) == ("rehearsed", 1)
    assert found.substitutions == ("cpu for cpu", "1 host for 2")
    (skipped,) = planned(asked, missing_device="skip").skipped
    assert skipped.reason == "2 x cpu with num_hosts=2 is not here: here has no accelerator"


def test_an_image_that_has_all_environments_is_good_for_any_trainer():
    assert chosen(point(device=SLICE, precision="bf16"), trainer=tensorflow_like()) == "v3"


def test_a_host_of_a_larger_slice_is_no_device_of_its_own():
    v5e = replace(SLICE, name="tpu_v5e_4", slice_type="v5litepod-4", instances={1: "v5litepod-4"})
    asked = point(device=v5e, precision="bf16")
    whole = pool("v5e", device=v5e, environment="any")
    assert chosen(asked, trainer=tensorflow_like(), pools=[replace(whole, topology="4x4")]) is None
    assert chosen(asked, trainer=tensorflow_like(), pools=[whole]) == "v5e"


def test_the_hosts_of_a_slice_are_taken_all_together():
    v5e = replace(SLICE, name="tpu_v5e_4", replicas=4, slice_type="v5litepod-4", instances={1: "v5litepod-4"})
    slices = [pool("v5e", device=v5e, environment="any", topology="4x4")]
    spanning = tensorflow_like(spans_hosts=("tpu",))
    for num_workers, name in ((1, None), (2, None), (4, "v5e"), (8, None)):
        asked = point(device=v5e, precision="bf16", num_workers=num_workers)
        assert chosen(asked, trainer=spanning, pools=slices) == name


def test_on_fake_nodes_a_trial_of_several_hosts_has_as_many_and_a_process_on_each():
    found = placed(point(device=T4S, num_workers=8), is_fake=True)
    assert (found.provenance, found.num_hosts, found.devices, found.cpus) == ("rehearsed", 2, 4, 4)
    assert (found.replicas, found.num_processes) == (2, 2)
    assert found.substitutions == ("a fake node for t4", "2 replicas for 8", "gloo for nccl")


def test_a_trainer_that_spans_no_cpus_is_rehearsed_on_one_host():
    spanning = torch_like(name="torch_ddp", spans_hosts=("gpu",))
    asked = point(device=T4S, num_workers=8)
    pools = inventory(*POOLS, is_fake=True)
    (found,) = planned(asked, inventory=pools, trainers={"torch_ddp": spanning}).placements
    assert (found.num_hosts, found.trial.num_hosts) == (1, 2)
    assert "1 host for 2" in found.substitutions


def test_only_the_pools_in_the_zone_of_a_launchers_cluster_count():
    far = pool("far", zone="us-east1-b")
    in_zone = {
        "provider": "gcp",
        "zone": "us-central1-a",
        "project": "my-project",
        "registry": "us-central1-docker.pkg.dev/my-project/images",
        "image_tag": "0.1.0",
        "boot_images": IMAGES,
    }
    assert list(inventory(far, pool("t4"), **in_zone).node_groups) == ["t4"]
    assert list(inventory(far, pool("t4")).node_groups) == ["far", "t4"]


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
    asked = point(device=T4S, num_workers=12, global_batch_size=60)
    (skipped,) = planned(asked, inventory=inventory(*POOLS)).skipped
    assert skipped.reason == (
        "no pool has 12 x t4 for torch_ddp (environment torch); pools: t4 (1 a node, at most 2, torch), "
        "t4-by-four (4 a node, at most 2, torch), t4-tensorflow (1 a node, at most 2, tensorflow)"
    )


def test_a_trainer_that_cannot_span_hosts_is_skipped_for_lack_of_one_large_host():
    alone = {"torch_ddp": torch_like(spans_hosts=())}
    asked = point(device=T4S, num_workers=8)
    (skipped,) = planned(asked, inventory=inventory(*POOLS), trainers=alone).skipped
    assert " on one host for torch_ddp (environment torch); pools: t4" in skipped.reason


def test_tensorflow_shows_why_it_stays_on_one_host_of_a_slice_and_which_environment_it_needs_there():
    v4 = replace(SLICE, name="tpu_v4_8", replicas=4, slice_type="v4-8", instances={1: "v4-8"})
    slices = pool("v4", device=v4, environment="tensorflow_tpu", topology="2x2x2")
    asked = point(device=v4, trainer="tensorflow", precision="bf16", num_workers=2)
    known = {"tensorflow": trainer_info("tensorflow")}
    (skipped,) = planned(asked, inventory=inventory(slices), trainers=known).skipped
    assert skipped.reason == (
        "no pool has 2 x tpu_v4_8 on one host for tensorflow (environment tensorflow_tpu): TPUStrategy "
        "drives several hosts from one process, through a TensorFlow server on each, and a trial starts no "
        "such servers; pools: v4 (1 a node, at most 4, tensorflow_tpu)"
    )
    alone = replace(slices, topology=None)
    one = point(device=v4, trainer="tensorflow", precision="bf16")
    assert chosen(one, trainer=known["tensorflow"], pools=[alone]) == "v4"
    assert chosen(one, trainer=known["tensorflow"], pools=[replace(alone, environment="tensorflow")]) is None


def test_a_device_of_no_pool_is_skipped_with_all_pools():
    (skipped,) = planned(point(device=CPU), inventory=inventory(pool("t4"), pool("l4"))).skipped
    assert isinstance(skipped, Skipped)
    assert skipped.reason == ("no pool has 1 x cpu for torch_ddp (environment torch); pools: t4, l4")


def test_what_no_pool_has_can_refuse_the_whole_command():
    with pytest.raises(PlacementError, match=r"no pool has 1 x cpu .*; cluster\.missing_device may be"):
        planned(point(device=CPU), inventory=inventory(pool("t4")), missing_device="fail")
