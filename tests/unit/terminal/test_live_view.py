"""Live view of a running sweep: a table in a terminal, lines in a pipe."""

import io
import re
from dataclasses import replace

import pytest
from builders import placement, record, trial_spec
from price_builders import price
from rich.console import Console
from stage_files import SETTING_UP, timing, wait_for_stage

from orchestrator.core.placement import Aim, Attempt, Plan
from orchestrator.core.result import Failure
from orchestrator.core.search import Search
from orchestrator.execute.trial.stages import StageFile
from orchestrator.terminal.live_view import watching

PLACES = [placement(trial_spec(repeat=repeat)) for repeat in range(30)]
OTHER = placement(trial_spec(trainer="tensorflow", precision="bf16"))
LONG = Failure(kind="error", message="RuntimeError: " + "a long story " * 20)
AIMS = {"mnist_cnn": Aim(metric="accuracy", higher_is_better=True)}


def plan(places, **changes):
    return Plan(sweep="example", placements=tuple(places), cached=(), skipped=(), aims=AIMS, **changes)


def watched(console, places, folder, **changes):
    options = {name: changes.pop(name) for name in ("history", "is_plain") if name in changes}
    return watching(console, plan(places, **changes), folder=folder, ledger="records.jsonl", **options)


@pytest.fixture(autouse=True)
def _not_in_a_ci_service(monkeypatch):
    monkeypatch.delenv("CI", raising=False)


def in_a_pipe():
    return Console(file=io.StringIO(), width=160)


def in_a_terminal(**size):
    return Console(file=io.StringIO(), force_terminal=True, color_system=None, **size)


def on_screen(console):
    """The lines that the last drawing put there."""
    last = console.file.getvalue().rpartition("\x1b[2K")[2].removesuffix("\x1b[?25h")
    return [line.rstrip() for line in last.splitlines()]


def run(watcher, place, **changes):
    attempt = Attempt(placement=place, number=1)
    watcher.started(attempt)
    watcher.placed(attempt)
    watcher.ended(record(placement=place, **changes))


def test_a_pipe_gets_a_line_when_an_attempt_ends(tmp_path):
    console = in_a_pipe()
    with watched(console, PLACES[:2], tmp_path) as watcher:
        watcher.started(Attempt(placement=PLACES[0], number=1))
        assert console.file.getvalue() == ""
        watcher.ended(record(placement=PLACES[0]))
    assert re.fullmatch(
        r"measured   mnist_cnn cpu torch_ddp fp32  6,400 samples/s, accuracy 0.970  "
        r"\[1 of 2 done: 1 measured; 2 to 3 s left\]\n",
        console.file.getvalue(),
    )


@pytest.mark.parametrize("how", ["plain", "dumb", "ci"])
def test_a_terminal_gets_plain_lines_on_request_and_in_continuous_integration(how, tmp_path, monkeypatch):
    if how != "plain":
        monkeypatch.setenv(*{"dumb": ("TERM", "dumb"), "ci": ("CI", "true")}[how])
    console = in_a_terminal(width=100, height=20)
    with watched(console, PLACES[:2], tmp_path, is_plain=how == "plain") as watcher:
        run(watcher, PLACES[0])
    assert console.file.getvalue().startswith("measured   mnist_cnn cpu torch_ddp fp32")
    assert "\x1b" not in console.file.getvalue()


def test_a_failure_is_shown_whole_in_a_pipe(tmp_path):
    console = in_a_pipe()
    with watched(console, PLACES[:1], tmp_path) as watcher:
        run(watcher, PLACES[0], failure=LONG)
    (line,) = console.file.getvalue().splitlines()
    assert line.startswith(
        "failed     mnist_cnn cpu torch_ddp fp32  error: RuntimeError: a long story a long"
    )
    assert LONG.message in line


def test_a_rehearsal_shows_no_rate_but_what_stood_in_for_what(tmp_path):
    console = in_a_pipe()
    rehearsal = placement(
        trial_spec(device="t4"), provenance="rehearsed", substitutions=("cpu for t4", "gloo for nccl")
    )
    with watched(console, [rehearsal], tmp_path) as watcher:
        run(watcher, rehearsal)
    assert "torch_ddp fp32  cpu for t4, gloo for nccl  [1 of 1 done: 1 rehearsed]" in console.file.getvalue()
    assert "samples/s" not in console.file.getvalue()


