"""Files of Python packages: found in the index that pip is set up to use, never installed or run."""

import os
import re
import sys
from configparser import Error, RawConfigParser
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from workloads.data.download import DownloadError, public, text_at


def find_url(package: str, file_name: str) -> str:
    """Return the URL at which the index offers that file of a package.

    Raises:
        DownloadError: no index answers, or none offers the file.
    """
    troubles = []
    for index in _indexes():
        page = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', package).lower()}/"
        try:
            links = _links(text_at(page))
        except DownloadError as error:
            troubles.append(str(error))
            continue
        for link in links:
            if unquote(urlsplit(link).path.rpartition("/")[2]) == file_name:
                return urljoin(page, link).partition("#")[0]
        troubles.append(f"{public(page)} offers no {file_name}")
    raise DownloadError("; ".join(troubles) or f"pip has no index that could offer {file_name}")


def _indexes() -> list[str]:
    """Addresses of the indexes in pip's order: the one, then the extra ones; none with `no-index`."""
    settings = _pip_settings()
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return []
    first = settings.get("index-url") or _pips_default()
    return [*([first] if first else []), *settings.get("extra-index-url", "").split()]


def _pips_default() -> str | None:
    """The index that pip takes where nothing is set up; None without pip."""
    try:
        from pip._internal.models.index import PyPI  # pip has no public name for it
    except ImportError:
        return None
    return str(PyPI.simple_url)


def _pip_settings() -> dict[str, str]:
    """Read pip's configuration files and then its environment variables, as pip does."""
    settings: dict[str, str] = {}
    for path in _pip_files():
        parser = RawConfigParser()
        try:
            parser.read(path)
        except (Error, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())
            raise DownloadError(f"pip's configuration cannot be read: {reason}") from error
        for section in ("global", "download"):
            settings |= dict(parser.items(section)) if parser.has_section(section) else {}
    names = ("index-url", "extra-index-url", "no-index")
    variables = {name: os.environ.get(f"PIP_{name.replace('-', '_').upper()}") for name in names}
    return settings | {name: value for name, value in variables.items() if value is not None}


def _pip_files() -> tuple[Path, ...]:
    """List configuration files: of the machine, user, environment, and PIP_CONFIG_FILE; the last one wins."""
    chosen = os.environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return ()
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    machine = [
        Path(word) / "pip/pip.conf" for word in os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
    ]
    own = (home / ".pip/pip.conf", config / "pip/pip.conf", Path(sys.prefix) / "pip.conf")
    return (*machine, Path("/etc/pip.conf"), *own, *([Path(chosen)] if chosen else []))


class _LinkParser(HTMLParser):
    """Collects where the links of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of each link."""
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def _links(page: str) -> list[str]:
    parser = _LinkParser()
    parser.feed(page)
    return parser.links
