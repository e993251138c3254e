"""What is wrong with a file, and careful readers for files that may hold anything."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        key: where, dotted, from the top of the file.
        message: what is wrong and what is possible, in one line.
    """

    key: str
    message: str


Findings = Iterator[Finding]


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


def require_mappings(top: dict[str, Any], *keys: str) -> Findings:
    """A finding for each of these keys that has no mapping."""
    for key in keys:
        if not isinstance(top.get(key), dict):
            yield Finding(key=key, message=f"must be a mapping of keys to values, not {top.get(key)!r}")
