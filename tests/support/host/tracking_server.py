"""The tracking server of `deploy/mlflow`, started here by its own script on a real PostgreSQL."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repository import ROOT

_DEBIAN = os.pathsep.join(f"/usr/lib/postgresql/{version}/bin" for version in (15, 16, 17))


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A tracking server, its folder, and every secret that it knows."""

    uri: str
    folder: Path
    password: str
    secrets: tuple[str, ...]

    def variables(self, password: str | None = None) -> dict[str, str]:
        """Return the environment variables of a client."""
        return {
            "MLFLOW_TRACKING_USERNAME": "admin",
            "MLFLOW_TRACKING_PASSWORD": password or self.password,
            "MLFLOW_HTTP_REQUEST_TIMEOUT": "60",  # the first answer of a server takes seconds on a busy host
        }


def postgresql() -> Path | None:
    """The folder of PostgreSQL's programs, if it is installed."""
    initdb = shutil.which("initdb", path=f"{os.environ['PATH']}{os.pathsep}{_DEBIAN}")
    return Path(initdb).resolve().parent if initdb else None


@contextlib.contextmanager
def database(programs: Path, password: str) -> Iterator[str]:
    """A new database with that password; yields what follows the @ of its address.

    Only a socket in its own folder leads to it. PostgreSQL refuses to run as root, and then runs as nobody.
    """
    is_root = os.getuid() == 0
    owner = pwd.getpwnam("nobody") if is_root else pwd.getpwuid(os.getuid())
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # not below pytest's, into which no other user may look
    (folder / "password").write_text(password)
    for value in (folder, folder / "password"):
        os.chown(value, owner.pw_uid, owner.pw_gid)
    how: dict[str, Any] = {
        "cwd": folder,
        **({"user": owner.pw_uid, "group": owner.pw_gid} if is_root else {}),
    }
    initdb = [programs / "initdb", "-D", folder / "data", "-U", "mlflow", "-A", "scram-sha-256"]
    start = [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses="]
    try:
        subprocess.run([*initdb, f"--pwfile={folder}/password"], check=True, capture_output=True, **how)
        with (
            (folder / "log").open("w") as log,
            _running(start, signal.SIGINT, stdout=log, stderr=log, **how) as it,
        ):
            _wait_until(lambda: (folder / ".s.PGSQL.5432").exists(), it)
            yield f"/postgres?host={folder}"
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def tracking_server(programs: Path, folder: Path) -> Iterator[Server]:
    """The server on some free port of the loopback; its secrets are files in the folder."""
    hidden = {name: secrets.token_hex(16) for name in ("database_password", "admin_password", "session_key")}
    (folder / "secrets").mkdir()
    for name, value in hidden.items():
        (folder / "secrets" / name).write_text(f"{value}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    uri = f"http://127.0.0.1:{port}"
    command = ["sh", ROOT / "deploy" / "mlflow" / "start.sh"]
    with database(programs, hidden["database_password"]) as address, (folder / "log").open("w") as log:
        environment = {**os.environ, **_variables(folder, address, port)}
        how: dict[str, Any] = {"cwd": folder, "env": environment, "stdout": log, "stderr": log}
        with _running(command, signal.SIGKILL, start_new_session=True, **how) as process:
            _wait_until(lambda: _answers(f"{uri}/health"), process)
            yield Server(
                uri=uri, folder=folder, password=hidden["admin_password"], secrets=tuple(hidden.values())
            )


def _variables(folder: Path, address: str, port: str) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(folder),
        "SECRETS": str(folder / "secrets"),
        "DATABASE": address,
        "MLFLOW_HOST": "127.0.0.1",
        "MLFLOW_PORT": port,
        "MLFLOW_WORKERS": "1",
        "MLFLOW_ARTIFACTS_DESTINATION": str(folder / "artifacts"),
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }


@contextlib.contextmanager
def _running(command: list[Any], how: signal.Signals, **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """A process, ended with the body; with SIGKILL its whole session."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        os.killpg(process.pid, how) if how == signal.SIGKILL else process.send_signal(how)
        process.wait()


def _wait_until(is_ready: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    for _ in range(1200):
        assert process.poll() is None, "it ended"
        if is_ready():
            return
        time.sleep(0.1)
    raise AssertionError("it did not start")


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1):
        return True
    return False
