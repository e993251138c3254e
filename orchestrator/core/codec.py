"""Strict JSON for frozen dataclasses: unknown, missing and mistyped fields are named, NaN survives."""

import dataclasses
import json
import math
import types
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from orchestrator.core.errors import OrchestratorError, RecordError

T = TypeVar("T")

_NOT_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: object) -> str:
    """One line of standard JSON; a float that is not a number is written as a string."""
    return json.dumps(to_plain(value), ensure_ascii=False, allow_nan=False)


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read a dataclass back. Raises RecordError naming the field that is wrong."""
    return from_plain(kind, plain_of(text))


def plain_of(text: str | bytes) -> Any:
    """Dicts, lists and scalars of JSON. Raises RecordError for what is none."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise RecordError("not JSON: it nests too deeply") from error
    except ValueError as error:  # a number of thousands of digits, and bytes that are no UTF-8, too
        raise RecordError(f"not JSON: {error}") from error


def from_plain(kind: type[T], plain: object) -> T:
    """Build a dataclass from dicts, lists and scalars. Raises RecordError naming the field that is wrong."""
    try:
        built: T = _typed(kind, plain, path=kind.__name__)
    except RecordError:
        raise
    except OrchestratorError as error:  # a field's value breaks a rule of its dataclass
        raise RecordError(f"{kind.__name__}: {error}") from error
    return built


def to_plain(value: Any) -> Any:
    """Dicts, lists and scalars that `json.dumps` takes without NaN tokens."""
    return _plain(value, name_of=_name_of_no_number)


def to_nulls(value: Any) -> Any:
    """Convert for other programs: a float that is not a number is null. It cannot be read back."""
    return _plain(value, name_of=lambda _value: None)


def _plain(value: Any, *, name_of: Callable[[float], str | None]) -> Any:
    """Convert a value; `name_of` gives what stands for a float that is not a number."""
    plain = partial(_plain, name_of=name_of)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field_.name: plain(getattr(value, field_.name)) for field_ in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return name_of(value)
    return value


def _name_of_no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _typed(kind: Any, plain: Any, *, path: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _dataclass_of(kind, plain, path=path)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _union_of(get_args(kind), plain, path=path)
    if origin is Literal:
        return _checked(plain in get_args(kind), kind, plain, path=path)
    if origin is tuple:
        return _tuple_of(get_args(kind), plain, path=path)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_of(get_args(kind)[1], plain, path=path)
    return _scalar_of(kind, plain, path=path)


def _dataclass_of(kind: Any, plain: Any, *, path: str) -> Any:
    _checked(isinstance(plain, dict), kind, plain, path=path)
    hints = _hints_of(kind)
    unknown = sorted(set(plain) - set(hints))
    if unknown:
        raise RecordError(f"{path}: unknown field {unknown[0]!r}; known: {', '.join(hints)}")
    missing = sorted(_required_of(kind) - set(plain))
    if missing:
        raise RecordError(f"{path}: field {missing[0]!r} is missing")
    return kind(**{name: _typed(hints[name], item, path=f"{path}.{name}") for name, item in plain.items()})


@cache
def _hints_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _required_of(kind: Any) -> frozenset[str]:
    nothing = dataclasses.MISSING
    return frozenset(
        field_.name
        for field_ in dataclasses.fields(kind)
        if field_.default is nothing and field_.default_factory is nothing
    )


def _union_of(kinds: tuple[Any, ...], plain: Any, *, path: str) -> Any:
    errors = []
    for kind in kinds:
        try:
            return _typed(kind, plain, path=path)
        except RecordError as error:
            errors.append(error)
    if isinstance(plain, dict) and dataclasses.is_dataclass(kinds[0]):
        raise errors[0]  # names the field inside, where "expected X or null" would say nothing
    return _checked(False, " | ".join(_name_of(kind) for kind in kinds), plain, path=path)


def _tuple_of(kinds: tuple[Any, ...], plain: Any, *, path: str) -> tuple[Any, ...]:
    _checked(isinstance(plain, list), "list", plain, path=path)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(plain)
    _checked(len(kinds) == len(plain), f"list of {len(kinds)}", plain, path=path)
    return tuple(
        _typed(kind, item, path=f"{path}[{i}]")
        for i, (kind, item) in enumerate(zip(kinds, plain, strict=True))
    )


def _mapping_of(kind: Any, plain: Any, *, path: str) -> dict[str, Any]:
    _checked(isinstance(plain, dict), "object", plain, path=path)
    return {name: _typed(kind, item, path=f"{path}.{name}") for name, item in plain.items()}


def _scalar_of(kind: Any, plain: Any, *, path: str) -> Any:
    if kind is float:
        if isinstance(plain, str) and plain in _NOT_NUMBERS:
            return _NOT_NUMBERS[plain]
        _checked(isinstance(plain, (int, float)) and not isinstance(plain, bool), kind, plain, path=path)
        return _float_of(plain, path=path)
    if kind is int:
        return _checked(isinstance(plain, int) and not isinstance(plain, bool), kind, plain, path=path)
    if kind is types.NoneType or kind is None:
        return _checked(plain is None, "null", plain, path=path)
    return _checked(isinstance(plain, kind), kind, plain, path=path)


def _float_of(plain: int | float, *, path: str) -> float:
    try:
        return float(plain)
    except OverflowError as error:
        raise RecordError(f"{path}: expected float, found a number that is too large for one") from error


def _checked(holds: bool, kind: Any, plain: Any, *, path: str) -> Any:
    if not holds:
        raise RecordError(f"{path}: expected {_name_of(kind)}, found {repr(plain)[:60]}")
    return plain


def _name_of(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " | ".join(map(repr, get_args(kind)))
    if kind is types.NoneType:
        return "null"
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
