"""Descriptions of bundled jobs, kept from one command to the next: that of a language model takes 10 s."""

import contextlib
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import workloads
from workloads.data.files import written_whole
from workloads.data.sources import default_cache
from workloads.native.code import build_options
from workloads.origins import Origin


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
    except (OSError, TypeError, ValueError):  # options or files that the description will refuse
        return None
    # an installation changes the folder of packages, whatever its versions are
    packages = [Path(sysconfig.get_path(kind)).stat().st_mtime_ns for kind in ("purelib", "platlib")]
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
    """Yield path, size and times of a file, or of all files of a folder but compiled ones."""
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    for one in paths:
        if one.suffix != ".pyc" and not one.is_dir():
            stat = one.stat()
            yield str(one.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
