"""Ray's own validators of a cluster launcher's file. They use no cloud and no network."""

import logging
from copy import deepcopy
from typing import Any

from jsonschema import ValidationError  # type: ignore[import-untyped]  # it has no type information

from orchestrator.execute.on_ray.ray_internals import (
    fill_gcp_resources,
    prepare_launcher_config,
    validate_gcp_node,
)


def first_fault(config: dict[str, Any]) -> tuple[str, str] | None:
    """The first thing that Ray finds wrong: the dotted key and the reason; None if it takes the file."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        prepared = prepare_launcher_config(deepcopy(config))
    except ValidationError as error:
        return ".".join(map(str, error.absolute_path)) or "the file", error.message
    except (ValueError, KeyError, RuntimeError, AttributeError, TypeError, AssertionError) as error:
        return "the file", str(error).splitlines()[0] if str(error) else type(error).__name__
    return _node_types(prepared)


def _node_types(prepared: dict[str, Any]) -> tuple[str, str] | None:
    for name, node_type in prepared["available_node_types"].items():
        try:
            validate_gcp_node(node_type["node_config"])
        except (ValueError, TypeError) as error:
            return f"available_node_types.{name}.node_config", str(error)
    fill_gcp_resources(prepared)
    return None
