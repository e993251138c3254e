"""A small web server on this machine, whose connections can be made to break."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler
from pathlib import Path

from local_server import served


@dataclass
class Site:
    """Files that a server offers, and the requests it received.

    Attributes:
        files: path -> content.
        redirects: path -> address that answers in its place.
        breaks_after: path -> bytes after which the next answer breaks off, once.
        knows_ranges: whether it can continue a broken download.
        tells_length: whether it says how long an answer is.
        asked: (path, Range header, Authorization header) of each request.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    breaks_after: dict[str, int] = field(default_factory=dict)
    knows_ranges: bool = True
    tells_length: bool = True
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)


@contextmanager
def serving() -> Iterator[Site]:
    """A site on some free port, while the body runs."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            site.asked.append((self.path, wanted, self.headers["Authorization"]))
            if self.path in site.redirects:
                self.send_response(302)
                self.send_header("Location", site.redirects[self.path])
                return self.end_headers()
            content = site.files.get(self.path)
            if content is None:
                return self.send_error(404)
            skip = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and site.knows_ranges else 0
            if skip >= len(content):
                return self.send_error(416)
            self.send_response(206 if skip else 200)
            if site.tells_length:
                self.send_header("Content-Length", str(len(content) - skip))
            self.end_headers()
            self.wfile.write(content[skip : site.breaks_after.pop(self.path, None)])
            return None

        def log_message(self, format: str, *args: object) -> None:
            pass

    with served(Handler) as site.url:
        yield site


@contextmanager
def serving_folder(folder: Path) -> Iterator[str]:
    """Serve the files of a folder while the body runs; yield the address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            pass

    with served(partial(Handler, directory=folder)) as address:
        yield address
