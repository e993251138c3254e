"""A tracker behind a thread: one waits for a slow one at the end alone, and not for one that is stuck."""

import threading
from pathlib import Path

import pytest
from builders import record
from sweep_outlines import outline

from orchestrator.record.tracking import background as mirror
from orchestrator.record.tracking.background import BackgroundTracker
from orchestrator.record.tracking.tracker import NoTracker

REPORT = [Path("report.html")]
LACKS = "the tracking server lacks records; `sync`, or the next run of the sweep, sends them"


class Slow:
    """A tracker that takes each record when it is let, and remembers what it was told."""

    def __init__(self):
        self.told = []
        self.missed = self.refused = self.sent = 0
        self.experiment_id = "7"
        self.ended = threading.Event()
        self._may_go_on = threading.Semaphore(0)

    def let(self, count=1):
        self._may_go_on.release(count)

    def shows(self, files, *, outline, kept):
        return (len(files), outline.name, len([*kept])) == (1, "example", 1)

    def begin(self, outline):
        self.told.append(("begin", outline.name))

    def sync(self, kept):
        raise AssertionError(f"records are handed over one by one, and not {kept}")

    def save(self, record, metrics):
        self._may_go_on.acquire()
        self.told.append(("keep", record.attempt, *metrics))
        self.sent += 1

    def finish(self, files, *, predictions=()):
        self.told.append(("finish", len(files), *predictions))
        self.ended.set()

    def attach(self, files, *, outline, kept):
        self.told.append(("attach", outline.name, len(files), len([*kept])))


class Broken(NoTracker):
    """A tracker that raises, as none should."""

    def save(self, record, metrics):  # noqa: ARG002
        raise AttributeError("no such field")


def test_a_tracker_that_raises_costs_a_warning_and_no_time(caplog):
    tracker = BackgroundTracker(Broken(), is_on_this_host=True)
    tracker.begin(outline("swept"))
    for _ in range(2):
        tracker.save(record(), {})
        tracker.wait_for_writes()
    tracker.finish(())
    assert tracker.missed == 2
    assert caplog.messages == ["the tracking server failed: AttributeError: no such field", LACKS]


@pytest.fixture
def slow():
    found = Slow()
    yield found
    found.let(10_000)


@pytest.fixture
def hasty(monkeypatch):
    """Patience of milliseconds."""
    for name in ("_INTERRUPTED_SECONDS", "_PATIENCE_SECONDS"):
        monkeypatch.setattr(mirror, name, 0.01)


def begun(slow):
    tracker = BackgroundTracker(slow)
    tracker.begin(outline("example"))
    return tracker


def test_all_is_handed_over_in_order_and_the_end_waits_for_it(slow):
    tracker = begun(slow)
    tracker.sync([(record(attempt=1), {}), (record(attempt=2), {})])
    tracker.save(record(attempt=3), {})  # nobody has taken the first one yet
    slow.let(3)
    tracker.finish(REPORT)
    assert slow.told == [("begin", "example"), ("keep", 1), ("keep", 2), ("keep", 3), ("finish", 1)]
    assert (tracker.sent, tracker.missed, tracker.experiment_id) == (3, 0, "7")


@pytest.mark.usefixtures("hasty")
def test_an_interrupted_sweep_leaves_what_waits_to_the_next_command(slow):
    tracker = begun(slow)
    for attempt in (1, 2, 3):
        tracker.save(record(attempt=attempt), {})
    tracker.finish(())
    slow.let(3)
    assert slow.ended.wait(10)
    assert ("keep", 2) not in slow.told  # the thread may have begun with the first one
    assert slow.told[-1] == ("finish", 0)


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_stuck_is_shown_and_left(slow, caplog):
    tracker = begun(slow)
    tracker.save(record(), {})
    tracker.finish(REPORT)
    assert caplog.messages == [LACKS]


class GetsOn(Slow):
    """One that is seen to get on once, and then no more."""

    def __init__(self):
        self._seen = [0]
        super().__init__()

    @property
    def sent(self):
        return self._seen.pop() if self._seen else 1

    @sent.setter
    def sent(self, _):
        pass


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_behind_is_shown_and_waited_for_while_it_gets_on(caplog):
    slow = GetsOn()
    tracker = begun(slow)
    tracker.save(record(), {})
    tracker.finish(REPORT)
    slow.let()
    behind = "the tracking server is behind; Ctrl-C leaves what waits for it to `sync`"
    assert caplog.messages == [behind, LACKS]


def test_more_than_can_wait_stays_in_the_ledger_and_is_shown(slow, caplog, monkeypatch):
    monkeypatch.setattr(mirror, "_MOST_WAITING", 2)
    tracker = begun(slow)
    for attempt in range(1, 6):
        tracker.save(record(attempt=attempt), {})
    slow.let(5)
    tracker.finish(REPORT)
    assert tracker.missed in (2, 3)  # the thread may have begun with the first one already
    assert tracker.sent + tracker.missed == 5
    assert caplog.messages == [LACKS]


def test_before_a_trial_a_database_of_this_host_is_waited_for(slow):
    tracker = BackgroundTracker(slow, is_on_this_host=True)
    tracker.begin(outline("example"))
    tracker.wait_for_writes()
    assert slow.told == [("begin", "example")]
    tracker.save(record(), {})
    threading.Timer(0.05, slow.let).start()
    tracker.wait_for_writes()
    assert slow.told == [("begin", "example"), ("keep", 1)]


def test_before_a_trial_a_server_is_not_waited_for(slow):
    tracker = begun(slow)
    tracker.save(record(), {})
    tracker.wait_for_writes()
    assert ("keep", 1) not in slow.told


@pytest.mark.usefixtures("hasty")
def test_a_database_that_is_stuck_holds_no_trial_for_ever(slow):
    tracker = BackgroundTracker(slow, is_on_this_host=True)
    tracker.begin(outline("example"))
    tracker.save(record(), {})
    tracker.wait_for_writes()
    assert ("keep", 1) not in slow.told


def test_what_is_shown_is_asked_at_once(slow):
    tracker = BackgroundTracker(slow)
    assert tracker.shows(REPORT, outline=outline("example"), kept=[(record(), {})])
    assert not tracker.shows(REPORT, outline=outline("example"), kept=[])


def test_a_report_is_attached_at_once(slow):
    BackgroundTracker(slow).attach(REPORT, outline=outline("example"), kept=[(record(), {})])
    assert slow.told == [("attach", "example", 1, 1)]
