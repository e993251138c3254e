"""Which workloads there are, their knobs, and the spec that chosen knobs give; imports no framework."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args, get_origin, get_type_hints

from workloads.contract import spec_module, spec_of
from workloads.names import unknown_name
from workloads.origins import Origin, origins
from workloads.shapes import shapes_of
from workloads.spec import WorkloadSpec


def workload_names() -> tuple[str, ...]:
    """In alphabetical order. Raises ValueError where a user's workloads cannot be told apart or found."""
    return tuple(sorted(origins()))


def origin_of(name: str) -> Origin:
    """Where a workload is imported from. Raises ValueError for one that does not exist."""
    known = origins()
    if name not in known:
        raise unknown_name("workload", name, known=known)
    return known[name]


def options_class(name: str) -> type[Any]:
    """The frozen dataclass of a workload's knobs, each with its default.

    Raises:
        ValueError: unknown workload, or one whose `spec.py` is broken.
    """
    options: type[Any] = spec_module(name, origin_of(name)).Options
    hints = get_type_hints(options)
    for option in fields(options):
        if option.default is not MISSING:
            _typed(hints[option.name], option.default, what=f"workload {name!r}, option {option.name!r}")
    return options


def workload(name: str, options: Mapping[str, Any], *, origin: Origin | None = None) -> WorkloadSpec:
    """Make a workload's spec, with options that are not named at their defaults.

    Args:
        origin: where it is, for a process that cannot look for it.

    Raises:
        UnsuitableInputError: an input of a size that the network cannot take.
        ValueError: unknown workload or option, an option of the wrong type, a value that gives no network,
            or a workload that is broken.
    """
    origin = origin or origin_of(name)
    hints = get_type_hints(spec_module(name, origin).Options)
    for option in options:
        if option not in hints:
            raise unknown_name(f"option of workload {name!r},", option, known=hints)
    typed = {
        option: _typed(hints[option], value, what=f"workload {name!r}, option {option!r}")
        for option, value in options.items()
    }
    spec = spec_of(name, origin, typed)
    _require_shapes(spec)
    return spec


def _require_shapes(spec: WorkloadSpec) -> None:
    for network in spec.networks.values():
        try:
            shapes_of(network)
        except ValueError as error:
            raise type(error)(f"workload {spec.name!r}: {error}") from error
        except Exception as error:  # a user's layer may hold anything
            raise ValueError(f"workload {spec.name!r}: {type(error).__name__}: {error}") from error


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
