"""What stops a sweep, from another terminal and from this one."""

import os
import signal

import pytest

from orchestrator.execute.scheduling.stop import Halts, request


@pytest.fixture
def said():
    return []


@pytest.fixture
def halts(tmp_path, said):
    return Halts(tmp_path, say=said.append)


def test_nobody_wishes_anything_at_first(halts, said):
    with halts.received():
        assert halts.wished() is None
    assert said == []


@pytest.mark.parametrize("halt", ["pause", "cancel"])
def test_a_wish_from_another_terminal_is_heard_and_said_once(halts, said, tmp_path, halt):
    with halts.received():
        request(tmp_path, halt)
        assert (halts.wished(), halts.wished()) == (halt, halt)
    assert len(said) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_wish_for_a_driver_that_was_killed_is_not_the_next_ones(halts, tmp_path):
    request(tmp_path, "cancel")
    with halts.received():
        assert halts.wished() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_cancels_and_a_second_one_interrupts(halts, said, number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), halts.heard():  # noqa: PT012  # both
        os.kill(os.getpid(), number)
        assert halts.wished() == "cancel"
        assert len(said) == 1
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_after_a_pause_a_sweep_can_be_cancelled(halts, said, tmp_path):
    with halts.received():
        for halt in ("pause", "cancel"):
            request(tmp_path, halt)
            assert halts.wished() == halt
    assert len(said) == 2


@pytest.mark.parametrize("written", [b"explode", b"", b"\xff\xfe"])
def test_what_is_no_wish_is_none(halts, tmp_path, written):
    with halts.received():
        (tmp_path / "halt").write_bytes(written)
        assert halts.wished() is None
