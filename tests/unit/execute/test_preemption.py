"""Preemption polls of a trial, and the number of notices."""

from orchestrator.execute.trial.supervisor import PreemptionPoller


def test_a_notice_is_told_once():
    notices = PreemptionPoller(lambda: True)
    assert [notices.have_come(now=now) for now in (0.0, 5.0, 10.0)] == [True, False, False]


def test_nobody_is_asked_before_it_is_time():
    asked = []
    notices = PreemptionPoller(lambda: bool(asked.append(None)))
    for now in (0.0, 0.5, 1.9, 2.0, 2.1):
        assert not notices.have_come(now=now)
    assert len(asked) == 2
    assert notices.due == 4.0
