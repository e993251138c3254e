"""Empty MLflow databases, kept once for each MLflow, because its migrations take seconds for a new one."""

import contextlib
import hashlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

_MIGRATIONS = Path("store") / "db_migrations" / "versions"
_MADE_BY_MIGRATIONS = frozenset({"alembic_version", "workspaces"})
_MADE_BY_FIRST_USE = frozenset({"experiments", "experiment_tags"})
"""Tables of the default experiment: its folder of artifacts depends on where the database lies."""


def copy_template(database: Path, *, cache: Path) -> bool:
    """Create a database from the template of the installed MLflow; return False where there is none.

    A database that another process creates in the meantime stays as it is.
    """
    template = _template_in(cache)
    if template is None or not template.is_file():
        return False
    with contextlib.suppress(OSError), _beside(database) as new:
        shutil.copyfile(template, new)
        os.link(new, database)
        return True
    return False


def keep_template(database: Path, *, cache: Path) -> None:
    """Keep a copy of a database that MLflow just created, without rows, for the next one.

    A database that holds more than its default experiment is not copied. A cache that cannot be written is
    left alone: MLflow creates the next database, too.
    """
    template = _template_in(cache)
    if template is None or template.exists():
        return
    with contextlib.suppress(OSError, sqlite3.Error):
        template.parent.mkdir(parents=True, exist_ok=True)
        with _beside(template) as new:
            if _copy_empty(database, new):
                new.replace(template)


def _template_in(cache: Path) -> Path | None:
    """Return the path of the template for the installed MLflow's version and migrations."""
    found = find_spec("mlflow")
    if found is None or found.origin is None:
        return None
    try:
        digest = hashlib.sha256(version("mlflow").encode())
        for migration in sorted((Path(found.origin).parent / _MIGRATIONS).glob("*.py")):
            digest.update(migration.read_bytes())
    except (OSError, PackageNotFoundError):
        return None
    return cache / f"mlflow-{digest.hexdigest()[:16]}.db"


def _copy_empty(database: Path, copy: Path) -> bool:
    """Copy the database without its default experiment; return False where it has further rows."""
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("DELETE FROM experiment_tags")
        target.execute("DELETE FROM experiments WHERE experiment_id = 0")
        target.commit()
        tables = [name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        filled = {name for name in tables if target.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()}  # noqa: S608
        if not filled <= _MADE_BY_MIGRATIONS or not set(tables) >= _MADE_BY_FIRST_USE:
            return False
        target.execute("VACUUM")
    return True


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Name a new file in the folder of `path`, and remove it at the end if it is still there."""
    new = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        yield new
    finally:
        new.unlink(missing_ok=True)
