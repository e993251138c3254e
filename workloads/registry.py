"""Which workloads there are, their knobs, and the spec that chosen knobs give; imports no framework."""

import importlib
import pkgutil
from collections.abc import Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import workloads
from workloads.names import unknown_name
from workloads.shapes import shapes_of
from workloads.spec import WorkloadSpec


def workload_names() -> tuple[str, ...]:
    """Folders of `workloads/` that hold a `spec.py`, in alphabetical order."""
    folders = (each.name for each in pkgutil.iter_modules(workloads.__path__) if each.ispkg)
    return tuple(sorted(name for name in folders if find_spec(f"workloads.{name}.spec")))


def options_class(name: str) -> type[Any]:
    """The frozen dataclass of a workload's knobs, each with its default.

    Raises:
        ValueError: unknown workload.
    """
    options: type[Any] = _module(name).Options
    return options


def workload(name: str, options: Mapping[str, Any]) -> WorkloadSpec:
    """Make a workload's spec, with options that are not named at their defaults.

    Raises:
        UnsuitableInputError: an input of a size that the network cannot take.
        ValueError: unknown workload or option, an option of the wrong type, or a value that gives no network.
    """
    kind = options_class(name)
    hints = get_type_hints(kind)
    for option in options:
        if option not in hints:
            raise unknown_name(f"option of workload {name!r},", option, known=hints)
    typed = {
        option: _typed(hints[option], value, what=f"workload {name!r}, option {option!r}")
        for option, value in options.items()
    }
    spec: WorkloadSpec = _module(name).make(kind(**typed))
    _require_shapes(spec)
    return spec


def _require_shapes(spec: WorkloadSpec) -> None:
    for network in spec.networks.values():
        try:
            shapes_of(network)
        except ValueError as error:
            raise type(error)(f"workload {spec.name!r}: {error}") from error


def _module(name: str) -> ModuleType:
    if name not in workload_names():
        raise unknown_name("workload", name, known=workload_names())
    return importlib.import_module(f"workloads.{name}.spec")


def _typed(kind: Any, value: Any, *, what: str) -> Any:
    """`value` as `kind`: a scalar type or a tuple of one; a whole number passes as a float."""
    if get_origin(kind) is tuple and isinstance(value, (tuple, list)):
        return tuple(_typed(get_args(kind)[0], each, what=what) for each in value)
    if get_origin(kind) is tuple:
        raise ValueError(f"{what}: expected {kind}, found {value!r}")
    accepted = (int, float) if kind is float else kind
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, accepted):
        raise ValueError(f"{what}: expected {kind.__name__}, found {value!r}")
    return kind(value)
