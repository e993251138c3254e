"""Registry of workloads, their knobs, and the spec that chosen knobs give; imports no framework."""

from collections.abc import Mapping
from dataclasses import MISSING, field, fields, make_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from workloads.apart import ask, close
from workloads.contract import build_spec, one_line, require_options, spec_module
from workloads.names import unknown_name
from workloads.native import kept
from workloads.native.code import build_options, list_frameworks
from workloads.native.description import build_spec as native_spec_of
from workloads.origins import Origin, forget_origins, origins
from workloads.plain import Knob, of_plain
from workloads.shapes import find_shapes
from workloads.spec import NativeSpec, Workload, WorkloadSpec

_KINDS: Mapping[str, type[Any]] = {"int": int, "float": float, "bool": bool, "str": str}


def workload_names() -> tuple[str, ...]:
    """List workload names in alphabetical order. Raises ValueError where a user's workloads are ambiguous or
    missing.
    """
    return tuple(sorted(origins()))


def find_origin(name: str) -> Origin:
    """Return the import location of a workload. Raises ValueError for one that does not exist."""
    all_origins = origins()
    if name not in all_origins:
        raise unknown_name("workload", name, known=all_origins)
    return all_origins[name]


def options_class(name: str) -> type[Any]:
    """Return the frozen dataclass of a workload's knobs with defaults; of a user's workload its likeness.

    Raises:
        ValueError: unknown workload, or one with a broken `spec.py`.
    """
    origin = find_origin(name)
    if origin.is_bundled:
        return options_here(name, origin)
    given = _asked("options", name, origin)
    knobs = of_plain(tuple[Knob, ...], given, path=f"workload {name!r}: Options")
    return make_dataclass("Options", [_find_field(knob, name) for knob in knobs], frozen=True, kw_only=True)


def find_published_options(name: str) -> Mapping[str, int | str]:
    """Return the options of the size that a bundled network was published with, where others are default.

    `PUBLISHED` of its `spec.py`; a user's workload has its own defaults.
    """
    origin = find_origin(name)
    if origin.folder is not None:
        return {}
    options: Mapping[str, int | str] = getattr(spec_module(name, origin), "PUBLISHED", {})
    return options


def workload(name: str, options: Mapping[str, Any], *, origin: Origin | None = None) -> Workload:
    """Make a workload's spec, with options that are not named at their defaults.

    A native job is built and described for that.

    Args:
        origin: its location, for a process that trains it: a user's code runs in this process too.

    Raises:
        UnsuitableInputError: an input of a size that the network cannot take.
        ValueError: unknown workload or option, an option of the wrong type, a value that gives no network,
            or a workload that is broken.
    """
    source = origin or find_origin(name)
    spec: Workload
    if origin is not None or source.folder is None:
        spec = spec_here(name, options, source)
    else:
        place = kept.find_place(name, source, options)
        given = place and kept.read(place)
        if given is None:
            given = _asked("spec", name, source, options=dict(options))
            if place:
                kept.write(place, given)
        if list_frameworks(source):
            return of_plain(NativeSpec, given, path=f"workload {name!r}: NativeSpec")
        spec = of_plain(WorkloadSpec, given, path=f"workload {name!r}: WorkloadSpec")
    _require_shapes(spec)
    return spec


def declared_workload(name: str, options: Mapping[str, Any], *, origin: Origin | None = None) -> WorkloadSpec:
    """Make the spec of a workload with declared networks. Raises ValueError, also for a job or a script."""
    spec = workload(name, options, origin=origin)
    if not isinstance(spec, WorkloadSpec):
        raise ValueError(f"workload {name!r} declares no network")
    return spec


def cached_workload(name: str, options: Mapping[str, Any]) -> Workload:
    """Return the same as `workload`, made once until `forget`; raises what it raises, every time."""
    return _cached_workload(name, tuple(sorted(options.items())))


@cache
def _cached_workload(name: str, options: tuple[tuple[str, Any], ...]) -> Workload:
    return workload(name, dict(options))


def forget() -> None:
    """End the processes of users' code, and reload that code at its next use."""
    _cached_workload.cache_clear()
    forget_origins()
    close()


def options_here(name: str, origin: Origin) -> type[Any]:
    """Return the same as `options_class`, from the workload's code in this process."""
    options = _options_here(name, origin)
    hints = get_type_hints(options)
    for option in fields(options):
        if option.default is not MISSING:
            _typed(hints[option.name], option.default, what=_what(name, option.name))
    return options


def _options_here(name: str, origin: Origin) -> type[Any]:
    if not list_frameworks(origin):
        options: type[Any] = spec_module(name, origin).Options
        return options
    with one_line(name, origin):
        options = build_options(origin)
        require_options(options)
    return options


def spec_here(name: str, options: Mapping[str, Any], origin: Origin) -> Workload:
    """Return the same as `workload`, from code in this process; shapes are not checked."""
    hints = get_type_hints(_options_here(name, origin))
    for option in options:
        if option not in hints:
            raise unknown_name(f"option of workload {name!r},", option, known=hints)
    typed = {
        option: _typed(hints[option], value, what=_what(name, option)) for option, value in options.items()
    }
    if not list_frameworks(origin):
        return build_spec(name, origin, typed)
    with one_line(name, origin):
        return native_spec_of(name, origin, typed)


def _asked(what: str, name: str, origin: Origin, **more: Any) -> Any:
    question = {"ask": what, "name": name, "origin": {"package": origin.package, "folder": origin.folder}}
    return ask({**question, **more}, subject=f"workload {name!r}", folder=origin.folder)


def _find_field(knob: Knob, name: str) -> tuple[str, Any, Any]:
    kind: Any = _KINDS[knob.kind]
    hint = tuple[kind, ...] if knob.is_tuple else kind
    if knob.default is None:
        return knob.name, hint, field()
    _typed(hint, knob.default, what=_what(name, knob.name))
    return knob.name, hint, field(default=knob.default)


def _what(name: str, option: str) -> str:
    return f"workload {name!r}, option {option!r}"


def _require_shapes(spec: Workload) -> None:
    for network in spec.networks.values():
        try:
            find_shapes(network)
        except ValueError as error:
            raise type(error)(f"workload {spec.name!r}: {error}") from error
        except Exception as error:  # a user's layer may hold anything
            raise ValueError(f"workload {spec.name!r}: {type(error).__name__}: {error}") from error


def _typed(kind: Any, value: Any, *, what: str) -> Any:
    """`value` as `kind`: a scalar type or a tuple of one; a whole number passes as a float."""
    if get_origin(kind) is tuple and isinstance(value, (tuple, list)):
        return tuple(_typed(get_args(kind)[0], element, what=what) for element in value)
    if get_origin(kind) is tuple:
        raise ValueError(f"{what}: expected {kind}, found {value!r}")
    accepted = (int, float) if kind is float else kind
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, accepted):
        raise ValueError(f"{what}: expected {kind.__name__}, found {value!r}")
    return kind(value)