def test_a_terminal_shows_what_ended_what_runs_and_how_much_is_left(tmp_path):
    console = in_a_terminal(width=100, height=20)
    with watched(console, [*PLACES[:2], OTHER], tmp_path) as watcher:
        run(watcher, PLACES[0], price=price(is_hypothetical=True))
        watcher.started(Attempt(placement=PLACES[1], number=2))
        watcher.placed(Attempt(placement=PLACES[1], number=2))
        watcher.started(Attempt(placement=OTHER, number=1))
    head, facts, best, _, ended, running, starting = on_screen(console)
    assert re.fullmatch(r"example  ━+╸? +1 of 3 done  0:00 elapsed, \d+ to \d+ s left", head)
    assert facts == "$0.0030 hypothetical so far, 0 failed · mnist_cnn, cpu, batch 64, Some CPU x2"
    assert best == "best so far: torch_ddp fp32, 6,400 samples/s (the only setting measured so far)"
    assert ended == "✓  torch_ddp fp32 #0   3.0 s  6,400/s ±0.0%, accuracy 0.9700"
    assert running == "▶  torch_ddp fp32 #1   0:00   running, attempt 2"
    assert starting == "·  tensorflow bf16 #0  0:00   starting"


def test_a_running_trial_shows_the_stage_of_its_worker(tmp_path):
    console = in_a_terminal(width=100, height=20)
    with watched(console, PLACES[:2], tmp_path) as watcher:
        watcher.started(Attempt(placement=PLACES[0], number=1))
        with StageFile(tmp_path, PLACES[0].trial_id) as stage_file:
            wait_for_stage(tmp_path, PLACES[0].trial_id, SETTING_UP)
            watcher.placed(Attempt(placement=PLACES[0], number=1))
            assert on_screen(console)[-1].endswith("setting up")
            stage_file.show(timing(7), now=1.0)
            wait_for_stage(tmp_path, PLACES[0].trial_id, timing(7))
            watcher.placed(Attempt(placement=PLACES[0], number=1))
            assert on_screen(console)[-1].endswith("timing block 7 of 15")


def test_what_leads_has_a_verdict_after_enough_repeats(tmp_path):
    console = in_a_terminal(width=120, height=30)
    others = [replace(OTHER, trial_id=f"{number:016}") for number in range(5)]
    with watched(console, [*PLACES[:5], OTHER], tmp_path) as watcher:
        for place in (*PLACES[:5], *others):
            run(watcher, place)
    assert on_screen(console)[2].startswith("best so far: torch_ddp fp32, 6,400 samples/s (tie, 1.00x ")


def test_a_failed_trial_shows_its_cause_and_the_head_counts_it(tmp_path):
    console = in_a_terminal(width=100, height=20)
    with watched(console, PLACES[:1], tmp_path) as watcher:
        run(watcher, PLACES[0], failure=Failure(kind="oom", message="too large"), log_path="logs/1")
    _, facts, _, row = on_screen(console)
    assert facts.startswith("1 failed · ")
    assert row == "✗  cpu torch_ddp fp32  3.0 s  oom: too large · logs/1"


def test_a_terminal_shows_what_waits_for_hardware_from_what_was_withdrawn(tmp_path):
    console = in_a_terminal(width=100, height=20)
    with watched(console, PLACES[:3], tmp_path) as watcher:
        for place in PLACES[:2]:
            watcher.started(Attempt(placement=place, number=1))
        watcher.withdrawn(Attempt(placement=PLACES[0], number=1))
    *_, starting = on_screen(console)
    assert starting == "·  cpu torch_ddp fp32 #1  0:00  starting"


def test_a_terminal_shows_0_trials_done_at_once(tmp_path):
    console = in_a_terminal(width=100, height=20)
    with watched(console, PLACES[:3], tmp_path):
        pass
    head, facts = on_screen(console)
    assert head.endswith("0 of 3 done  0:00 elapsed")
    assert facts == "0 failed · mnist_cnn, batch 64, Some CPU x2"


def test_a_search_shows_no_bar_for_it_chooses_among_the_trials(tmp_path):
    console = in_a_terminal(width=100, height=20)
    with watched(console, PLACES[:3], tmp_path, search=Search(name="adaptive")) as watcher:
        run(watcher, PLACES[0])
    assert on_screen(console)[0] == "example  1 done  0:00 elapsed"


def test_a_small_terminal_keeps_the_progress_and_the_latest_in_sight(tmp_path):
    console = in_a_terminal(width=80, height=8)
    with watched(console, PLACES, tmp_path) as watcher:
        for place in PLACES:
            run(watcher, place, failure=LONG)
    lines = on_screen(console)
    assert len(lines) <= 7
    assert "30 of 30 done" in lines[0]
    assert "#29" in lines[-1]
    assert max(map(len, lines)) <= 80


def test_a_terminal_without_these_characters_gets_letters(tmp_path):
    class Ascii(io.StringIO):
        encoding = "ascii"

    console = Console(file=Ascii(), force_terminal=True, color_system=None, width=80, height=20)
    with watched(console, PLACES[:1], tmp_path) as watcher:
        run(watcher, PLACES[0])
    assert on_screen(console)[-1].startswith("ok  cpu torch_ddp fp32")


def test_without_trials_no_line_is_drawn(tmp_path):
    console = in_a_terminal(width=80, height=8)
    with watched(console, [], tmp_path):
        pass
    assert console.file.getvalue() == ""
