"""Downloads that go on where they stopped: beside the target, checked, then renamed."""

import base64
import os
import re
import ssl
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit

PIECE_SECONDS = 5.0
"""Longest wait for a connection and for each piece of the answer."""

TOTAL_SECONDS = 900.0
"""Longest time for one file; what was received until then is kept for the next try."""

LARGEST_BYTES = 2**30
"""Most bytes of one file: six times the largest known data set. A server that sends more is refused."""

_PIECE_BYTES = 2**18

Progress = Callable[[int, int | None], None]
"""(bytes received, bytes in all or None if the server does not report them)."""


class DownloadError(ValueError):
    """A failed download, with its address and the reason."""


def download(
    url: str,
    path: Path,
    *,
    trouble_with: Callable[[Path], str | None],
    progress: Progress | None = None,
    limit_seconds: float = TOTAL_SECONDS,
    limit_bytes: int = LARGEST_BYTES,
) -> None:
    """Put the file at `url` to `path`; a broken download of it, kept as `.<name>.part`, is continued.

    Args:
        trouble_with: function from a complete file to its fault, or None.

    Raises:
        DownloadError: no answer, too slow, too large, or not the expected file. In the last two cases nothing
            is kept.
    """
    part = path.with_name(f".{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    continued = part.exists()
    try:
        deadline = time.monotonic() + limit_seconds
        _receive(url, part, progress=progress, deadline=deadline, limit_bytes=limit_bytes)
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadError(f"download of {public(url)} failed: {error}") from error
    trouble = trouble_with(part)
    if trouble is None:
        part.replace(path)
        return
    part.unlink()
    if not continued:
        raise DownloadError(f"download of {public(url)} failed: {trouble}")
    download(
        url,
        path,
        trouble_with=trouble_with,
        progress=progress,
        limit_seconds=limit_seconds,
        limit_bytes=limit_bytes,
    )


def text_at(url: str, *, limit_bytes: int = 2**24) -> str:
    """The page at `url`, cut at `limit_bytes`.

    Raises:
        DownloadError: no answer.
    """
    try:
        with _opened(url) as answer:
            return answer.read(limit_bytes).decode(errors="replace")
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadError(f"{public(url)} cannot be read: {error}") from error


def public(url: str) -> str:
    """`url` without user and password, for messages."""
    return re.sub(r"//[^/?#]*@", "//", url)  # also of one that is no address


def _receive(url: str, part: Path, *, progress: Progress | None, deadline: float, limit_bytes: int) -> None:
    with _opened(url, skip=part.stat().st_size if part.exists() else 0) as answer, part.open("ab") as file:
        if answer.status != 206:  # the server sends all of it again
            file.truncate(0)
        done = file.seek(0, os.SEEK_END)
        rest = answer.headers["Content-Length"]
        total = None if rest is None else done + int(rest)
        while piece := answer.read1(_PIECE_BYTES):
            done += len(piece)
            if max(done, total or 0) > limit_bytes:
                part.unlink()
                raise ValueError(f"it is larger than {limit_bytes:,} bytes")
            file.write(piece)
            if progress is not None:
                progress(done, total)
            if time.monotonic() > deadline:
                raise TimeoutError(f"out of time after {done} bytes; the next try continues")
    if total is not None and done < total:
        raise ConnectionError(f"the connection ended after {done} of {total} bytes; the next try continues")


def _opened(url: str, *, skip: int = 0) -> HTTPResponse:
    request = _request(url)
    if skip:
        request.add_header("Range", f"bytes={skip}-")
    try:
        return _answer(request)
    except HTTPError as error:
        if error.code != 416 or not skip:  # 416: the kept part is longer than the file
            raise
    return _answer(_request(url))


def _answer(request: urllib.request.Request) -> HTTPResponse:
    authorities = os.environ.get("PIP_CERT") if request.type == "https" else None
    context = ssl.create_default_context(cafile=authorities) if authorities else None
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _Redirects())
    answer: HTTPResponse = opener.open(request, timeout=PIECE_SECONDS)
    return answer


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Followed without user and password where they lead to another server, and to http and https alone."""

    def redirect_request(self, req: urllib.request.Request, *args: Any) -> urllib.request.Request | None:
        """Next request."""
        redirected = super().redirect_request(req, *args)
        if redirected is not None:
            _check_scheme(redirected.type)
            if _find_server(redirected) != _find_server(req):
                redirected.remove_header("Authorization")
        return redirected


def _find_server(request: urllib.request.Request) -> tuple[str, str]:
    return request.type, request.host


def _check_scheme(scheme: str) -> None:
    if scheme not in ("http", "https"):
        raise ValueError(f"{scheme!r} is neither http nor https")


def _request(url: str) -> urllib.request.Request:
    parts = urlsplit(url)
    _check_scheme(parts.scheme)
    request = urllib.request.Request(public(url))  # noqa: S310  of these two schemes
    if parts.username is not None:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(secret.encode()).decode()}")
    return request
