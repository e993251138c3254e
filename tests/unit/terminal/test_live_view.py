"""Live view of a running sweep: a table in a terminal, lines in a pipe."""

import io

from builders import placement, record, trial_spec
from rich.console import Console

from orchestrator.core.placement import Attempt
from orchestrator.core.result import Failure
from orchestrator.terminal.live_view import watching

PLACES = [placement(trial_spec(seed=seed)) for seed in range(30)]
LONG = Failure(kind="error", message="RuntimeError: " + "a long story " * 20)


def in_a_pipe():
    return Console(file=io.StringIO(), width=160)


def in_a_terminal(**size):
    return Console(file=io.StringIO(), force_terminal=True, **size)


def on_screen(console):
    """The lines that the last drawing put there."""
    last = console.file.getvalue().rpartition("\x1b[2K")[2].removesuffix("\x1b[?25h")
    return [line.rstrip() for line in last.splitlines()]


def test_a_pipe_gets_a_line_when_an_attempt_ends():
    console = in_a_pipe()
    with watching(console, PLACES[:2], ledger="records.jsonl") as watcher:
        watcher.started(Attempt(placement=PLACES[0], number=1))
        assert console.file.getvalue() == ""
        watcher.ended(record(placement=PLACES[0]))
    assert console.file.getvalue() == (
        "measured   mnist_cnn cpu torch_ddp fp32  6,400 samples/s, accuracy 0.970  "
        "[1 of 2 done: 1 measured; about 3 s left]\n"
    )


def test_a_failure_is_told_whole_in_a_pipe():
    console = in_a_pipe()
    with watching(console, PLACES[:1], ledger="records.jsonl") as watcher:
        watcher.started(Attempt(placement=PLACES[0], number=1))
        watcher.ended(record(placement=PLACES[0], failure=LONG))
    (line,) = console.file.getvalue().splitlines()
    assert line.startswith(
        "failed     mnist_cnn cpu torch_ddp fp32  error: RuntimeError: a long story a long"
    )
    assert LONG.message in line


def test_a_rehearsal_tells_no_rate_but_what_stood_in_for_what():
    console = in_a_pipe()
    rehearsal = placement(
        trial_spec(device="t4"), provenance="rehearsed", substitutions=("cpu for t4", "gloo for nccl")
    )
    with watching(console, [rehearsal], ledger="records.jsonl") as watcher:
        watcher.started(Attempt(placement=rehearsal, number=1))
        watcher.ended(record(placement=rehearsal))
    assert "torch_ddp fp32  cpu for t4, gloo for nccl  [1 of 1 done: 1 rehearsed]" in console.file.getvalue()
    assert "samples/s" not in console.file.getvalue()


def test_a_terminal_shows_what_ended_what_runs_and_how_much_is_left():
    console = in_a_terminal(width=100, height=20)
    with watching(console, PLACES[:3], ledger="records.jsonl") as watcher:
        watcher.started(Attempt(placement=PLACES[0], number=1))
        watcher.ended(record(placement=PLACES[0]))
        watcher.started(Attempt(placement=PLACES[1], number=2))
        watcher.placed(Attempt(placement=PLACES[1], number=2))
    ended, running, progress = on_screen(console)
    assert ended.split() == [
        "measured",
        "mnist_cnn",
        "cpu",
        "torch_ddp",
        "fp32",
        "3.0",
        "s",
        "6,400",
        "samples/s,",
        "accuracy",
        "0.970",
    ]
    assert running.startswith("running   mnist_cnn cpu torch_ddp fp32 seed 1  since ")
    assert running.endswith("attempt 2")
    assert progress == "1 of 3 done: 1 measured; about 6 s left"


def test_a_terminal_tells_what_waits_for_hardware_from_what_runs():
    console = in_a_terminal(width=100, height=20)
    with watching(console, PLACES[:3], ledger="records.jsonl") as watcher:
        for place in PLACES[:2]:
            watcher.started(Attempt(placement=place, number=1))
        watcher.withdrawn(Attempt(placement=PLACES[0], number=1))
    starting, progress = on_screen(console)
    assert starting.startswith("starting  mnist_cnn cpu torch_ddp fp32 seed 1  since ")
    assert progress == "0 of 3 done"


def test_a_terminal_shows_at_once_that_nothing_is_done_yet():
    console = in_a_terminal(width=100, height=20)
    with watching(console, PLACES[:3], ledger="records.jsonl"):
        pass
    assert on_screen(console)[-1] == "0 of 3 done"


def test_a_small_terminal_keeps_the_progress_and_the_latest_in_sight():
    console = in_a_terminal(width=80, height=8)
    with watching(console, PLACES, ledger="records.jsonl") as watcher:
        for place in PLACES:
            watcher.started(Attempt(placement=place, number=1))
            watcher.ended(record(placement=place, failure=LONG))
    lines = on_screen(console)
    assert len(lines) == 7
    assert lines[-1] == "30 of 30 done: 30 failed"
    assert "seed 29" in lines[-2]
    assert max(map(len, lines)) <= 80


def test_where_nothing_is_to_be_done_nothing_is_drawn():
    console = in_a_terminal(width=80, height=8)
    with watching(console, [], ledger="records.jsonl"):
        pass
    assert console.file.getvalue() == ""
