"""Empty MLflow databases, kept once for each MLflow, because its migrations take seconds for a new one."""

import contextlib
import hashlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

_MIGRATIONS = Path("store") / "db_migrations" / "versions"
_MADE_BY_MIGRATIONS = frozenset({"alembic_version", "workspaces"})
_MADE_BY_FIRST_USE = frozenset({"experiments", "experiment_tags"})
"""Tables of the default experiment: its folder of artifacts depends on where the database lies."""


def create_database(database: Path, *, cache: Path, migrate: Callable[[Path], object]) -> None:
    """Create a database from the template of the installed MLflow, or by its migrations where there is none.

    It appears at its place when it is complete, because MLflow refuses one with incomplete migrations. A
    database that another process creates in the meantime stays as it is. Where this fails, nothing is there,
    and MLflow creates the database at its first use. A cache that cannot be written costs the template alone.

    Args:
        migrate: lets MLflow create its tables in a file that is not there.
    """
    template = _template_in(cache)
    with contextlib.suppress(OSError, sqlite3.Error), _beside(database) as new:
        if template is not None and template.is_file():
            shutil.copyfile(template, new)
        else:
            with _beside(database) as filled:
                migrate(filled)
                if not _copy_empty(filled, new):
                    return
            if template is not None:
                _keep_template(new, template)
        os.link(new, database)


def _keep_template(database: Path, template: Path) -> None:
    with contextlib.suppress(OSError):
        template.parent.mkdir(parents=True, exist_ok=True)
        with _beside(template) as new:
            shutil.copyfile(database, new)
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
