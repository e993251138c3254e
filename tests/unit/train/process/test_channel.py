"""Messages between two ends of a real socket."""

import socket

import pytest

from orchestrator.train.process.channel import Channel, ChannelClosedError


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        for value in (one, other):
            value.settimeout(5.0)
        yield one, other


def test_a_message_arrives_as_it_was_sent(ends):
    one, other = map(Channel, ends)
    message = {"event": "failed", "message": "first line\nsecond \u2028 line é", "numbers": [1, 2.5, None]}
    one.send(message)
    assert other.receive() == message


def test_messages_arrive_in_order_and_one_by_one(ends):
    one, other = map(Channel, ends)
    one.send({"number": 1})
    one.send({"number": 2})
    assert other.receive() == {"number": 1}
    assert other.take() == {"number": 2}
    assert other.take() is None


def test_a_message_in_pieces_is_put_together(ends):
    for piece in (b'{"a": "\xc3', b'\xa9"}', b'\n{"b": 2}\n{"c"'):
        ends[0].sendall(piece)
    other = Channel(ends[1])
    assert [other.receive(), other.receive()] == [{"a": "é"}, {"b": 2}]
    assert other.take() is None


def test_a_message_sent_before_the_end_is_received(ends):
    one, other = map(Channel, ends)
    one.send({"event": "report"})
    one.close()
    assert other.receive() == {"event": "report"}
    with pytest.raises(ChannelClosedError, match=r"^the other end closed$"):
        other.receive()


def test_half_a_message_at_the_end_is_no_message(ends):
    ends[0].sendall(b'{"event": "rep')
    ends[0].close()
    with pytest.raises(ChannelClosedError, match=r"^the other end closed$"):
        Channel(ends[1]).receive()


def test_half_a_message_is_read_without_waiting_for_the_rest(ends):
    ends[0].sendall(b'{"event": "rep')
    other = Channel(ends[1])
    other.read()
    assert other.take() is None


@pytest.mark.parametrize("half", [b'{"event": "rep', b'{"message": "\xc3', b"{", b'{"event": "report"'])
def test_an_unfinished_message_of_a_dead_sender_does_not_spoil_the_next_one(ends, half):
    ends[0].sendall(half)
    Channel(ends[0]).send({"event": "exited", "code": -9})
    assert Channel(ends[1]).receive() == {"event": "exited", "code": -9}


def test_sending_without_a_receiver_raises(ends):
    one, other = map(Channel, ends)
    other.close()
    with pytest.raises(ChannelClosedError, match="Broken pipe"):
        one.send({"event": "meet"})


def test_a_peer_that_sends_no_message_in_time_counts_as_gone(ends):
    ends[0].settimeout(0.001)
    with pytest.raises(ChannelClosedError, match="timed out"):
        Channel(ends[0]).receive()


def test_a_channel_can_be_polled_as_its_socket(ends):
    assert Channel(ends[0]).fileno() == ends[0].fileno()


def test_what_is_no_object_is_passed_over(ends):
    ends[0].sendall(b'5\n[]\nnull\n"text"\n' + b"[" * 10**5 + b'\n{"a": 1}\n')
    assert Channel(ends[1]).receive() == {"a": 1}


def test_an_end_that_never_ends_its_object_is_given_up(ends, monkeypatch):
    monkeypatch.setattr("orchestrator.train.process.channel.MOST_BYTES", 1000)
    ends[0].sendall(b"x" * 2000)
    with pytest.raises(ChannelClosedError, match=r"^the other end said more than 1,000 bytes at once$"):
        Channel(ends[1]).receive()
