"""Addresses for the workers of a trial, at ports that nobody else is given while it runs."""

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def reserved_addresses(count: int) -> Iterator[tuple[str, ...]]:
    """Loopback addresses, `host:port`, one a rank.

    Their ports are bound and not listened at. Linux then gives them to nobody who asks for any free port, and
    lets a worker listen there that asks to reuse the address: torch and TensorFlow do.
    """
    with contextlib.ExitStack() as held:
        ports = [held.enter_context(_bound()).getsockname()[1] for _ in range(count)]
        yield tuple(f"127.0.0.1:{port}" for port in ports)


def _bound() -> socket.socket:
    """A socket at a port that is free on every interface, for TensorFlow listens on all of them."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("", 0))
    return one
