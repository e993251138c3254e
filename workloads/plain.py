"""A workload's spec as plain values and back: the output of an untrusted process is checked by type.

A dataclass is a mapping of its fields, with the name of its class at `is`.
"""

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from workloads.data.need import DataNeed, Noise
from workloads.layers import Layer
from workloads.network import Network, Node
from workloads.spec import (
    BatchLengths,
    BlockCost,
    JobCost,
    JobQuality,
    NativeSpec,
    Optimizer,
    Phase,
    Protocol,
    Quality,
    WarmupCosine,
    WorkloadSpec,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A field of a workload's `Options`.

    Attributes:
        kind: its type; for a tuple, the type of its values.
        default: None where it has none.
    """

    name: str
    kind: Literal["int", "float", "bool", "str"]
    is_tuple: bool
    default: bool | int | float | str | tuple[bool | int | float | str, ...] | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A data set that is ready: what `DataRef` has."""

    id: str
    path: str
    description: str
    to_download: str | None
    train_samples: int | None
    train_tokens: int | None


_PARTS = (
    *(Network, Node, Phase, DataNeed, Noise, Quality, WarmupCosine, WorkloadSpec),
    *(NativeSpec, JobCost, BatchLengths, BlockCost, JobQuality, Knob, Ready),
)
_KINDS = {
    kind.__name__: kind for kind in (*get_args(Layer), *get_args(Optimizer), *get_args(Protocol), *_PARTS)
}
_SCALARS = (bool, int, float, str, type(None))

T = TypeVar("T")


def to_plain(value: object, *, path: str) -> Any:
    """Mappings, lists and scalars. Raises ValueError naming what is of none of our kinds."""
    if isinstance(value, Mapping):
        return {_name(key, path=path): to_plain(item, path=f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(item, path=f"{path}[{index}]") for index, item in enumerate(value)]
    for name in (base.__name__ for base in type(value).__mro__ if _KINDS.get(base.__name__) is base):
        fields_of_value = {
            field_.name: getattr(value, field_.name) for field_ in dataclasses.fields(_KINDS[name])
        }
        return {
            "is": name,
            **{key: to_plain(item, path=f"{path}.{key}") for key, item in fields_of_value.items()},
        }
    return _scalar(value, path=path)


def of_plain(kind: type[T], plain: object, *, path: str) -> T:
    """Return the value of that kind. Raises ValueError naming the field that is wrong."""
    made: T = _made(kind, plain, path=path)
    return made


def _name(key: object, *, path: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{path} has the key {key!r}, expected a text")
    return str(key)


def _scalar(value: object, *, path: str) -> Any:
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, Integral):  # of numpy
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise ValueError(f"{path} is of type {type(value).__name__}, which cannot be a part of it")


def _made(hint: Any, plain: Any, *, path: str) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _build_one(parts, plain, path=path)
    if dataclasses.is_dataclass(hint):
        return _part((hint,), plain, path=path)
    if origin is Literal:
        return _checked(plain in parts, plain, " or ".join(map(repr, parts)), path=path)
    if origin is tuple:
        return _tuple(parts, plain, path=path)
    if origin is not None and issubclass(origin, Mapping):
        _checked(isinstance(plain, dict), plain, "a mapping", path=path)
        return {name: _made(parts[1], item, path=f"{path}.{name}") for name, item in plain.items()}
    is_kind = type(plain) is hint or (hint is float and type(plain) is int)
    _checked(is_kind, plain, hint.__name__, path=path)
    return float(plain) if hint is float else plain


def _build_one(parts: tuple[Any, ...], plain: Any, *, path: str) -> Any:
    if isinstance(plain, dict):
        return _part(parts, plain, path=path)
    kinds = {list: tuple, int: float}
    fitting = [part for part in parts if type(plain) in (part, get_origin(part))]
    near = [part for part in parts if kinds.get(type(plain)) in (part, get_origin(part))]
    _checked(bool(fitting or near), plain, " or ".join(map(str, parts)), path=path)
    return _made((fitting or near)[0], plain, path=path)


def _part(kinds: tuple[Any, ...], plain: Any, *, path: str) -> Any:
    names = " or ".join(kind.__name__ for kind in kinds if kind in _KINDS.values())
    kind = _KINDS.get(str(plain.get("is"))) if isinstance(plain, dict) else None
    _checked(kind in kinds, plain, names, path=path)
    hints = _hints(kind)
    values = {name: item for name, item in plain.items() if name != "is"}
    _checked(values.keys() == hints.keys(), sorted(values), f"the fields of {names}", path=path)
    assert kind is not None
    return kind(**{name: _made(hints[name], item, path=f"{path}.{name}") for name, item in values.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _tuple(parts: tuple[Any, ...], plain: Any, *, path: str) -> tuple[Any, ...]:
    _checked(isinstance(plain, list), plain, "several values", path=path)
    each_of = parts[:1] * len(plain) if parts[1:] == (Ellipsis,) else parts
    _checked(len(each_of) == len(plain), plain, f"{len(each_of)} values", path=path)
    pairs = enumerate(zip(each_of, plain, strict=True))
    return tuple(_made(part, item, path=f"{path}[{index}]") for index, (part, item) in pairs)


def _checked(holds: bool, plain: Any, expected: str, *, path: str) -> Any:
    if not holds:
        raise ValueError(f"{path}: expected {expected}, found {repr(plain)[:80]}")
    return plain
