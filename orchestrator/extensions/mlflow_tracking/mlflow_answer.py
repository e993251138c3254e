"""Check whether a tracking server answers, before there is anything to send. Needs no MLflow."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from orchestrator.core.errors import ConfigError
from orchestrator.core.printable import without_secrets
from orchestrator.extensions.mlflow_tracking.mlflow_client import (
    POSSIBLE,
    absolute,
    find_database,
    name_source,
)
from orchestrator.record.timeout import call_with_timeout

_SECONDS = 3


def explain_silence(uri: str) -> str | None:
    """Explain why the server or database does not answer; None where it does. Takes three seconds at most.

    Raises:
        ConfigError: it never can: it is not a database, or no address of a server.
        RecordError: another kind of URI.
    """
    try:
        place = absolute(uri)
        database = find_database(place)
        return _silence_of_file(database, uri) if database else _silence_of_server(place)
    except OSError as error:
        return _format_cause(error)
    except (ValueError, RuntimeError) as error:  # a null byte, a loop of links, a bracket without its other
        raise _refusal(uri, f"is not understood: {error}") from error


def require_address(uri: str) -> SplitResult:
    """Return the parts of an address.

    Raises:
        ConfigError: no server can have it.
        RecordError: another kind of URI.
    """
    address = urlsplit(absolute(uri))
    if address.scheme == "sqlite":
        return address
    try:
        port = address.port
    except ValueError:
        port = 0
    if port == 0:
        raise _refusal(uri, "has no such port as a server can have: 1 to 65535")
    if not address.hostname:
        raise _refusal(uri, "names no host")
    return address


def _silence_of_file(path: Path, uri: str) -> str | None:
    if not path.exists():
        above = next(parent for parent in path.parents if parent.exists())
        if not above.is_dir():
            raise _refusal(uri, f"is not a database: {str(above)!r} is not a folder")
        return None
    if not path.is_file():
        raise _refusal(uri, "is not a database: it is not a file")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_SECONDS)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError as error:  # it is locked, or somebody else's
        return str(error)
    except sqlite3.DatabaseError as error:
        raise _refusal(uri, "is not a database") from error
    return None


def _silence_of_server(uri: str) -> str | None:
    import ssl
    import urllib.request
    from http.client import HTTPException, InvalidURL

    address = require_address(uri)
    place = address._replace(netloc=address.netloc.rpartition("@")[2], query="", fragment="").geturl()
    request = urllib.request.Request(f"{place.rstrip('/')}/health")  # noqa: S310  http or https
    try:
        call_with_timeout(_SECONDS, lambda: urllib.request.urlopen(request, timeout=_SECONDS).close())  # noqa: S310
    except TimeoutError:
        return f"no answer within {_SECONDS} s"
    except InvalidURL as error:
        raise _refusal(uri, f"is not understood: {error}") from error
    except urllib.error.HTTPError as answer:  # it wants a password, or has no such page: it is there
        answer.close()
        return None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLError):  # MLflow may have been told to trust it
            return None
        raise error.reason if isinstance(error.reason, OSError) else error from error
    except HTTPException as error:
        return _format_cause(error)
    return None


def _format_cause(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"


def _refusal(uri: str, cause: str) -> ConfigError:
    return ConfigError(f"{name_source(uri)}={without_secrets(uri)} {cause}; {POSSIBLE}")
