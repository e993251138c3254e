"""Private parts of Ray in use, by name: a newer version must have them."""

import importlib

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

import ray
from ray._private import ray_constants, services
from ray._private.node import Node as RayNode

from orchestrator.execute.on_ray import ray_internals

NEEDED = {
    "ray._private.node": ("Node.start_api_server", "Node.start_log_monitor", "Node.start_monitor"),
    "ray._private.parameter": ("RayParams",),
    "ray._private.ray_constants": (
        "ENABLE_RAY_CLUSTER",
        "ENABLE_RAY_CLUSTERS_ENV_VAR",
        "PROCESS_TYPE_RAYLET",
    ),
    "ray._private.services": ("start_ray_process",),
    "ray._private.state": ("state.get_draining_nodes",),
    "ray._private.worker": ("global_worker", "print_to_stdstream"),
    "ray._raylet": ("Config.initialize",),
    "ray.autoscaler._private.fake_multi_node.node_provider": ("FakeMultiNodeProvider",),
    "ray.autoscaler._private.util": ("prepare_config", "validate_config"),
}
OF_GCP = {
    "ray.autoscaler._private.gcp.config": ("get_node_type",),
    "ray.autoscaler._private.gcp.node_provider": ("GCPNodeProvider.fillout_available_node_types_resources",),
}


def test_the_installed_ray_has_the_version_of_the_private_parts() -> None:
    assert ray.__version__.startswith("2.60."), "read ray_internals.py against this version"


@pytest.mark.parametrize("module", NEEDED)
def test_ray_has_a_private_part_that_is_used(module: str) -> None:
    require_parts(module, NEEDED[module])


@pytest.mark.parametrize("module", OF_GCP)
def test_ray_has_a_private_part_of_its_launcher_that_is_used(module: str) -> None:
    pytest.importorskip("googleapiclient", reason="google-api-python-client is not installed")
    require_parts(module, OF_GCP[module])


def require_parts(module: str, names: tuple[str, ...]) -> None:
    for name in names:
        part = importlib.import_module(module)
        for attribute in name.split("."):
            part = getattr(part, attribute)


def test_ray_is_as_it_was_after_an_embedded_start_that_failed() -> None:
    before = services.start_ray_process, RayNode.start_monitor, ray_constants.ENABLE_RAY_CLUSTER
    with (
        pytest.raises(OSError, match="no start by orchestrator"),
        ray_internals.listening_on_loopback(),
        ray_internals.without_services(),
        ray_internals.raylet_below(list),
    ):
        raise OSError(f"no start by {services.start_ray_process.__module__}")
    assert before == (services.start_ray_process, RayNode.start_monitor, ray_constants.ENABLE_RAY_CLUSTER)
