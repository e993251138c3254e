"""Errors sown into the file of Ray's launcher, each found in its place; the healthy file has none."""

from copy import deepcopy
from dataclasses import replace

import pytest
from launcher_file_builders import config, put, rendered
from shipped_devices import shipped_catalogue

from orchestrator.extensions.cluster_files.checks.ray_launcher import check_launcher

T4 = "available_node_types/t4/node_config"
SPOT = "available_node_types/t4-spot/node_config"
L4 = "available_node_types/l4/node_config"
TPU = "available_node_types/tpu-v3-8/node_config"
V5P = "available_node_types/tpu-v5p-8-spot/node_config"
HEAD = "available_node_types/head"
K80 = [{"acceleratorType": "nvidia-tesla-k80", "acceleratorCount": 1}]
THREE = [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 3}]
A_TPU = {"acceleratorType": "v3-8", "runtimeVersion": "tpu-ubuntu2204-base"}

SOWN = [
    ("docker/image", "$(touch X)/core:1", "docker.image: '$(touch X)/core:1' is not the name of an image"),
    ("docker/container_name", "ray;id", "docker.container_name: 'ray;id' must be letters, digits"),
    ("auth/ssh_user", "$(id)", "auth.ssh_user: '$(id)' must be letters, digits"),
    (
        "available_node_types/t4/docker/worker_image",
        "ours/torch:$(id)",
        "t4.docker.worker_image: 'ours/torch:$(id)' is not the name of an image",
    ),
    (
        f"{T4}/serviceAccounts/0/email",
        "nope",
        "t4.node_config.serviceAccounts.0.email: 'nope' is not an account; write it like NAME@PROJECT.iam",
    ),
    ("cluster_name", "Orchestrator_1", "cluster_name: 'Orchestrator_1' must be a-z, 0-9 and hyphens"),
    (
        "available_node_types/T4_spot",
        {"node_config": {}},
        "available_node_types.T4_spot: 'T4_spot' must be a-z",
    ),
    ("provider/type", "aws", "provider.type: 'aws' is not checked; possible: gcp"),
    ("provider/project_id", None, "provider.project_id: is missing"),
    ("provider/project_id", "My Project", "provider.project_id: 'My Project' is not a project id"),
    ("provider/region", "us-moon1", "provider.region: 'us-moon1' has no prices; known: asia-east1, "),
    ("provider/availability_zone", "us-east1-b", "'us-east1-b' is not in the region 'us-central1'"),
    (
        "available_node_types/t4/labels/ray.io~availability-zone",
        "us-central1-b",
        "t4.labels.ray.io/availability-zone: is 'us-central1-b' and must be 'us-central1-a'",
    ),
    (
        f"{T4}/disks/0/initializeParams/diskType",
        "zones/us-central1-f/diskTypes/pd-balanced",
        "available_node_types.t4.node_config: us-central1-f is not the cluster's zone us-central1-a",
    ),
    ("head_node_type", "hed", "head_node_type: 'hed' is not a node type; known: a100-40, "),
    (f"{HEAD}/node_config", A_TPU, "available_node_types.head.node_config: a TPU cannot be the head"),
    (
        f"{HEAD}/node_config/scheduling",
        {"provisioningModel": "SPOT"},
        "a preempted head ends the whole cluster",
    ),
    ("max_workers", None, "max_workers: must be a whole number, not None: nothing else limits cost"),
    ("available_node_types/t4/min_workers", 9, "max_workers: 8 is less than the sum 9 of all min_workers"),
    ("available_node_types/t4-spot/max_workers", -1, "t4-spot.max_workers: must be a whole number from 0 on"),
    ("available_node_types/t4/min_workers", -2, "t4.min_workers: must be a whole number from 0 on, not -2"),
    ("available_node_types/t4/min_workers", 2, "t4.max_workers: 1 is less than min_workers=2"),
    ("idle_timeout_minutes", 0, "idle_timeout_minutes: must be above 0, not 0: idle nodes are billed"),
    ("head_start_ray_commands", ["RAY_AUTH_MODE=token ray start"], "has no --autoscaling-config="),
    ("head_start_ray_commands", ["ray start --head"], "does not set RAY_enable_autoscaler_v2=1"),
    (
        "head_start_ray_commands",
        ["ray start --head"],
        "head_start_ray_commands: does not set RAY_AUTH_MODE=token",
    ),
    ("worker_start_ray_commands", [], "worker_start_ray_commands: does not set RAY_AUTH_MODE=token"),
    ("file_mounts", None, "file_mounts: brings no token to the nodes"),
    (
        "head_start_ray_commands/1",
        "ray start --head --dashboard-host=0.0.0.0",
        "head_start_ray_commands.1: --dashboard-host=0.0.0.0 opens the dashboard to the network",
    ),
    ("docker/run_options", ["-p 8265:8265"], "docker.run_options.0: '-p 8265:8265' publishes a port"),
    (f"{T4}/tags", {"items": ["http-server"]}, "t4.node_config.tags: http-server opens a port to the world"),
    ("setup_commands", ["export RAY_AUTH_TOKEN=abc"], "setup_commands.0: holds a secret"),
    ("setup_commands", ["git clone https://me:hunter2@host/x"], "setup_commands.0: holds a secret"),
    ("docker/image", "rayproject/ray", "docker.image: 'rayproject/ray' is not pinned"),
    ("docker/image", "localhost:5000/ray", "docker.image: 'localhost:5000/ray' is not pinned"),
    ("docker/image", None, "docker.image: is missing"),
    (
        "available_node_types/t4/docker/worker_image",
        "ours/torch:latest",
        "available_node_types.t4.docker.worker_image: 'ours/torch:latest' is not pinned",
    ),
    (f"{T4}/machineType", "n1-standard-9", "machineType: unknown machine type 'n1-standard-9'; known: a2-"),
    (f"{T4}/machineType", "v3-8", "machineType: unknown machine type 'v3-8'; known: a2-"),
    (f"{T4}/machineType", None, "t4.node_config.machineType: is missing"),
    (
        f"{T4}/guestAccelerators",
        THREE,
        "n1-standard-8 is not sold with 3 x nvidia-tesla-t4; possible: 1 x nvi",
    ),
    (f"{T4}/guestAccelerators", K80, "n1-standard-8 is not sold with 1 x nvidia-tesla-k80"),
    (f"{T4}/guestAccelerators", None, "n1-standard-8 is not sold with no accelerator"),
    (f"{T4}/guestAccelerators", [*K80, *THREE], "guestAccelerators: has several kinds"),
    (f"{L4}/guestAccelerators", K80, "possible: none, for what it has is built in"),
    (f"{T4}/scheduling", None, "t4.node_config.scheduling.onHostMaintenance: must be TERMINATE"),
    (f"{SPOT}/scheduling/instanceTerminationAction", "STOP", "instanceTerminationAction: must be DELETE"),
    (f"{T4}/disks/0/autoDelete", False, "t4.node_config.disks.0.autoDelete: must be true"),
    (f"{T4}/serviceAccounts", None, "t4.node_config.serviceAccounts: is missing"),
    (f"{T4}", "n1", "available_node_types.t4.node_config: must be a mapping"),
    ("available_node_types/t4/resources/GPU", 2, "t4.resources.GPU: is 2 and must be 1"),
    ("available_node_types/t4/resources/CPU", 4, "t4.resources.CPU: is 4 and must be 8"),
    ("available_node_types/cpu/resources/GPU", 1, "cpu.resources.GPU: is 1, and the machine has none"),
    ("available_node_types/tpu-v3-8/resources/TPU", 8, "tpu-v3-8.resources.TPU: is 8 and must be 4"),
    ("available_node_types/t4/labels", {}, "t4.labels.ray.io/accelerator-type: is missing; it must be 'T4'"),
    (
        "available_node_types/t4-spot/labels/ray.io~market-type",
        "on-demand",
        "t4-spot.labels.ray.io/market-type: is 'on-demand' and must be 'spot'",
    ),
    (f"{TPU}/acceleratorType", "v3-32", "v3-32 has several hosts, which pools=gke can have; here: v3-8"),
    (
        f"{TPU}/acceleratorType",
        "v9-8",
        "acceleratorType: unknown type of slice 'v9-8'; known: tpu7x-8, v2-8, v3-8, ",
    ),
    (f"{TPU}/runtimeVersion", "tpu-vm-base", "runtimeVersion: v3-8 needs 'tpu-ubuntu2204-base'"),
    (f"{V5P}/acceleratorConfig", {"type": "V5P", "topology": "3x3x1"}, "topology '3x3x1' does not exist"),
    (f"{V5P}/acceleratorConfig", {"type": "V5P", "topology": "2x2x2"}, "v5p-16 has several hosts"),
    ("provider", "gcp", "provider: must be a mapping of keys to values, not 'gcp'"),
]


