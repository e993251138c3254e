"""A server that answers as Compute Engine's metadata server does."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from local_server import served

_PREFIX = "/computeMetadata/v1/"


@contextmanager
def metadata_server(values: Mapping[str, str]) -> Iterator[str]:
    """Serve the values, which may change meanwhile, and yield the server's host and port."""

    class Handler(BaseHTTPRequestHandler):
        """Handler of requests for a value, which need Google's header."""

        def do_GET(self) -> None:
            key = self.path.removeprefix(_PREFIX)
            is_allowed = self.headers["Metadata-Flavor"] == "Google"
            status = HTTPStatus.OK if key in values else HTTPStatus.NOT_FOUND
            self.send_response(status if is_allowed else HTTPStatus.FORBIDDEN)
            self.end_headers()
            if is_allowed and key in values:
                self.wfile.write(values[key].encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with served(Handler) as url:
        yield url.removeprefix("http://")
