"""Finding about a file, and careful readers for files with arbitrary content."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.core.pool import NAME_RULE

JsonObject = Mapping[str, Any]
"""Mapping of a YAML or JSON document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        key: dotted path from the top of the file.
        message: one line with the fault and the possible values.
    """

    key: str
    message: str


FindingLines = Iterator[Finding]

_ACCELERATORS = {"GPU", "TPU", "nvidia.com/gpu", "google.com/tpu"}


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int:
    """The value if it is a whole number, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def listed(names: Iterable[object]) -> str:
    """Names for the end of a message."""
    return ", ".join(sorted(map(str, names))) or "none"


def require_mappings(top: Mapping[str, Any], *keys: str, under: str = "") -> FindingLines:
    """A finding for each of these keys that has no mapping.

    Args:
        under: the key of `top` itself.
    """
    for key in keys:
        if not isinstance(top.get(key), dict):
            name = f"{under}.{key}" if under else key
            yield Finding(key=name, message=f"must be a mapping of keys to values, not {top.get(key)!r}")


def require_name(key: str, name: object) -> FindingLines:
    """A finding for a name that machines and pods cannot have."""
    if not NAME_RULE.fullmatch(str(name)):
        yield Finding(key=key, message=f"{name!r} must be a-z, 0-9 and hyphens, at most 30, a letter first")


def expected(key: str, actual: Mapping[str, Any], wanted: Mapping[str, Any]) -> FindingLines:
    """Yield a finding for every wrong value, and for unknown accelerators."""
    for name, value in wanted.items():
        if name not in actual:
            yield Finding(key=f"{key}.{name}", message=f"is missing; it must be {value!r}")
        elif actual[name] != value:
            yield Finding(key=f"{key}.{name}", message=f"is {actual[name]!r} and must be {value!r}")
    for name in sorted((actual.keys() & _ACCELERATORS) - wanted.keys()):
        yield Finding(key=f"{key}.{name}", message=f"is {actual[name]!r}, and the machine has none")
