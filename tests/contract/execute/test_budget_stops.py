"""Trials over a cap leave a checkpoint and are not restarted; a larger cap lets them continue."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders import record, train_result
from noop_trials import HERE, context, counting, inline, noop, on_ray
from plan_builders import device
from price_builders import price_list
from process_tracking import Family, family, heeds_sigterm
from queues import queue_for
from trials import Unwatched

from orchestrator.core.budget import Budget
from orchestrator.core.placement import Placement
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.settings import Checkpointing
from orchestrator.execute.executor import Executor, SweepContext
from orchestrator.execute.scheduling.budget import BudgetTracker
from orchestrator.execute.trial import supervisor
from orchestrator.plan.pricing import PriceBook
from orchestrator.plan.spending import Quotes

STEPS = 10_000
SECOND = 1 / 3600
"""In node-hours."""


def budget_tracker(
    told: SweepContext, trial: Placement, *, hours: float, clock: Callable[[], float] = time.monotonic
) -> BudgetTracker:
    """Tracker of a sweep whose trial is estimated to take a tenth of a second."""
    nothing = {"launch_seconds": 0.0, "training_seconds": 0.0, "evaluation_seconds": 0.0}
    instant = train_result(first_step_seconds=0.0, warmup_seconds=0.0, **nothing)
    price_book = PriceBook(devices={"cpu": device()}, prices=price_list(), today="2026-09-22")
    known = record(placement=trial, result=instant, started_at=0.0, ended_at=0.1)
    return BudgetTracker(
        Budget(hours=hours),
        records=(),
        quotes=Quotes([known], price_book=price_book, deadlines=told.deadlines),
        price_book=price_book,
        idle_seconds=0.0,
        clock=clock,
    )


def run(
    executor: Executor, told: SweepContext, *trials: Placement, tracker: BudgetTracker
) -> list[TrialRecord]:
    records: list[TrialRecord] = []
    queue = queue_for(trials, told, HERE, budget_tracker=tracker)
    executor.run_queue(queue, told, Unwatched(), on_record=records.append)
    return records


class Clock:
    """Clock that stands still until the worker receives the notice; then much time has passed."""

    def __init__(self, relatives: Family) -> None:
        self._relatives = relatives
        self._now = 0.0

    def __call__(self) -> float:
        if not self._now and any(map(heeds_sigterm, self._relatives.workers())):
            self._now = 10.0
        return self._now


@pytest.mark.more
def test_what_the_cap_stops_goes_on_from_its_checkpoint_under_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Checkpointing(every_seconds=300.0, grace_seconds=20.0, url=str(tmp_path / "checkpoints"))
    told = context(tmp_path, checkpointing=kept, retry_limits={"preempted": 10})
    monkeypatch.setattr(supervisor, "_SECONDS", 0.2)
    trial = counting(STEPS)
    with family(monkeypatch) as relatives:
        small = budget_tracker(told, trial, hours=SECOND, clock=Clock(relatives))
        [left] = run(inline(), told, trial, tracker=small)
    assert left.failure is not None
    assert left.failure.kind == "budget", left.failure
    assert left.failure.message.startswith("told to leave (SIGTERM) after step ")
    assert left.failure.message.endswith(": budget.hours=0.000277778 is spent")
    assert small.balance.stopped == ("budget.hours=0.000277778",)
    again = replace(told, prior_attempts={left.trial_id: 1})
    [resumed] = run(inline(), again, trial, tracker=budget_tracker(told, trial, hours=1.0))
    assert (resumed.failure, resumed.attempt) == (None, 2)
    assert resumed.result is not None
    assert resumed.result.resumed_from_step > 0
    assert resumed.result.steps == STEPS


@pytest.mark.more_cases("on_ray")
@pytest.mark.parametrize("executor", [inline, on_ray])
def test_the_cap_stops_a_trial_on_every_executor_and_no_trial_starts_after_it(
    executor: Callable[[], Executor], tmp_path: Path
) -> None:
    told = context(tmp_path, retry_limits={"preempted": 10})
    hangs = noop("hang")
    tracker = budget_tracker(told, hangs, hours=SECOND)
    [left] = run(executor(), told, hangs, noop(), tracker=tracker)
    assert left.failure == Failure(
        kind="budget", message="rank 0 died of SIGTERM: budget.hours=0.000277778 is spent"
    )
    assert [cap for cap, _ in tracker.balance.left_out] == ["budget.hours=0.000277778"]


def test_a_sweep_without_a_trial_that_fits_the_budget_ends_at_once(tmp_path: Path) -> None:
    nothing = budget_tracker(context(tmp_path), noop(), hours=0.0)
    assert run(inline(), context(tmp_path), noop(), noop(seed=1), tracker=nothing) == []
    assert len(nothing.balance.left_out) == 2
