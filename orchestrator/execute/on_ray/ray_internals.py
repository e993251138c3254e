"""All that is used of Ray's private parts, which the pinned minor version, ray 2.60, has.

Each function does what no public interface does. tests/contract/execute/test_ray_internals.py names what a
newer version must have.
"""

import contextlib
import functools
import os
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ray._private import parameter, ray_constants, services, state, worker
from ray._private.node import Node as RayNode
from ray._raylet import Config  # type: ignore[attr-defined] # it is compiled

_SERVICES = ("start_api_server", "start_log_monitor", "start_monitor")
"""Methods of Ray's node that start the processes that serve others than this driver."""


def reload_token() -> None:
    """Read the token of clusters from the environment again: Ray reads it once, as it is imported."""
    Config.initialize("")


def list_draining_nodes() -> Collection[str]:
    """Return the ids of the nodes that Ray drains."""
    nodes: Collection[str] = state.state.get_draining_nodes()
    return nodes


def list_embedded_processes() -> "Mapping[str, subprocess.Popen[bytes]]":
    """Return the processes of a cluster that this process has started; none of one that it has joined."""
    node = worker.global_worker.node
    assert node is not None, "this process uses Ray"
    return {kind: started.process for kind, of_kind in node.all_processes.items() for started in of_kind}


@contextlib.contextmanager
def listening_on_loopback() -> Iterator[None]:
    """Let what Ray starts listen at the loopback address alone, as it does on a Mac.

    On Linux Ray does so only if a constant sets the host's own address to 127.0.0.1.
    """
    variable = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    with _replaced(ray_constants, ENABLE_RAY_CLUSTER=False), set_variable(variable, "0"):
        yield  # the constant is of this process, the variable for those that it starts


@contextlib.contextmanager
def without_services() -> Iterator[None]:
    """Let Ray start no API server, no autoscaler and no log monitor, which a driver on one host never asks.

    They take two fifths of the CPU time of a start.
    """
    with _replaced(RayNode, **dict.fromkeys(_SERVICES, _do_nothing)):
        yield


@contextlib.contextmanager
def raylet_below(guard: Callable[[Sequence[str]], list[str]]) -> Iterator[None]:
    """Let Ray start its raylet by the command that `guard` makes, as Ray does not end the raylet's agents."""
    before = services.start_ray_process

    def start(command: list[str], process_type: str, *args: Any, **kwargs: Any) -> Any:
        is_raylet = process_type == ray_constants.PROCESS_TYPE_RAYLET
        return before(guard(command) if is_raylet else command, process_type, *args, **kwargs)

    with _replaced(services, start_ray_process=start):
        yield


@contextlib.contextmanager
def without_messages() -> Iterator[None]:
    """Print nothing that Ray's processes print, as the log of a raylet that was killed."""
    with _replaced(worker, print_to_stdstream=_do_nothing):
        yield


def load_fake_node_provider() -> type:
    """Return Ray's provider of fake nodes, without the process that sends a node's logs to drivers.

    It takes no options for its nodes, so the default of this process changes: only the autoscaler of a fake
    cluster may call this.
    """
    from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider

    parameter.RayParams = functools.partial(  # type: ignore[misc, assignment]
        parameter.RayParams,
        include_log_monitor=False,  # type: ignore[arg-type] # Ray declares a text
    )
    return FakeMultiNodeProvider


def prepare_launcher_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a cluster launcher's file with Ray's defaults; raise what Ray raises for a wrong one."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared: dict[str, Any] = prepare_config(config)
    validate_config(prepared)
    return prepared


def validate_gcp_node(node_config: dict[str, Any]) -> None:
    """Raise ValueError or TypeError for a node of GCP that Ray's launcher does not know."""
    from ray.autoscaler._private.gcp.config import get_node_type

    get_node_type(node_config)


def fill_gcp_resources(prepared: dict[str, Any]) -> None:
    """Add the resources that Ray's launcher finds for the node types of GCP."""
    from ray.autoscaler._private.gcp.node_provider import GCPNodeProvider

    GCPNodeProvider.fillout_available_node_types_resources(prepared)


@contextlib.contextmanager
def set_variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable; the driver gets its own back."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


@contextlib.contextmanager
def _replaced(owner: Any, **attributes: Any) -> Iterator[None]:
    """Set attributes of a module or class for as long as the context is open."""
    before = {name: getattr(owner, name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


def _do_nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""
