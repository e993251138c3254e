"""Fixed records in, what a terminal of 80, 120 and 200 columns shows out.

A change is looked at, then kept with `UPDATE_GOLDEN=1 pytest tests/golden`.
"""

import io
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from report_builders import PRICE, tpu_vs_gpu
from rich.console import Console
from stage_files import at_stage, timing

from orchestrator.analysis.findings import collect_findings
from orchestrator.core.placement import Attempt, Cached, Plan
from orchestrator.core.trial_progress import TrialEvent
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.record.running_plan import RunningPlan
from orchestrator.terminal.ending import choose_ending
from orchestrator.terminal.live_screen import drawn
from orchestrator.terminal.live_view import LiveProgress
from orchestrator.terminal.plan import print_plan
from orchestrator.terminal.printing import print_ending, print_table
from orchestrator.terminal.progress import Progress
from orchestrator.terminal.status import print_status

FOLDER = Path(__file__).with_name("terminal")
WIDTHS = (80, 120, 200)
HEIGHT = 24
HEAD = 40  # lines of the full report that are kept

RECORDS, REPORTED = tpu_vs_gpu()
PLACES = tuple(
    replace(place, trial=replace(place.trial, steps=300, timing=TimingSpec()))
    for place in {record.trial_id: record.placement for record in RECORDS}.values()
)
ENDED = tuple(record for record in RECORDS[:18] if record.failure is None)
RUNNING = PLACES[17]
BEGAN, NOW = RECORDS[0].started_at - 2.0, RECORDS[17].ended_at + 4.0
PLAN = replace(REPORTED, placements=PLACES, cached=())


def end(console: Console, _: Path) -> None:
    """The end of `run` and `report`."""
    print_ending(console, choose_ending(collect_findings(RECORDS, REPORTED)), remarks=())


def full(console: Console, _: Path) -> None:
    """The tables of `report --full`."""
    for table in collect_findings(RECORDS, REPORTED).tables:
        print_table(console, table)


def live(console: Console, folder: Path) -> None:
    """The live view in the middle of a sweep, whose seventh block is timed."""
    now = BEGAN
    progress = LiveProgress(PLAN, Progress(PLACES), folder=folder, clock=lambda: now)
    for record in ENDED:
        attempt = Attempt(placement=record.placement, number=record.attempt)
        progress.started(attempt)
        progress.ended(record)
    now = NOW - 4.0
    progress.started(Attempt(placement=RUNNING, number=1))
    progress.placed(Attempt(placement=RUNNING, number=1))
    now = NOW
    with at_stage(folder, RUNNING.trial_id, timing(7)):
        console.print(drawn(progress.state(), width=console.width, height=HEIGHT, is_ascii=False))


def status(console: Console, folder: Path) -> None:
    """`status` in another terminal at that time."""
    steps = [
        *(TrialEvent(trial_id=one.trial_id, attempt=0, stage="queued", at=BEGAN) for one in PLACES),
        *(
            TrialEvent(trial_id=one.trial_id, attempt=one.attempt, stage="finished", at=one.ended_at)
            for one in ENDED
        ),
        TrialEvent(trial_id=RUNNING.trial_id, attempt=1, stage="running", at=NOW - 4.0),
    ]
    with at_stage(folder, RUNNING.trial_id, timing(7)):
        print_status(
            console,
            PLAN,
            ENDED,
            steps,
            folder=folder,
            holder="process 4711",
            running=RunningPlan(plan=PLAN, since=BEGAN),
            now=NOW,
        )


def plan(console: Console, _: Path) -> None:
    """`plan` of a sweep with some results."""
    cached = tuple(
        Cached(trial=place.trial, trial_id=place.trial_id, provenance=place.provenance)
        for place in (*PLACES[:8], *PLACES[-2:])
    )
    told: Plan = replace(PLAN, placements=PLACES[8:-2], cached=cached)
    prices = [(place.trial, PRICE) for place in told.placements]
    print_plan(console, told, prices=prices, list_all=False)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shown", [end, full, live, status, plan])
def test_a_terminal_shows_what_it_showed(
    shown: Callable[[Console, Path], None], width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system=None, width=width, height=HEIGHT, record=True
    )
    shown(console, tmp_path)
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    folded = [line for line in lines if not line.startswith("next: ") and "  python -m " not in line]
    assert max(map(len, folded)) <= width, "commands alone are unbroken"
    text = "\n".join(lines[:HEAD]) + "\n"
    file = FOLDER / f"{shown.__name__}_{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()
