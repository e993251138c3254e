"""Preemption polls of a trial, and the number of notices."""

import math

from orchestrator.execute.trial.supervisor import PreemptionPoller


def test_a_notice_is_shown_once():
    poller = PreemptionPoller(lambda: True)
    assert [poller.poll(now=now) for now in (0.0, 5.0, 10.0)] == [True, False, False]


def test_preemption_is_not_polled_before_it_is_due():
    asked = []
    poller = PreemptionPoller(lambda: bool(asked.append(None)))
    for now in (0.0, 0.5, 1.9, 2.0, 2.1):
        assert not poller.poll(now=now)
    assert len(asked) == 2
    assert poller.due == 4.0


def test_preemption_is_not_polled_after_a_stop_request():
    asked = []
    poller = PreemptionPoller(lambda: asked.append(None) or True)
    assert poller.poll(now=1.0)
    poller.hurry()
    assert poller.due == math.inf
    assert not poller.poll(now=100.0)
    assert len(asked) == 1


def test_a_message_before_the_stop_request_makes_the_poll_due_at_once():
    poller = PreemptionPoller(lambda: False)
    poller.poll(now=1.0)
    poller.hurry()
    assert poller.due == 0.0
