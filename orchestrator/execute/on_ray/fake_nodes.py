"""Ray's own fake nodes, without the process that sends a node's logs to drivers: ours wants none.

The autoscaler of a fake cluster imports this module, and no other process does.
"""

import functools

# ray 2.60: the provider takes no options for its nodes, so the minor version is pinned
from ray._private import parameter
from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider

parameter.RayParams = functools.partial(  # type: ignore[misc, assignment]
    parameter.RayParams,
    include_log_monitor=False,  # type: ignore[arg-type] # Ray declares a text
)


class FakeNodes(FakeMultiNodeProvider):
    """Nodes that are processes of this host."""
