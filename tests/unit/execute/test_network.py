"""Ports that are a trial's own, asked of the kernel."""

import errno
import socket

import pytest

from orchestrator.execute.machine.network import find_interface, reserved_addresses


def port_of(address: str) -> int:
    host, _, port = address.rpartition(":")
    assert host == "127.0.0.1"
    return int(port)


def test_each_rank_has_an_address_of_its_own():
    with reserved_addresses(3) as one, reserved_addresses(3) as other:
        assert len({*one, *other}) == 6


@pytest.mark.parametrize("interface", ["127.0.0.1", ""])
def test_a_worker_can_listen_at_its_address(interface):
    with (
        reserved_addresses(1) as (address,),
        socket.create_server((interface, port_of(address))) as server,
        socket.create_connection(("127.0.0.1", port_of(address)), timeout=5.0),
    ):
        server.accept()[0].close()


@pytest.mark.parametrize("interface", ["127.0.0.1", ""])
def test_a_reserved_port_is_refused_to_a_socket_that_does_not_share_it(interface):
    with reserved_addresses(1) as (address,), socket.socket() as stranger:
        with pytest.raises(OSError, match="in use") as caught:
            stranger.bind((interface, port_of(address)))
        assert caught.value.errno == errno.EADDRINUSE


def test_a_port_is_free_again_when_the_trial_has_ended():
    with reserved_addresses(1) as (address,):
        pass
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", port_of(address)))


def test_among_hosts_of_a_network_an_address_is_that_of_this_host():
    with reserved_addresses(1, ip="10.0.0.1") as (address,):
        assert address.startswith("10.0.0.1:")


def test_the_interface_of_an_address_is_known_by_its_name():
    assert find_interface("127.0.0.1") == "lo"


def test_an_address_of_another_host_is_on_no_interface():
    with pytest.raises(OSError, match=r"no network interface of .* has the address 192\.0\.2\.1"):
        find_interface("192.0.2.1")  # RFC 5737: it is nobody's
