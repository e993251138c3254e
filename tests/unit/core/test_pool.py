"""Pools and clusters that can be, and the line for those that cannot."""

from dataclasses import replace

import pytest
from cluster_builders import SLICE, cluster, pool
from plan_builders import T4, device

from orchestrator.core.errors import ConfigError

V5E = device(
    "tpu_v5e_4", kind="tpu", chips=4, slice_type="v5litepod-4", instances={1: "v5litepod-4"}, cpus={1: 112}
)
POOL = pool(
    device=replace(T4, instances={1: "n1-standard-8+1xT4", 2: "n1-standard-8+2xT4"}, cpus={1: 8, 2: 8}),
    count=2,
    max_nodes=3,
)
CLUSTER = cluster(
    POOL,
    replace(POOL, name="far", zone="us-east1-b"),
    provider="gcp",
    project="my-project",
    zone="us-central1-a",
    registry="host/ours",
    image_tag="1.0",
    boot_images={"cpu": "a", "gpu": "b"},
    max_nodes=4,
)


def test_what_is_rented_follows_from_the_device_and_how_many_of_it():
    assert (POOL.instance, POOL.hosts) == ("n1-standard-8+2xT4", 1)


def test_a_slice_has_the_number_of_hosts_of_its_shape():
    assert replace(POOL, device=V5E, count=1, topology="4x4").hosts == 4


def test_a_launchers_cluster_has_the_pools_of_its_zone_and_an_image_of_each_environment():
    assert CLUSTER.available_pools == (POOL,)
    assert CLUSTER.image("xla") == "host/ours/xla:1.0"


def test_a_pool_without_nodes_is_left_out():
    assert replace(CLUSTER, pools=(POOL, replace(POOL, name="none", max_nodes=0))).available_pools == (POOL,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "T4"}, "pool 'T4': a name has at most 30 lower-case letters"),
        ({"name": "t" * 31}, "a name has at most 30 lower-case letters"),
        ({"count": 3}, "pool t4: count=3 of t4 is not sold; possible: 1, 2"),
        (
            {"device": replace(POOL.device, cpus={1: 8})},
            "conf/device/t4.yaml lacks the vCPUs of n1-standard-8+2xT4; add cpus: {2: NUMBER}",
        ),
        (
            {"device": replace(POOL.device, name="trainium2", kind="accelerator")},
            "pool t4: trainium2 is of kind accelerator, for which no trainer and no resource of Ray is known",
        ),
        ({"min_nodes": -1}, "pool t4: min_nodes=-1 and max_nodes=3 must be 0 or more"),
        ({"min_nodes": 4}, "pool t4: min_nodes=4 and max_nodes=3 must be 0 or more, and the first no larger"),
        ({"zone": "here"}, "pool t4: zone='here' is not a zone; write it like us-central1-a"),
        ({"provisioning": "cheap"}, "unknown pool t4: provisioning 'cheap'; known: on_demand, spot"),
        (
            {"environment": "jax"},
            "unknown pool t4: environment 'jax'; known: any, core, tensorflow,",
        ),
        (
            {"topology": "2x2"},
            "topology '2x2' does not exist for t4; possible: none, because it is not a TPU",
        ),
    ],
)
def test_a_pool_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ConfigError) as told:
        replace(POOL, **changes)
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cluster_name": "Mine"}, "pools.cluster_name 'Mine': a name has"),
        ({"project": ""}, "pools.project='' is not a project id; give one"),
        ({"registry": '"$(touch X)/y"'}, "is not a registry and folder of images; write it like"),
        ({"registry": "docker.pkg.dev/p/f;id"}, "is not a registry and folder of images; write it like"),
        ({"image_tag": "$(id)"}, "pools.image_tag='$(id)' is not a tag of an image; write it like 0.1.0"),
        ({"service_account": "nope"}, "pools.service_account='nope' is not an account; write it like NAME@"),
        ({"service_account": "$(id)@p.iam.gserviceaccount.com"}, "is not an account; write it like NAME@"),
        ({"head": V5E}, "pools.head='tpu_v5e_4' must be a device of the kind cpu, with an instance"),
        ({"boot_images": {}}, "pools.boot_images lacks cpu, gpu; name an image for each"),
        ({"idle_seconds": 0}, "pools.idle_seconds=0 must be above 0"),
        (
            {"pools": (replace(POOL, min_nodes=3), replace(POOL, name="far", min_nodes=2))},
            "pools.max_nodes=4 is less than the 5 that its pools have at least",
        ),
        (
            {"pools": (replace(POOL, device=V5E, count=1, topology="4x4"),)},
            "pool t4: a slice of 4 hosts is nothing that Ray's launcher scales; pools=gke can have it",
        ),
        (
            {"pools": (replace(POOL, device=V5E, count=1, topology="4x4"),), "provider": "gke"},
            "pools.max_nodes=4 is less than the 12 that its pools have at most",
        ),
        ({"provider": "gke"}, "pools.max_nodes=4 is less than the 6 that its pools have at most"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ConfigError) as told:
        replace(CLUSTER, **changes)
    assert message in str(told.value)


def test_a_tpu_is_one_host_unless_a_shape_is_asked_for():
    assert replace(POOL, device=SLICE, count=1).hosts == 1
