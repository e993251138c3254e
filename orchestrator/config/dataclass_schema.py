"""A mutable twin of a frozen dataclass, as Hydra's schemas need it: same fields, same defaults."""

import dataclasses
import types
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from omegaconf import MISSING


def schema_from_dataclass(
    kind: type[Any], *, base: type[Any] = object, defaults: Mapping[str, Any] = MappingProxyType({})
) -> type[Any]:
    """Make the twin. A field without a default must be given, unless it may be None or is a mapping.

    Args:
        kind: its fields are scalars, tuples of scalars, mappings of them, or None.
        base: a schema class with further fields of the twin.
        defaults: field -> default of the configuration, where it is not that of the class.
    """
    hints = get_type_hints(kind)
    fields = [
        (field_.name, _open(hints[field_.name]), _find_default(field_, hints, defaults))
        for field_ in dataclasses.fields(kind)
    ]
    return dataclasses.make_dataclass(f"{kind.__name__}Conf", fields, bases=(base,))


def _open(hint: Any) -> Any:
    """The type as OmegaConf knows it: lists for tuples, and no literals."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return type(parts[0])
    if origin is tuple:
        return list[_open(parts[0])]  # type: ignore[misc]  # a type made at run time
    if origin in (Union, types.UnionType):
        return Union[tuple(_open(part) for part in parts)]  # noqa: UP007  # the parts are not known before
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[parts[0], _open(parts[1])]  # type: ignore[misc, valid-type]  # likewise
    return hint


def _find_default(
    field: "dataclasses.Field[Any]", hints: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Any:
    default = defaults.get(field.name, field.default)
    if isinstance(default, tuple):
        values = list(default)
        return dataclasses.field(default_factory=lambda: list(values))
    given = default is not dataclasses.MISSING
    if get_origin(hints[field.name]) is Literal:
        choices = {"choices": get_args(hints[field.name])}
        return dataclasses.field(default=default if given else MISSING, metadata=choices)
    if given:
        return default
    if type(None) in get_args(hints[field.name]):
        return None
    origin = get_origin(hints[field.name])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dataclasses.field(default_factory=dict)
    return MISSING
