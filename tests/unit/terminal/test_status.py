"""Progress of a sweep in a terminal."""

import io

from builders import placement, record, trial_spec
from rich.console import Console
from stage_files import at_stage, timing

from orchestrator.core.placement import Plan
from orchestrator.core.trial_progress import TrialEvent
from orchestrator.record.running_plan import RunningPlan
from orchestrator.terminal.status import print_status

DONE, RUNS, WAITS = (placement(trial_spec(seed=seed)) for seed in range(3))
STEPS = [
    *(
        TrialEvent(trial_id=value.trial_id, attempt=0, stage="queued", at=0.0)
        for value in (DONE, RUNS, WAITS)
    ),
    TrialEvent(trial_id=DONE.trial_id, attempt=1, stage="running", at=1.0),
    TrialEvent(trial_id=DONE.trial_id, attempt=1, stage="finished", at=30.0),
    TrialEvent(trial_id=RUNS.trial_id, attempt=2, stage="running", at=86_400.0 * 365),
]
PLAN = Plan(sweep="example", placements=(DONE, RUNS, WAITS), cached=(), skipped=())
TOOK_30_SECONDS = record(placement=DONE, started_at=0.0, ended_at=30.0)


NOW = 86_400.0 * 365 + 10.0


def shown(folder, *, holder, running=None):
    console = Console(file=io.StringIO(), width=160)
    print_status(
        console,
        PLAN,
        [TOOK_30_SECONDS],
        STEPS,
        folder=folder,
        holder=holder,
        running=running,
        now=NOW,
    )
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_a_running_sweep_shows_what_is_under_way_by_the_plan_of_its_command(tmp_path):
    running = RunningPlan(plan=PLAN, since=0.0)
    with at_stage(tmp_path, RUNS.trial_id, timing(3)):
        title, _, row, note, done, last = shown(tmp_path, holder="process 4711", running=running)
    assert title == "Running trials of example"
    assert "timing block 3 of 15  cpu torch_ddp fp32 seed 1" in row
    assert row.endswith("  2")
    assert note == "All of them: mnist_cnn, batch 64, Some CPU x2."
    assert done.startswith("1 of 3 done: 1 measured; ")
    assert "s left; " in done
    assert done.endswith(" elapsed")
    assert last == "run by process 4711"


def test_records_from_before_the_command_count_as_history(tmp_path):
    running = RunningPlan(plan=PLAN, since=31.0)
    *_, done, _ = shown(tmp_path, holder="process 4711", running=running)
    assert done.startswith("0 of 3 done; ")


def test_the_status_of_a_killed_driver_shows_lost_trials_and_no_estimate(tmp_path):
    title, _, row, note, totals, last = shown(tmp_path, holder=None)
    assert title == "Running trials of example when its driver ended"
    assert "running  cpu torch_ddp" in row
    assert note == "The same command starts them again, from their checkpoints where they exist."
    assert "left" not in totals
    assert last == "not being run here"
