"""Contract of a workload's `spec.py`. A violation is reported in one line."""

import ast
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import workloads
from workloads.jobs import JobError
from workloads.layers import Custom, Layer
from workloads.lines import locate_error
from workloads.names import unknown_name
from workloads.origins import Origin, import_spec
from workloads.spec import (
    ContrastiveDivergence,
    Gan,
    Optimizer,
    Protocol,
    ScriptSpec,
    Supervised,
    TokenPrediction,
    WorkloadSpec,
)

_SCALARS = (int, float, bool, str)
_FRAMEWORKS = ("torch", "keras", "tensorflow")
"""Where a sweep is planned they need not be installed."""


class _FaultError(Exception):
    """Violation of the contract, without the workload's name."""


def spec_module(name: str, origin: Origin) -> ModuleType:
    """Import a workload's module `spec`.

    Raises:
        ValueError: the import fails, or the module lacks something.
    """
    with one_line(name, origin):
        module = import_spec(origin)
        _require_parts(module)
    return module


def build_spec(name: str, origin: Origin, knobs: dict[str, Any]) -> WorkloadSpec | ScriptSpec:
    """Return the spec that `make` builds from these knobs.

    Raises:
        ValueError: a knob that is refused, or a spec that no trainer could follow.
    """
    module = spec_module(name, origin)
    with one_line(name, origin, refusals=(ValueError,)):
        spec: WorkloadSpec | ScriptSpec = module.make(module.Options(**knobs))
    if isinstance(spec, ScriptSpec) and origin.folder is None:
        return spec
    with one_line(name, origin):
        if not isinstance(spec, WorkloadSpec):
            raise _FaultError(f"make returned {type(spec).__name__}, expected WorkloadSpec")
        _require_whole(spec, name=name, version=module.VERSION)
        if origin.folder is not None:
            _require_code(spec, top=origin.top, folder=origin.folder)
    return spec


@contextmanager
def one_line(name: str, origin: Origin, *, refusals: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn an error of a workload's code into a ValueError that names the workload; `refusals` pass.

    A user's code may also raise what ends a process; our own code does that to end it.
    """
    try:
        yield
    except refusals:
        raise
    except (_FaultError, JobError) as error:
        raise ValueError(f"workload {name!r}: {error}") from error
    except BaseException as error:
        if origin.folder is None and not isinstance(error, Exception):
            raise
        line = locate_error(error, folder=origin.folder or workloads.__path__[0])
        raise ValueError(f"workload {name!r}: {line}") from error


def _require_parts(module: ModuleType) -> None:
    for part in ("VERSION", "Options", "make"):
        if not hasattr(module, part):
            raise _FaultError(f"{module.__file__} has no {part}; it needs VERSION, Options and make")
    require_options(module.Options)


def require_options(options: type[Any]) -> None:
    """Check the class of a workload's knobs; to be called within `one_line`."""
    is_frozen = getattr(getattr(options, "__dataclass_params__", None), "frozen", False)
    if not isinstance(options, type) or not is_frozen:
        raise _FaultError("Options must be a frozen dataclass: @dataclass(frozen=True, kw_only=True)")
    hints = get_type_hints(options)
    for option in fields(options):
        hint = hints[option.name]
        scalar = get_args(hint)[0] if get_origin(hint) is tuple else hint
        if scalar not in _SCALARS:
            raise _FaultError(
                f"option {option.name!r} is of type {hint}; "
                "possible are int, float, bool, str, or a tuple of one as tuple[int, ...]"
            )


def _require_whole(spec: WorkloadSpec, *, name: str, version: object) -> None:
    if spec.name != name:
        raise _FaultError(f"make gives it the name {spec.name!r}, expected {name!r}")
    if type(version) is not int or spec.version != version:
        raise _FaultError(f"version={spec.version!r} and VERSION={version!r} must be one whole number")
    if not _is_number_above_0(spec.epochs):
        raise _FaultError(f"epochs={spec.epochs!r} must be a number above 0, or None")
    if not spec.phases:
        raise _FaultError("it has no phase; a training has at least one")
    for user, network in _networks_named_in(spec):
        if network not in spec.networks:
            raise _FaultError(str(unknown_name(f"network of {user}", network, known=spec.networks)))
    for optimizer in (optimizer for phase in spec.phases for optimizer in phase.optimizers.values()):
        if not isinstance(optimizer, get_args(Optimizer)):
            raise _FaultError(f"{optimizer!r} is not an optimizer; it may be Sgd, Adam or AdamW")
    for node in (node for network in spec.networks.values() for node in network.nodes):
        if not isinstance(node.layer, get_args(Layer)):
            raise _FaultError(f"{node.layer!r} is not a layer; a layer of one's own is a Custom")


def _is_number_above_0(epochs: object) -> bool:
    """Check the epochs of a full training; None leaves them undeclared."""
    if epochs is None:
        return True
    return isinstance(epochs, (int, float)) and type(epochs) is not bool and 0 < float(epochs) < math.inf


def _networks_named_in(spec: WorkloadSpec) -> Iterator[tuple[str, str]]:
    """(what names it, name of a network)."""
    yield "its quality", spec.quality.network
    for phase in spec.phases:
        for name in (*_list_networks(phase.protocol), *phase.optimizers):
            yield f"phase {phase.name!r}", name


def _list_networks(protocol: Protocol) -> tuple[str, ...]:
    match protocol:
        case Supervised() | TokenPrediction() | ContrastiveDivergence():
            return (protocol.network,)
        case Gan():
            return ("generator", "discriminator")


def _require_code(spec: WorkloadSpec, *, top: str, folder: str) -> None:
    """Look for all that a spec names by `module:name`."""
    for kind, path in (("data set", spec.data.data_set), ("measure", spec.quality.measure)):
        try:
            resolve_name(path)
        except BaseException as error:  # a user's code raises anything
            raise _FaultError(
                f"{kind} {path!r} cannot be loaded: {locate_error(error, folder=folder)}"
            ) from error
    for node in (node for network in spec.networks.values() for node in network.nodes):
        if isinstance(node.layer, Custom):
            _require_class(node.layer.torch, top=top)
            _require_class(node.layer.keras, top=top)


def _require_class(path: str, *, top: str) -> None:
    """Look for the class of a layer in its source: importing that would import a framework."""
    module, _, name = path.partition(":")
    package = module.partition(".")[0]
    if not name or (find_spec(package) is None and package not in _FRAMEWORKS):
        raise _FaultError(f"there is no layer {path!r}; expected module:Class, as {top}.layers:Mine")
    if package == top:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise _FaultError(f"there is no layer {path!r}, for there is no module {module!r}")
        nodes = list(ast.walk(ast.parse(Path(spec.origin).read_bytes(), filename=spec.origin)))
        classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        imports = (name for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names)
        if name not in classes | {alias.asname or alias.name for alias in imports}:
            raise _FaultError(str(unknown_name(f"layer in {spec.origin},", name, known=classes)))
