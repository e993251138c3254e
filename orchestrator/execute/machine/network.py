"""Addresses for the workers of a trial, on ports that stay reserved while it runs."""

import contextlib
import fcntl
import socket
import struct
from collections.abc import Iterator

LOOPBACK = "127.0.0.1"

_SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


@contextlib.contextmanager
def reserved_addresses(count: int, *, ip: str = LOOPBACK) -> Iterator[tuple[str, ...]]:
    """Addresses of this host, `ip:port`, one a rank.

    Their ports are bound but not listened on. Linux then assigns them to no other process, and
    lets a worker listen there that asks to reuse the address: torch and TensorFlow do.
    """
    with contextlib.ExitStack() as held:
        ports = [held.enter_context(_bound()).getsockname()[1] for _ in range(count)]
        yield tuple(f"{ip}:{port}" for port in ports)


def find_interface(ip: str) -> str:
    """The name of this host's network interface with that IPv4 address, `lo` for the loopback address.

    Raises:
        OSError: none has it.
    """
    for _, name in socket.if_nameindex():
        with contextlib.suppress(OSError):  # it has no IPv4 address
            request = struct.pack("256s", name.encode())
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                answer = fcntl.ioctl(any_socket, _SIOCGIFADDR, request)
            if socket.inet_ntoa(answer[20:24]) == ip:
                return name
    raise OSError(f"no network interface of {socket.gethostname()} has the address {ip}")


def _bound() -> socket.socket:
    """A socket at a port that is free on every interface, for TensorFlow listens on all of them."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("", 0))
    return one
