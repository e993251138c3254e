"""Time that a trial waits for a cloud node: anew from the first sign of one."""

from dataclasses import dataclass

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

from orchestrator.core.settings import Deadlines
from orchestrator.execute.on_ray import tune_adapters
from orchestrator.execute.on_ray.tune_adapters import FirstSigns

LIMIT = 1800.0


@dataclass
class Clock:
    """Clock that a test sets."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class PendingTrial:
    """A Tune trial that waits."""

    PENDING, RUNNING, status, trial_id = "PENDING", "RUNNING", "PENDING", "1"

    def init_local_path(self) -> None:
        """Make no folder."""


class Controller:
    """Tune's controller, which keeps the trials that were stopped."""

    def __init__(self) -> None:
        self.trials = [PendingTrial()]
        self.stopped: list[PendingTrial] = []

    def get_live_trials(self) -> list[PendingTrial]:
        return [trial for trial in self.trials if trial not in self.stopped]

    def get_trials(self) -> list[PendingTrial]:
        return []

    def stop_trial(self, trial: PendingTrial) -> None:
        self.stopped.append(trial)


class Searcher:
    """A searcher whose only trial waits for a pool."""

    is_stopped = False

    def request_stops(self) -> None:
        """Stop nothing."""

    def find_pools(self, _trial_id: str) -> tuple[str, ...]:
        return ("t4-spot",)


def seconds_until_stopped(monkeypatch, starting: dict[float, set[str]]) -> float:
    """Return when a waiting trial is ended; `starting` has the autoscaler's state from each second on."""
    clock = Clock()

    def state() -> set[str]:
        return [pools for second, pools in starting.items() if second <= clock.now][-1]

    monkeypatch.setattr(tune_adapters.time, "monotonic", clock)
    deadlines = Deadlines(resources_seconds=LIMIT, start_seconds=60.0, run_seconds=60.0)
    signs = FirstSigns(state, clock=clock)
    scheduler, controller = tune_adapters.DeadlineScheduler(deadlines, Searcher(), signs), Controller()
    while not controller.stopped:
        scheduler.choose_trial_to_run(controller)
        clock.now += 10.0
        assert clock.now < 10 * LIMIT
    return clock.now


def test_a_pool_that_never_starts_a_node_ends_the_trial_in_time(monkeypatch):
    assert seconds_until_stopped(monkeypatch, {0.0: set()}) == pytest.approx(LIMIT, abs=30.0)


def test_a_node_that_starts_late_has_the_whole_time(monkeypatch):
    late = {0.0: set(), 1500.0: {"t4-spot"}}
    assert seconds_until_stopped(monkeypatch, late) == pytest.approx(1500.0 + LIMIT, abs=30.0)


def test_a_node_that_stays_pending_does_not_wait_for_ever(monkeypatch):
    flickering = {0.0: set(), 600.0: {"t4-spot"}, 900.0: set(), 1200.0: {"t4-spot"}}
    assert seconds_until_stopped(monkeypatch, flickering) == pytest.approx(600.0 + LIMIT, abs=30.0)


def test_a_node_of_another_pool_is_no_sign(monkeypatch):
    assert seconds_until_stopped(monkeypatch, {0.0: {"l4"}}) == pytest.approx(LIMIT, abs=30.0)


def test_a_trial_without_a_pool_asks_no_autoscaler():
    def refuse() -> set[str]:
        raise AssertionError

    assert not FirstSigns(refuse).is_first("1", ())
