"""A trial over devices that are not alike: which part of it each rank has, and that each runs on its own."""

from dataclasses import replace

import pytest
from builders import record, train_result
from cluster_builders import FAST, SLOW, T4S, inventory, pool
from mixed_device_builders import BOTH, CPU, FAST_POOL, POOLS, SLOW_POOL, placed, skipped, unequal
from plan_builders import T4, TPU, held, here, planned, splitting

from orchestrator.analysis.tables.plan import plan_frame, plan_table
from orchestrator.core import codec
from orchestrator.core.errors import PlacementError
from orchestrator.core.estimate import Refusal
from orchestrator.core.placement import Placement, RankGroup
from orchestrator.core.result import DeviceFacts
from orchestrator.execute.scheduling.capacity import fits
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.estimator import build_bases, build_estimator
from orchestrator.extensions.predictions.step_time.own_records import step_measurements
from orchestrator.plan.slots import find_slots
from orchestrator.train.validation import gates


def test_each_part_is_on_a_node_of_the_pool_with_its_device_in_the_order_of_ranks():
    assert (BOTH.provenance, BOTH.num_hosts, BOTH.num_processes, BOTH.replicas) == ("measured", 2, 2, 2)
    assert BOTH.unequal == (
        RankGroup(
            device="cpu_fast", kind="cpu", num_processes=1, threads=8, cpus=8, devices=0, chips=0, pool="fast"
        ),
        RankGroup(
            device="cpu_slow",
            kind="cpu",
            num_processes=1,
            threads=2,
            cpus=2,
            devices=0,
            chips=0,
            host=1,
            pool="slow",
        ),
    )
    assert (BOTH.pools, BOTH.trial.num_hosts) == (("fast", "slow"), 2)
    assert BOTH.trial.host_cpu == "c3-standard-8 x8 + e2-standard-2 x2"
    other_way = placed(unequal(SLOW, FAST), inventory=POOLS)
    assert ([group.pool for group in other_way.unequal], other_way.node) == (["slow", "fast"], "slow")
    assert other_way.trial_id != BOTH.trial_id


def test_a_placement_comes_back_from_its_record():
    assert codec.from_json(Placement, codec.to_json(BOTH)) == BOTH


def test_workers_that_follow_each_other_share_a_node_and_others_have_one_each():
    pools = inventory(pool("fast", device=FAST), pool("t4", count=4), max_nodes=6)
    found = placed(unequal(T4S, T4S, FAST, T4S), inventory=pools)
    assert [(group.pool, group.host, group.num_processes, group.devices) for group in found.unequal] == [
        ("t4", 0, 2, 2),
        ("fast", 1, 1, 0),
        ("t4", 2, 1, 1),
    ]
    assert [part.device for part in found.of_ranks] == ["t4", "t4", "cpu_fast", "t4"]


def test_on_one_host_a_core_is_left_to_each_accelerator_and_the_processor_has_the_rest():
    two = here(cpus=8, devices={"t4": held(2)})
    found = placed(unequal(CPU, T4, T4), inventory=two)
    assert [(group.kind, group.cpus, group.threads, group.devices) for group in found.unequal] == [
        ("cpu", 6, 6, 0),
        ("gpu", 2, 1, 2),
    ]
    assert (found.provenance, found.num_hosts, found.trial.host_cpu) == ("measured", 1, "Some CPU x8")
    assert sum(group.cpus for group in placed(unequal(CPU, T4, T4, CPU), inventory=two).unequal) == 8


@pytest.mark.parametrize(("cpus", "shares"), [(8, [2, 3, 3]), (3, [1, 1, 1]), (2, [0, 1, 1]), (1, [0, 0, 1])])
def test_a_mix_of_all_accelerators_of_a_host_has_all_of_its_cores_and_fits(cpus, shares):
    host = here(cpus=cpus, devices={"t4": held(2), "v100": held(1)})
    found = placed(unequal(T4, replace(T4, name="v100"), T4), inventory=host)
    assert ([group.cpus for group in found.unequal], found.trial.host_cpu) == (shares, None)
    assert [group.threads for group in found.unequal] == [max(1, share) for share in shares]
    assert fits(found, host.host, pool=None)


def test_more_processes_than_cores_are_shown():
    found = placed(unequal(CPU, T4, T4), inventory=here(cpus=2, devices={"t4": held(2)}))
    assert "3 worker processes share 2 cores" in found.warnings
    assert "kernel_split was never run on a GPU by those who wrote it" in found.warnings
    assert sum(group.cpus for group in found.unequal) == 2


