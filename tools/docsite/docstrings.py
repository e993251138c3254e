"""Meanings of attributes, read from docstrings."""

import inspect
import re
from collections.abc import Iterable, Mapping

from griffe import Docstring, DocstringSectionAttributes

_SHARED = re.compile(r"^ +\w+(?:, \w+)+:", re.MULTILINE)
"""Names of attributes with one meaning; griffe takes what stands behind a space for a type."""


def summarise_sweep(kind: type) -> str:
    """Return the first paragraph of a docstring on one line."""
    return _one_line((inspect.getdoc(kind) or "").partition("\n\n")[0])


def meanings_of(kinds: Iterable[type]) -> Mapping[str, str]:
    """Return attribute -> meaning, from docstrings of the classes and their bases; the first class wins."""
    meanings: dict[str, str] = {}
    for kind in kinds:
        for base in kind.__mro__:
            for name, meaning in _attributes_of(base):
                meanings.setdefault(name, meaning)
    return meanings


def _attributes_of(kind: type) -> Iterable[tuple[str, str]]:
    text = inspect.cleandoc(vars(kind).get("__doc__") or "")
    joined = _SHARED.sub(lambda names: names[0].replace(", ", ","), text)
    for section in Docstring(joined).parse("google", warnings=False):
        if isinstance(section, DocstringSectionAttributes):
            for attribute in section.value:
                for name in attribute.name.split(","):
                    yield name, _one_line(attribute.description)


def _one_line(text: str) -> str:
    return " ".join(text.split())
