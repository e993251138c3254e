"""A server before another one, which answers late, wrongly or not at all."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from typing import Literal

from local_server import served

Fault = Literal["none", "error", "garbage", "lost"]
"""An error of the server, a page that is no answer, or an answer that is lost after the work was done."""


@dataclass
class Proxy:
    """Handling of requests by the proxy.

    Attributes:
        url: where it is asked.
        delay_seconds: before each answer.
        fault_of: (method, path) -> what goes wrong.
        asked: method and path of each request.
    """

    url: str = ""
    delay_seconds: float = 0.0
    fault_of: Callable[[str, str], Fault] = lambda _method, _path: "none"
    asked: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def before(port: int) -> Iterator[Proxy]:
    """A proxy of the server at a port of this machine, while the body runs."""
    proxy = Proxy()

    class Handler(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"] or 0))
            proxy.asked.append((self.command, self.path))
            time.sleep(proxy.delay_seconds)
            fault = proxy.fault_of(self.command, self.path)
            if fault == "error":
                self._answer(
                    500, b'{"error_code": "INTERNAL_ERROR", "message": "planted"}', "application/json"
                )
            elif fault == "garbage":
                self._answer(200, b"<html>welcome</html>", "text/html")
            else:
                answer = self._forward(content)
                if fault == "none":
                    self._answer(*answer)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815  the library's names

        def _forward(self, content: bytes) -> tuple[int, bytes, str]:
            connection = HTTPConnection("127.0.0.1", port)
            headers = {name: value for name, value in self.headers.items() if name != "Host"}
            connection.request(self.command, self.path, body=content, headers=headers)
            answer = connection.getresponse()
            found = answer.status, answer.read(), answer.getheader("Content-Type") or "text/plain"
            connection.close()
            return found

        def _answer(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with served(Handler) as proxy.url:
        yield proxy
