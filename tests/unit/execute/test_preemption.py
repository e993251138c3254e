"""Preemption polls of a trial, and the number of notices."""

from orchestrator.execute.trial.supervisor import PreemptionPoller


def test_a_notice_is_told_once():
    poller = PreemptionPoller(lambda: True)
    assert [poller.have_come(now=now) for now in (0.0, 5.0, 10.0)] == [True, False, False]


def test_nobody_is_asked_before_it_is_time():
    asked = []
    poller = PreemptionPoller(lambda: bool(asked.append(None)))
    for now in (0.0, 0.5, 1.9, 2.0, 2.1):
        assert not poller.have_come(now=now)
    assert len(asked) == 2
    assert poller.due == 4.0
