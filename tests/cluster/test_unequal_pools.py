"""A trial over pools whose machines differ, on nodes of a real cluster."""

import pytest
from cluster_builders import FAST, SLOW, inventory, pool
from cluster_runs import cluster_context, run
from plan_builders import environment, planned, point, splitting
from static_cluster import static_cluster
from trainer_runs import python_of
from trials import Unwatched

from orchestrator.core.trial_spec import TimingSpec
from orchestrator.execute.on_ray.pool_nodes import labels_of_pool

pytest.importorskip("ray", reason="Ray is not installed")

POOLS = tuple(
    pool(name, device=device, max_nodes=1)
    for name, device in (("fast", FAST), ("slow", SLOW), ("fast-too", FAST))
)
TRAINERS = ("kernel_split", "unequal_ddp")
SMALL = {"filters": (6, 13), "dense_units": 32, "learning_rate": 0.03, "momentum": 0.9}


def placed(*devices, **changes):
    asked = point(
        device=devices[0],
        other_devices=tuple(devices[1:]),
        num_workers=len(devices),
        timing=TimingSpec(steps_per_block=5, min_blocks=6, max_blocks=6),
        steps=100,
        **changes,
    )
    known = {
        "trainers": {asked.trainer: splitting(name=asked.trainer)},
        "environments": {asked.trainer: environment()},
        "start_methods": {asked.trainer: "auto"},
    }
    (found,) = planned(asked, inventory=inventory(*POOLS), **known).placements
    return found


@pytest.fixture
def nodes(relatives, monkeypatch):
    """One of each pool."""
    with static_cluster(POOLS[0], monkeypatch, num_nodes=1) as running:
        running.add_node(num_cpus=2, labels=labels_of_pool(POOLS[1]))
        running.add_node(num_cpus=8, labels=labels_of_pool(POOLS[2]))
        yield running


def test_a_trial_is_shared_out_over_two_pools_and_the_record_shows_what_each_rank_had(nodes, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    devices = {"kernel_split": (FAST, SLOW, FAST), "unequal_ddp": (FAST, SLOW)}
    trials = [
        placed(*devices[item], trainer=item, workload_options=SMALL, global_batch_size=66)
        for item in TRAINERS
    ]
    told = cluster_context(
        tmp_path, pythons=dict.fromkeys(TRAINERS, str(python_of("torch_ddp"))), checkpointing=None
    )
    split, uneven = run(nodes, told, *trials, watcher=Unwatched(), pools=POOLS)
    ranks = [("cpu_fast", "fast", 8), ("cpu_slow", "slow", 2), ("cpu_fast", "fast-too", 8)]
    for record, expected in ((split, ranks), (uneven, ranks[:2])):
        assert (record.failure, record.provenance) == (None, "measured")
        found = record.placement
        count_nodes = [item.rpartition("-")[0] for item in (found.node, *found.other_nodes)]
        assert count_nodes == [pool for _, pool, _ in expected]
        assert [(of_rank.device, of_rank.pool, of_rank.threads) for of_rank in found.of_ranks] == expected
        assert record.result.samples == 100 * record.spec.global_batch_size
    for of_layer in zip(*(rank.kernel_shares for rank in split.result.devices), strict=True):
        assert sum(share.kernels for share in of_layer) == of_layer[0].of_kernels
    shares = [rank.batch_share for rank in uneven.result.devices]
    assert sum(share.samples for share in shares) == shares[0].of_samples == uneven.spec.global_batch_size