def test_what_one_host_cannot_be_is_rehearsed_or_skipped_with_a_reason():
    found = placed(unequal(FAST, SLOW))
    assert (found.provenance, found.unequal, found.num_processes) == ("rehearsed", (), 2)
    assert found.substitutions == ("the cpu of one host for cpu_fast and cpu_slow",)
    assert skipped(unequal(FAST, SLOW), missing_device="skip") == (
        "cpu_fast+cpu_slow is not here: here has one kind of processor, not cpu_fast and cpu_slow"
    )
    assert placed(unequal(CPU, T4)).substitutions == ("cpu for t4",)
    assert skipped(unequal(CPU, T4), missing_device="skip") == "cpu+t4 is not here: here has no accelerator"
    with pytest.raises(PlacementError, match=r"^cpu\+t4 is not here: .*; cluster.missing_device may be"):
        planned(unequal(CPU, T4), missing_device="fail")


def test_a_mix_of_gpus_is_rehearsed_with_what_stands_in_between_them():
    told = placed(unequal(T4, replace(T4, name="v100"))).substitutions
    assert told == ("cpu for t4", "cpu for v100", "gloo for nccl")


def test_on_fake_nodes_each_part_is_rehearsed_and_holds_what_it_would_hold():
    found = placed(unequal(FAST, T4S, T4S), inventory=inventory(FAST_POOL, pool("t4", count=4), is_fake=True))
    assert (found.provenance, found.num_processes) == ("rehearsed", 3)
    assert found.substitutions == ("a fake node for cpu_fast", "a fake node for t4")
    assert [(group.kind, group.device, group.threads, group.devices) for group in found.unequal] == [
        ("cpu", "cpu_fast", 1, 0),
        ("cpu", "t4", 1, 2),
    ]


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        ((FAST, T4S), "no pool has 1 x t4 for kernel_split (environment torch); pools: fast, slow"),
        (
            (FAST, SLOW, FAST),
            "cpu_fast+cpu_slow+cpu_fast needs more nodes with cpu_fast than its pools have: fast 1 at most",
        ),
    ],
)
def test_what_the_pools_do_not_have_is_skipped_with_a_reason(devices, reason):
    assert skipped(unequal(*devices), inventory=POOLS) == reason


OTHER_FAST = pool("fast-too", device=FAST, max_nodes=1)


def test_parts_of_one_device_are_in_several_pools_where_none_has_room_for_all():
    found = placed(unequal(FAST, SLOW, FAST), inventory=inventory(FAST_POOL, SLOW_POOL, OTHER_FAST))
    assert [group.pool for group in found.unequal] == ["fast", "slow", "fast-too"]
    assert [group.host for group in found.unequal] == [0, 1, 2]
    assert (found.pools, found.num_hosts) == (("fast", "slow", "fast-too"), 3)
    single = [pool(name, device=T4S, max_nodes=1) for name in ("a", "b", "c")]
    found = placed(unequal(T4S, T4S, FAST, T4S), inventory=inventory(FAST_POOL, *single))
    assert [group.pool for group in found.unequal] == ["a", "b", "fast", "c"]


def test_workers_that_fit_into_only_one_pool_are_placed_first():
    pools = inventory(
        pool("wide", device=T4S, count=4, max_nodes=1), pool("narrow", device=T4S, max_nodes=1), FAST_POOL
    )
    found = placed(unequal(T4S, FAST, *[T4S] * 4), inventory=pools)
    assert [(group.pool, group.num_processes) for group in found.unequal] == [
        ("narrow", 1),
        ("fast", 1),
        ("wide", 4),
    ]


def test_pools_that_have_too_few_nodes_together_are_named():
    pools = inventory(FAST_POOL, SLOW_POOL, OTHER_FAST)
    assert skipped(unequal(FAST, SLOW, FAST, SLOW), inventory=pools) == (
        "cpu_fast+cpu_slow+cpu_fast+cpu_slow needs more nodes with cpu_slow than its pools have: "
        "slow 1 at most"
    )
    wide = inventory(FAST_POOL, SLOW_POOL, OTHER_FAST, pool("t4", count=4))
    assert skipped(unequal(FAST, SLOW, FAST, T4S, FAST), inventory=wide) == (
        "cpu_fast+cpu_slow+cpu_fast+t4+cpu_fast needs more nodes with cpu_fast than its pools have: "
        "fast 1, fast-too 1 at most"
    )


