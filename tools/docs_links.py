"""Links of the built site that lead out of it, asked for at their servers: `make docs-links`."""

import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

_SECONDS = 20
_AT_ONCE = 8
_AGENT = {"User-Agent": "Mozilla/5.0 (link check)"}


class _Links(HTMLParser):
    """Collector of the addresses that a page leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses |= {value for name, value in attrs if name == "href" and value}


def addresses_of(site: Path) -> tuple[str, ...]:
    """Return the addresses outside the site that its pages lead to."""
    links = _Links()
    for page in sorted(site.rglob("*.html")):
        links.feed(page.read_text())
    return tuple(
        sorted(address for address in links.addresses if address.startswith(("http://", "https://")))
    )


def fault_of(address: str) -> str | None:
    """Return why a server does not give the page; None if it does."""
    request = urllib.request.Request(address, headers=_AGENT)  # noqa: S310  # http or https
    try:
        urllib.request.urlopen(request, timeout=_SECONDS).close()  # noqa: S310
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        return str(error)
    return None


def main(words: Sequence[str]) -> int:
    """Print the links that lead nowhere; return 1 if there is one, and 2 for a wrong request."""
    if len(words) != 1 or not (Path(words[0]) / "index.html").exists():
        print(
            "docs_links: give the folder of the built site: python tools/docs_links.py site", file=sys.stderr
        )
        return 2
    addresses = addresses_of(Path(words[0]))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        faults = tuple(pool.map(fault_of, addresses))
    for address, fault in zip(addresses, faults, strict=True):
        if fault:
            print(f"{address}: {fault}")
    print(f"{len(addresses)} links, {sum(fault is not None for fault in faults)} lead nowhere")
    return int(any(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
