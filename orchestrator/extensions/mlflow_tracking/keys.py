"""Names that MLflow accepts for metrics, parameters and tags, and the length of a tag. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

LONGEST_TAG = 5000
"""Characters of a tag; MLflow's own limit is 8000."""

_NOT_IN_A_KEY = re.compile(r"[^\w./:\- ]")  # MLflow refuses a run for one such character
_LONGEST = 250  # MLflow's own limit
_DIGITS = 8


def key_of_name(name: str) -> str:
    """Return the name as MLflow accepts it: `_` for a character it refuses, and a path of plain parts."""
    parts = [part for part in _NOT_IN_A_KEY.sub("_", name).split("/") if part]
    plain = "/".join(part if part.strip(".") else "_" * len(part) for part in parts) or "_"
    return plain if len(plain) <= _LONGEST else _with_digest(plain, name)


def keys_of_names(names: Iterable[str]) -> dict[str, str]:
    """Return a key for each name of a run; names that would share a key have a digest of the name each.

    A name that MLflow accepts as it is keeps it.
    """
    keys = {name: key_of_name(name) for name in names}
    uses = Counter(keys.values())
    return {
        name: key if key == name or uses[key] == 1 else _with_digest(key, name) for name, key in keys.items()
    }


def _with_digest(key: str, name: str) -> str:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{key[: _LONGEST - _DIGITS - 1]}.{digest}"