def test_a_cluster_of_too_few_nodes_and_a_trainer_of_one_host_are_shown():
    few = inventory(FAST_POOL, SLOW_POOL, max_nodes=1)
    assert skipped(unequal(FAST, SLOW), inventory=few) == (
        "cpu_fast+cpu_slow needs 2 nodes, and the cluster has 1 at most"
    )
    alone = {"kernel_split": splitting(spans_hosts=())}
    assert skipped(unequal(FAST, SLOW), inventory=POOLS, trainers=alone) == (
        "cpu_fast+cpu_slow needs several nodes, and kernel_split has its CPUs on one"
    )


def test_a_slice_of_several_hosts_is_no_part_of_a_mix():
    v5e = replace(
        TPU, name="tpu_v5e_4", slice_type="v5litepod-4", instances={1: "v5litepod-4"}, cpus={1: 112}
    )
    pools = inventory(FAST_POOL, pool("v5e", device=v5e, topology="4x4", environment="any"))
    assert (
        find_slots(unequal(FAST, v5e, num_hosts=None, global_batch_size=90), splitting(), inventory=pools)
        == ()
    )


def test_a_trainer_that_shares_out_evenly_takes_none():
    assert skipped(unequal(FAST, SLOW, trainer="torch_ddp"), inventory=POOLS) == (
        "torch_ddp gives every worker equal work, so that cpu_fast+cpu_slow would wait for the slowest "
        "device; choose a trainer that divides work by speed, or equal devices"
    )


def test_every_device_of_a_mix_has_to_go_with_the_trainer_and_the_precision():
    assert skipped(unequal(T4, CPU, precision="fp16")).startswith("fp16 on a CPU is")
    assert skipped(unequal(CPU, T4, precision="bf16")).startswith("t4 has no bf16 arithmetic")
    assert skipped(unequal(CPU, TPU, global_batch_size=90)).startswith("kernel_split does not train on a TPU")


def test_a_rehearsal_in_other_pools_is_not_reused_for_these():
    pools = inventory(FAST_POOL, SLOW_POOL, is_fake=True)
    before = placed(unequal(FAST, SLOW), inventory=pools)
    made = record(placement=before)
    assert planned(unequal(FAST, SLOW), inventory=pools, records=[made]).cached
    moved = replace(made, placement=replace(before, unequal=before.unequal[::-1]))
    assert planned(unequal(FAST, SLOW), inventory=pools, records=[moved]).placements


def facts(kind, name):
    return DeviceFacts(kind=kind, name=name, count=1, precision="fp32")


def judged(*devices):
    mixed = placed(unequal(CPU, T4), inventory=here(devices={"t4": held(1)}))
    ranks = {
        "block_seconds": train_result().block_seconds * 2,
        "reading_seconds": (),
        "samples": 120 * 60,
        "devices": devices,
    }
    return gates.find_failure(mixed, train_result(**ranks), driver_names={"t4": ("Tesla T4",), "cpu": ()})


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ((facts("cpu", "Some CPU"), facts("gpu", "Tesla T4")), None),
        (
            (facts("cpu", "Some CPU"), facts("gpu", "NVIDIA L4")),
            "trial's part on t4 asks for t4, which its driver calls 'Tesla T4'; it ran on 'NVIDIA L4'",
        ),
        (
            (facts("gpu", "Tesla T4"), facts("cpu", "Some CPU")),
            "trial's part on cpu asks for cpu, which its driver calls 'Some CPU'; it ran on 'Tesla T4'; "
            "trial's part on cpu asks for a cpu; it ran on a gpu",
        ),
    ],
)
def test_each_rank_has_to_run_on_its_own_device(devices, message):
    failure = judged(*devices)
    assert (failure and (failure.kind, failure.message)) == (message and ("device_mismatch", message))


def test_a_plan_names_all_devices_and_where_each_part_is():
    told = planned(unequal(FAST, SLOW), inventory=POOLS)
    (row,) = plan_table(told).rows
    assert row[1].startswith("mnist_cnn cpu_fast+cpu_slow kernel_split fp32 2 workers 2 hosts")
    assert row[2] == "fast + slow, 1 x 8 + 1 x 2 threads, fork"
    assert list(plan_frame(told)["device"]) == ["cpu_fast+cpu_slow"]


def test_a_mix_is_not_predicted_and_is_no_measurement_of_its_first_device():
    there = here(devices={"t4": held(1)})
    made = record(placement=placed(unequal(T4, CPU), inventory=there))
    known = {value.name: value for value in (T4, CPU)}
    assert step_measurements([made], devices=known) == ()
    models = default_models()
    estimate = build_estimator(build_bases(known, models), (), models)
    assert estimate(made.spec) == Refusal(
        reason="devices that are not alike are not modelled", to_measure="this point"
    )
