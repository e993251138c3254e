"""Progress of a sweep in a terminal."""

import io

from builders import placement, record, trial_spec
from rich.console import Console

from orchestrator.core.placement import Plan
from orchestrator.core.trial_state import TrialEvent
from orchestrator.terminal.status import print_status

DONE, RUNS, WAITS = (placement(trial_spec(seed=seed)) for seed in range(3))
STEPS = [
    *(
        TrialEvent(trial_id=value.trial_id, attempt=0, stage="queued", at=0.0)
        for value in (DONE, RUNS, WAITS)
    ),
    TrialEvent(trial_id=DONE.trial_id, attempt=1, stage="running", at=1.0),
    TrialEvent(trial_id=RUNS.trial_id, attempt=2, stage="running", at=86_400.0 * 365),
]
PLAN = Plan(sweep="example", placements=(RUNS, WAITS), cached=(), skipped=())
TOOK_30_SECONDS = record(placement=DONE, started_at=0.0, ended_at=30.0)


def shown(*, holder):
    console = Console(file=io.StringIO(), width=160)
    print_status(console, PLAN, [TOOK_30_SECONDS], STEPS, holder=holder)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_a_running_sweep_tells_what_is_under_way_and_how_much_is_left():
    title, _, row, totals, last = shown(holder="process 4711")
    assert title == "Under way of example"
    assert row.startswith("197")
    assert "running  mnist_cnn" in row
    assert row.endswith("seed 1  2")
    assert totals == "to run: 2 to measure, 0 to rehearse; 0 cached, 0 skipped; about 60 s left"
    assert last == "run by process 4711"


def test_of_a_driver_that_was_killed_it_tells_what_was_lost_and_estimates_nothing():
    title, _, row, note, totals, last = shown(holder=None)
    assert title == "Under way of example when its driver ended"
    assert "running  mnist_cnn" in row
    assert note == "The same command starts them again, from their checkpoints where they exist."
    assert "left" not in totals
    assert last == "not being run here"
