"""Descriptions of bundled jobs, kept from one command to the next: that of a language model takes 10 s."""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import workloads
from workloads.data.files import written_whole
from workloads.data.sources import default_cache
from workloads.native.code import build_options
from workloads.origins import Origin

_LIBRARIES = ("torch", "transformers", "peft", "bitsandbytes", "torchao")
_MOST_FILES = 10_000  # of a folder of data: more take longer to list than a model to describe


def find_place(name: str, origin: Origin, options: Mapping[str, Any]) -> Path | None:
    """Return the file for a description, named by a hash of all that the description depends on.

    None: it may depend on more, as that of a user's code, or of a model that a hub may change.
    """
    if not origin.is_bundled:
        return None
    try:
        inputs = build_options(origin)(**options).list_inputs()
        if inputs is None:
            return None
        signed = [list(_sign_files(path)) for path in (*map(Path, workloads.__path__), *inputs)]
        packages = _sign_packages()
    except (OSError, RuntimeError, TypeError, ValueError):  # the description will refuse them, in one line
        return None
    parts = (name, dict(options), signed, packages, sys.version, os.environ.get("PYTHONPATH"))
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return default_cache() / "described" / f"{digest}.json"


def read(place: Path) -> Any:
    """Return a description as plain values; None: there is none."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads(place.read_bytes())
    return None


def write(place: Path, description: Any) -> None:
    """Keep a description; a full disk costs time in the next command, and nothing now."""
    with contextlib.suppress(OSError), written_whole(place) as partial:
        partial.write_text(json.dumps(description))


def _sign_files(path: Path) -> Iterator[tuple[str, int, int, int]]:
    """Yield path, size and times of a file, or of all files of a folder but compiled ones.

    Raises:
        ValueError: a folder of too many files.
    """
    paths = list(islice(path.rglob("*"), _MOST_FILES + 1)) if path.is_dir() else [path]
    if len(paths) > _MOST_FILES:
        raise ValueError(f"{path} has more than {_MOST_FILES:,} files")
    for one in sorted(paths):
        if one.suffix != ".pyc" and not one.is_dir():
            stat = one.stat()
            yield str(one.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def _sign_packages() -> list[tuple[str, int]]:
    """Return path and time of the folders of installed packages, which every installation changes.

    Raises:
        ValueError: a library lies elsewhere, as one that is developed: its files may change.
    """
    folders = [Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    for library in _LIBRARIES:
        spec = find_spec(library)
        if spec is not None and (spec.origin is None or Path(spec.origin).parents[1] not in folders):
            raise ValueError(f"{library} is not in a folder of installed packages")
    return [(str(folder), folder.stat().st_mtime_ns) for folder in folders if folder.is_dir()]