def found_in(top, known=None):
    return [
        f"{finding.key}: {finding.message}" for finding in check_launcher(top, known or shipped_catalogue())
    ]


@pytest.mark.more_except("central1-a", "central1-b")
@pytest.mark.parametrize("zone", ["us-central1-a", "us-central1-b", "us-central2-b"])
def test_the_declared_pools_of_each_zone_give_a_file_without_findings(zone):
    assert rendered("gcp", f"pools.zone={zone}").findings == ()


@pytest.mark.more_except("core:1", "ray;id")
@pytest.mark.parametrize(("key", "value", "message"), SOWN)
def test_a_sown_error_is_found_and_named(key, value, message):
    top = deepcopy(config())
    put(top, key, value)
    assert [item for item in found_in(top) if message in item], found_in(top)


def test_two_pools_of_the_same_machine_are_one_too_many():
    top = config()
    again = deepcopy(top["available_node_types"]["t4"])
    again["labels"]["orchestrator/pool"] = "t4-again"
    top["available_node_types"]["t4-again"] = again
    assert found_in(top) == [
        "available_node_types.t4-again: is the same as t4; raise max_workers there instead"
    ]


def test_what_is_not_sold_on_spot_or_in_the_region_is_found():
    rows = {region: dict(offers) for region, offers in shipped_catalogue().prices.rows.items()}
    here = rows["us-central1"]
    here["n1-standard-8+1xT4"] = replace(here["n1-standard-8+1xT4"], spot_usd_per_hour=None)
    del here["v3-8"]
    known = replace(shipped_catalogue(), prices=replace(shipped_catalogue().prices, rows=rows))
    lines = found_in(config(), known)
    assert (
        "available_node_types.t4-spot.node_config: n1-standard-8+1xT4 is not sold spot in us-central1"
        in lines
    )
    assert (
        "available_node_types.tpu-v3-8.node_config: v3-8 is not in the price list of us-central1; "
        "it is in: europe-west4" in lines
    )
    assert not [line for line in lines if "types.t4." in line]


def test_a_slice_may_be_asked_for_by_its_topology():
    top = config()
    node = top["available_node_types"]["tpu-v5p-8-spot"]["node_config"]
    del node["acceleratorType"]
    node["acceleratorConfig"] = {"type": "V5P", "topology": "2x2x1"}
    assert found_in(top) == []
