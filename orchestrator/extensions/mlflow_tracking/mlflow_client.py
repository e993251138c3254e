"""An MLflow client that is quiet, gives up soon, and prints no secret."""

import getpass
import logging
import os
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from orchestrator.core.errors import RecordError
from orchestrator.core.printable import without_secrets
from orchestrator.extensions.mlflow_tracking.database_template import create_database
from orchestrator.extensions.mlflow_tracking.moved_artifacts import relocate_artifacts
from workloads.data.sources import default_cache

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SQLITE = "sqlite:///"
VARIABLE = "MLFLOW_TRACKING_URI"
"""Variable of MLflow that sets the address where nothing else does."""

POSSIBLE = f"possible: {_SQLITE}<file>, http://…, https://…, or none: tracking=none"
"""Possible values of `tracking.uri`, for error messages."""

INSTALL = "pip install 'mlflow>=3.17,<4', or set tracking=none"
"""Cure of an absent package, for error messages."""

_LOUD = {  # the store tells their failures, in one line
    "mlflow": logging.ERROR,
    "mlflow.store.db.utils": logging.CRITICAL,  # it logs the traceback of an error that it raises
    "alembic": logging.ERROR,
    "urllib3.connectionpool": logging.ERROR,
}
_SETTINGS = {  # what the user sets wins
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false",  # a server may say tomorrow
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # of each run, where a server has pages
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


def absolute(uri: str) -> str:
    """Return the URI, independent of the working directory. Raises RecordError for an unknown kind."""
    database = find_database(uri)
    if database and database != Path():
        _, mark, options = uri.partition("?")
        path = str(database.resolve()).replace("%", "%25").replace("?", "%3F")
        return f"{_SQLITE}{path}{mark}{options}"
    if uri.startswith(("http://", "https://")):
        return uri
    raise RecordError(f"{name_source(uri)}={without_secrets(uri)!r} is not understood; {POSSIBLE}")


def name_source(uri: str) -> str:
    """Return what sets this address: MLflow's variable if it has it, else the key."""
    return VARIABLE if os.environ.get(VARIABLE) == uri else "tracking.uri"


def require_mlflow() -> None:
    """Raise RecordError if MLflow is not installed; it is not imported, which takes seconds."""
    if find_spec("mlflow") is None:
        raise RecordError(f"tracking=mlflow needs MLflow; {INSTALL}")


def load() -> None:
    """Import MLflow. Raises RecordError if it is not installed, or a package of it is missing."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import mlflow  # noqa: F401  the import is what it is for
    except ImportError as error:
        raise RecordError(f"tracking=mlflow needs MLflow: {error}; {INSTALL}") from error
    for name, level in _LOUD.items():
        logging.getLogger(name).setLevel(level)


def open_client(uri: str) -> "MlflowClient":
    """Open a database, created if it is not there, or a server, which is not asked yet.

    Artifacts of a database in a moved folder are found beside it.

    Raises:
        RecordError: MLflow is not installed.
    """
    load()
    from mlflow import MlflowClient

    database = find_database(uri)
    if not database:
        return MlflowClient(uri)
    database.parent.mkdir(parents=True, exist_ok=True)
    is_new = not database.exists()
    if is_new:
        create_database(database, cache=default_cache(), migrate=_migrate)
    _require_database(database)
    if not is_new:
        relocate_artifacts(database)
    return MlflowClient(uri)


def _migrate(database: Path) -> None:
    from mlflow import MlflowClient

    _require_database(database)
    MlflowClient(f"{_SQLITE}{quote(str(database.absolute()))}")


def find_database(uri: str) -> Path | None:
    """Return the file of a database; None of a server.

    As SQLAlchemy reads it: options follow a `?`, and `%20` is a blank.
    """
    path = unquote(uri.removeprefix(_SQLITE).partition("?")[0])
    return Path(path) if uri.startswith(_SQLITE) else None


def _require_database(path: Path) -> None:
    """Open it once by hand: mlflow 3.17 tries one that cannot be opened ten times, for 100 seconds."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA schema_version").fetchone()


def source_tags() -> dict[str, str]:
    """Return the tags that MLflow shows as source and creator of a run; a user without a name has none."""
    source = {"mlflow.source.name": "orchestrator", "mlflow.source.type": "LOCAL"}
    try:
        return {**source, "mlflow.user": getpass.getuser()}
    except (KeyError, OSError):  # a container's user that no file names
        return source


def find_cause(error: Exception) -> str:
    """Return the cause in one line for a log."""
    line = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {without_secrets(line)}"
