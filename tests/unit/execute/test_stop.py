"""Stop requests from another terminal and from this one."""

import os
import signal

import pytest

from orchestrator.execute.scheduling.stop import StopSignals, request


@pytest.fixture
def said():
    return []


@pytest.fixture
def stop_signals(tmp_path, said):
    return StopSignals(tmp_path, on_message=said.append)


def test_without_a_request_none_is_reported(stop_signals, said):
    with stop_signals.accepting_requests():
        assert stop_signals.requested() is None
    assert said == []


@pytest.mark.parametrize("halt", ["pause", "cancel"])
def test_a_request_from_another_terminal_is_followed_and_shown_once(stop_signals, said, tmp_path, halt):
    with stop_signals.accepting_requests():
        request(tmp_path, halt)
        assert (stop_signals.requested(), stop_signals.requested()) == (halt, halt)
    assert len(said) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_request_to_a_killed_driver_is_not_followed_by_the_next_one(stop_signals, tmp_path):
    request(tmp_path, "cancel")
    with stop_signals.accepting_requests():
        assert stop_signals.requested() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_cancels_and_a_second_one_interrupts(stop_signals, said, number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), stop_signals.handling_signals():  # noqa: PT012  # both
        os.kill(os.getpid(), number)
        assert stop_signals.requested() == "cancel"
        assert len(said) == 1
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_after_a_pause_a_sweep_can_be_cancelled(stop_signals, said, tmp_path):
    with stop_signals.accepting_requests():
        for halt in ("pause", "cancel"):
            request(tmp_path, halt)
            assert stop_signals.requested() == halt
    assert len(said) == 2


@pytest.mark.parametrize("written", [b"explode", b"", b"\xff\xfe"])
def test_an_invalid_request_is_ignored(stop_signals, tmp_path, written):
    with stop_signals.accepting_requests():
        (tmp_path / "halt").write_bytes(written)
        assert stop_signals.requested() is None
