"""Ray's own validators of a cluster launcher's file. They use no cloud and no network."""

import logging
from copy import deepcopy
from typing import Any

from jsonschema import ValidationError  # type: ignore[import-untyped]  # it has no type information

# ray 2.60: the launcher's checks are private, so the minor version is pinned
from ray.autoscaler._private.gcp.config import get_node_type
from ray.autoscaler._private.gcp.node_provider import GCPNodeProvider
from ray.autoscaler._private.util import prepare_config, validate_config


def first_fault(config: dict[str, Any]) -> tuple[str, str] | None:
    """The first thing that Ray finds wrong: the dotted key and the reason; None if it takes the file."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        prepared = prepare_config(deepcopy(config))
        validate_config(prepared)
    except ValidationError as error:
        return ".".join(map(str, error.absolute_path)) or "the file", error.message
    except (ValueError, KeyError, RuntimeError, AttributeError, TypeError, AssertionError) as error:
        return "the file", str(error).splitlines()[0] if str(error) else type(error).__name__
    return _node_types(prepared)


def _node_types(prepared: dict[str, Any]) -> tuple[str, str] | None:
    for name, node_type in prepared["available_node_types"].items():
        try:
            get_node_type(node_type["node_config"])
        except (ValueError, TypeError) as error:
            return f"available_node_types.{name}.node_config", str(error)
    GCPNodeProvider.fillout_available_node_types_resources(prepared)
    return None
