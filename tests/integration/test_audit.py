"""The audit of pinned versions, with a server of advisories and without one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from local_server import served
from repository import ROOT

_AUDIT = ROOT / "tools/audit.py"


class _Advisories(BaseHTTPRequestHandler):
    """Server with one advisory: one version of one package."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_bad = (asked["package"]["name"], asked["version"]) == ("leaky", "1.0")
        affected = [{"package": asked["package"]}]
        found = {"vulns": [{"id": "PYSEC-0-1", "affected": affected, "summary": "leaks"}]} if is_bad else {}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def advisories() -> Iterator[str]:
    with served(_Advisories) as url:
        yield f"{url}/v1/query"


def audit(folder: Path, pinned: str, server: str) -> "subprocess.CompletedProcess[str]":
    (folder / "pinned.txt").write_text(f"{pinned}\n")
    words = [sys.executable, str(_AUDIT), "pinned.txt", "--osv-url", server]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_a_version_with_a_known_vulnerability_fails_and_is_named(tmp_path: Path, advisories: str) -> None:
    done = audit(tmp_path, "leaky==1.0", advisories)
    assert done.returncode == 1
    assert "PYSEC-0-1" in done.stdout


def test_a_version_without_one_passes(tmp_path: Path, advisories: str) -> None:
    done = audit(tmp_path, "leaky==1.1", advisories)
    assert (done.returncode, done.stdout) == (0, "")
    assert "No known vulnerabilities found" in done.stderr


def test_an_audit_without_a_server_is_no_pass(tmp_path: Path) -> None:
    done = audit(tmp_path, "leaky==1.0", "http://127.0.0.1:9/v1/query")
    assert (done.returncode, done.stderr) == (
        3,
        "NOT AUDITED: pinned.txt: no server of advisories answers\n",
    )


def test_what_cannot_be_read_fails(tmp_path: Path, advisories: str) -> None:
    assert audit(tmp_path, "leaky>=", advisories).returncode == 1
