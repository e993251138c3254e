"""An S3 server from a package, in a process of its own, and the variables with which clients reach it."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

BUCKET = "bucket"
SECRET = "a-secret-key"


@dataclass(frozen=True, slots=True)
class S3:
    """A server that may be down; one that starts again has forgotten everything but its address."""

    port: int

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of a client that gives up after its first attempt."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the server with an empty bucket."""
        command = [sys.executable, "-m", "moto.server", "--port", str(self.port)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._make_bucket(process)
            yield
        finally:
            process.kill()
            process.wait()

    def _make_bucket(self, process: "subprocess.Popen[bytes]") -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{BUCKET}", method="PUT")
        for _ in range(600):
            assert process.poll() is None, "the server ended"
            try:
                with urllib.request.urlopen(request, timeout=10):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")


def s3() -> S3:
    """S3 server at a free port."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return S3(probe.getsockname()[1])
