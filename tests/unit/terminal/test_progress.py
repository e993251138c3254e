"""Progress of a sweep, counted by hand."""

import pytest
from builders import placement, record, trial_spec

from orchestrator.core.interval import Spread
from orchestrator.core.placement import Attempt
from orchestrator.core.result import Failure
from orchestrator.terminal.progress import Progress, clock_words, left_words

TORCH = [placement(trial_spec(seed=seed)) for seed in range(3)]
REHEARSAL = placement(trial_spec(device="t4"), provenance="rehearsed")
LOST = Failure(kind="worker_lost", message="rank 0 was killed")


def ended(place, *, seconds, **changes):
    return record(placement=place, started_at=0.0, ended_at=seconds, **changes)


def run(progress, place, *, seconds, **changes):
    progress.start(Attempt(placement=place, number=1), now=0.0)
    progress.end(ended(place, seconds=seconds, **changes))


def test_before_a_trial_has_ended_no_time_is_estimated():
    progress = Progress(TORCH)
    progress.start(Attempt(placement=TORCH[0], number=1), now=0.0)
    assert progress.seconds_left(now=5.0) is None
    assert progress.line(now=5.0) == "0 of 3 done"


def test_counts_are_shown_by_how_trials_ended():
    progress = Progress([*TORCH, REHEARSAL])
    run(progress, TORCH[0], seconds=400.0)
    run(progress, TORCH[1], seconds=400.0, failure=LOST)
    run(progress, REHEARSAL, seconds=1.0)
    assert progress.line(now=801.0).startswith("3 of 4 done: 1 measured, 1 rehearsed, 1 failed; ")
    assert (progress.num_done, progress.num_failed) == (3, 1)


def test_what_runs_counts_with_its_rest_and_what_waits_for_hardware_counts_whole():
    progress = Progress(TORCH)
    run(progress, TORCH[0], seconds=3.0)
    whole = progress.seconds_left(now=3.0).median / 2
    attempt = Attempt(placement=TORCH[1], number=1)
    progress.start(attempt, now=3.0)
    assert progress.seconds_left(now=5.0).median == pytest.approx(2 * whole)
    progress.place(attempt, now=5.0)
    assert progress.seconds_left(now=6.0).median == pytest.approx(2 * whole - 1.0)


def test_a_trial_that_starts_again_is_not_done():
    progress = Progress(TORCH[:1])
    run(progress, TORCH[0], seconds=5.0, failure=LOST)
    assert progress.line(now=5.0) == "1 of 1 done: 1 failed"
    progress.start(Attempt(placement=TORCH[0], number=2), now=5.0)
    assert progress.line(now=5.0).startswith("0 of 1 done; ")
    progress.end(ended(TORCH[0], seconds=5.0))
    assert progress.line(now=10.0) == "1 of 1 done: 1 measured"


def test_a_search_has_no_total_and_no_remaining_time():
    progress = Progress(TORCH, is_open=True)
    run(progress, TORCH[0], seconds=30.0)
    assert progress.line(now=30.0) == "1 done: 1 measured"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        ((0.5, 0.4, 0.6), ""),
        ((20.0, 15.2, 25.1), "15 to 25 s left"),
        ((20.0, 19.8, 20.2), "about 20 s left"),
        ((131.0, 118.0, 170.0), "2 to 3 min left"),
        ((1310.0, 1112.0, 1634.0), "19 to 27 min left"),
        ((9000.0, 7300.0, 36000.0), "2 to 10 h left"),
        ((1e6, 0.7e6, 1.6e6), "190 to 440 h left"),
    ],
)
def test_the_remaining_time_is_a_range_of_two_digits(seconds, words):
    spread = seconds and Spread(median=seconds[0], low=seconds[1], high=seconds[2])
    assert left_words(spread) == words


@pytest.mark.parametrize(("seconds", "words"), [(7.9, "0:07"), (72.0, "1:12"), (3723.0, "1:02:03")])
def test_a_clock_has_hours_where_there_are_any(seconds, words):
    assert clock_words(seconds) == words


@pytest.mark.parametrize(
    ("kept", "state"),
    [
        (record(), "measured"),
        (record(placement=REHEARSAL), "rehearsed"),
        (record(placement=REHEARSAL, failure=LOST), "failed"),
    ],
)
def test_a_record_is_measured_rehearsed_or_failed(kept, state):
    assert kept.outcome == state
