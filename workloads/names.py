"""The error of a name that does not exist, with the nearest one that does."""

import difflib
from collections.abc import Iterable


def unknown_name(kind: str, name: str, *, known: Iterable[str]) -> ValueError:
    """Make the error for `name`, which is no `kind`; the caller raises it."""
    names = sorted(known)
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return ValueError(f"unknown {kind} {name!r}; {hint}known: {', '.join(names) or 'none'}")
