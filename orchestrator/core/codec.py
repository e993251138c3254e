"""Strict JSON for frozen dataclasses: unknown, missing and mistyped fields are named, NaN survives."""

import dataclasses
import json
import math
import types
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from itertools import repeat
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from orchestrator.core.errors import OrchestratorError, RecordError

T = TypeVar("T")

_NOT_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: object) -> str:
    """One line of standard JSON; a float that is not a number is written as a string."""
    return json.dumps(to_plain(value), ensure_ascii=False, allow_nan=False)


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read a dataclass back. Raises RecordError naming the field that is wrong."""
    return from_plain(kind, convert_to_plain(text))


def convert_to_plain(text: str | bytes) -> Any:
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
        read: Callable[[object], T] = _make_reader(cast(Hashable, kind))
        return read(plain)
    except _MisfitError as misfit:
        raise RecordError(f"{kind.__name__}{misfit.place}: {misfit.problem()}") from misfit
    except RecordError:
        raise
    except OrchestratorError as error:  # a field's value breaks a rule of its dataclass
        raise RecordError(f"{kind.__name__}: {error}") from error


def to_plain(value: Any) -> Any:
    """Dicts, lists and scalars that `json.dumps` takes without NaN tokens."""
    return _plain(value, build_name=_name_of_no_number)


def to_nulls(value: Any) -> Any:
    """Convert for other programs: a float that is not a number is null. It cannot be read back."""
    return _plain(value, build_name=lambda _value: None)


_ALIKE = frozenset({str, int, bool, types.NoneType})
"""Types that JSON has."""


def _plain(value: Any, *, build_name: Callable[[float], str | None]) -> Any:
    """Convert a value; `build_name` gives what stands for a float that is not a number."""
    kind = type(value)
    if kind in _ALIKE:
        return value
    names = _field_names(cast(Hashable, kind))
    if names is not None:
        return {name: _plain(getattr(value, name), build_name=build_name) for name in names}
    if isinstance(value, float):
        return value if math.isfinite(value) else build_name(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, build_name=build_name) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item, build_name=build_name) for item in value]
    return value


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass; None for another type."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field_.name for field_ in dataclasses.fields(kind))


def _name_of_no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


class _MisfitError(RecordError):
    """A value that a reader refuses.

    Attributes:
        place: fields and indices that lead to it, as `.trial.steps`.
        problem: makes the message; a union throws most of them away.
    """

    def __init__(self, problem: Callable[[], str]) -> None:
        super().__init__("a value of another type")
        self.place, self.problem = "", problem

    def within(self, place: str) -> "_MisfitError":
        """Add one step to the path of the error."""
        self.place = f"{place}{self.place}"
        return self


_Reader = Callable[[Any], Any]
"""Plain value -> the value of a type. Raises RecordError."""


@cache
def _make_reader(kind: Any) -> _Reader:
    """Make the reader of a type, once: a ledger has the same types thousands of times."""
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(kind)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _union_reader(get_args(kind))
    if origin is Literal:
        return _checker(kind, get_args(kind).__contains__)
    if origin is tuple:
        return _tuple_reader(get_args(kind))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(get_args(kind)[1])
    return _scalar_reader(kind)


def _dataclass_reader(kind: Any) -> _Reader:
    hints = get_type_hints(kind)
    required = frozenset(
        field_.name
        for field_ in dataclasses.fields(kind)
        if field_.default is dataclasses.MISSING and field_.default_factory is dataclasses.MISSING
    )
    readers: dict[str, _Reader] = {}  # filled on the way, for a field may be of the type itself

    def read(plain: Any) -> Any:
        _require(isinstance(plain, dict), kind, plain)
        if not hints.keys() >= plain.keys():
            unknown = min(plain.keys() - hints.keys())
            raise _MisfitError(lambda: f"unknown field {unknown!r}; known: {', '.join(hints)}")
        if not plain.keys() >= required:
            missing = min(required - plain.keys())
            raise _MisfitError(lambda: f"field {missing!r} is missing")
        values = {}
        for name, item in plain.items():
            if type(item) is hints[name]:  # a value of exactly the type of its field needs no reader
                values[name] = item
                continue
            if name not in readers:
                readers[name] = _make_reader(hints[name])
            try:
                values[name] = readers[name](item)
            except _MisfitError as misfit:
                raise misfit.within(f".{name}") from None
        return kind(**values)

    return read


def _union_reader(kinds: tuple[Any, ...]) -> _Reader:
    readers = [_make_reader(kind) for kind in kinds if kind is not types.NoneType]
    may_be_null = types.NoneType in kinds
    expected = " | ".join(_find_name(kind) for kind in kinds)
    before_float = kinds[: kinds.index(float)] if float in kinds else kinds  # a float is read of other types
    as_they_are = {kind for kind in (str, int, bool) if kind in before_float} | ({float} & {*kinds})

    def read(plain: Any) -> Any:
        if plain is None and may_be_null:
            return None
        if type(plain) in as_they_are:
            return plain
        errors = []
        for reader in readers:
            try:
                return reader(plain)
            except RecordError as error:
                errors.append(error)
        if isinstance(plain, dict) and dataclasses.is_dataclass(kinds[0]):
            raise errors[0]  # names the field inside, where "expected X or null" would say nothing
        return _require(False, expected, plain)

    return read


def _tuple_reader(kinds: tuple[Any, ...]) -> _Reader:
    is_open = len(kinds) == 2 and kinds[1] is Ellipsis
    readers = [_make_reader(kind) for kind in kinds if kind is not Ellipsis]

    def read(plain: Any) -> tuple[Any, ...]:
        _require(isinstance(plain, list), "list", plain)
        found = tuple(map(type, plain))
        if found == (kinds[:1] * len(plain) if is_open else kinds):  # likewise; most are floats by the dozen
            return tuple(plain)
        _require(is_open or len(kinds) == len(plain), f"list of {len(kinds)}", plain)
        values: list[Any] = []
        try:
            for reader, item in zip(repeat(readers[0]) if is_open else readers, plain, strict=False):
                values.append(reader(item))
        except _MisfitError as misfit:
            raise misfit.within(f"[{len(values)}]") from None
        return tuple(values)

    return read


def _mapping_reader(kind: Any) -> _Reader:
    reader = _make_reader(kind)

    def read(plain: Any) -> dict[str, Any]:
        _require(isinstance(plain, dict), "object", plain)
        values = {}
        for name, item in plain.items():
            try:
                values[name] = reader(item)
            except _MisfitError as misfit:
                raise misfit.within(f".{name}") from None
        return values

    return read


def _scalar_reader(kind: Any) -> _Reader:
    if kind is float:
        return _read_float
    if kind is int:
        return _checker(kind, lambda plain: isinstance(plain, int) and not isinstance(plain, bool))
    if kind is types.NoneType or kind is None:
        return _checker("null", lambda plain: plain is None)
    return _checker(kind, lambda plain: isinstance(plain, kind))


def _read_float(plain: Any) -> float:
    if type(plain) is float:
        return plain
    if isinstance(plain, str) and plain in _NOT_NUMBERS:
        return _NOT_NUMBERS[plain]
    _require(isinstance(plain, (int, float)) and not isinstance(plain, bool), float, plain)
    try:
        return float(plain)
    except OverflowError as error:
        raise _MisfitError(lambda: "expected float, found a number that is too large for one") from error


def _checker(kind: Any, holds: Callable[[Any], bool]) -> _Reader:
    def read(plain: Any) -> Any:
        return _require(holds(plain), kind, plain)

    return read


def _require(holds: bool, kind: Any, plain: Any) -> Any:
    if not holds:
        raise _MisfitError(lambda: f"expected {_find_name(kind)}, found {repr(plain)[:60]}")
    return plain


def _find_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " | ".join(map(repr, get_args(kind)))
    if kind is types.NoneType:
        return "null"
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
