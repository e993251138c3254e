"""Remaining time in sweeps that really ran: the estimate after each trial against what then came.

`recorded/NAME.json` has when the trials of a sweep started and ended, as `TaskTime` values.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.core import codec
from orchestrator.terminal.eta import Estimator, TaskTime

FOLDER = Path(__file__).with_name("recorded")
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
BUSY = "tpu_vs_gpu_busy"  # other programs ran on that host: all of its measured trials are noisy
FACTORS = {name: 2.0 if name == BUSY else 1.5 for name in NAMES}
END_SECONDS = 10.0  # at the end of a sweep one slow start of a framework is more than the rest


def recorded(name):
    plain = json.loads((FOLDER / f"{name}.json").read_text())
    return sorted((codec.from_plain(TaskTime, one) for one in plain), key=lambda time: time.ended_at)


def replay(times, history=()):
    """Yield the estimate and the truth after the second trial and each later one."""
    estimator = Estimator(history)
    end = times[-1].ended_at
    for number, time in enumerate(times, start=1):
        estimator.end(time)
        now, left = time.ended_at, times[number:]
        running = [(one.task, one.started_at) for one in left if one.started_at <= now]
        waiting = Counter(one.task for one in left if one.started_at > now)
        estimate = estimator.seconds_left(waiting, running, now=now)
        if number > 1 and end - now > END_SECONDS:
            yield estimate, end - now


def shares(name, history=()):
    """Shares of the estimates that lie within the factor, and of the truths within the ranges."""
    pairs = list(replay(recorded(name), history))
    factor = FACTORS[name]
    near = [1 / factor <= estimate.median / truth <= factor for estimate, truth in pairs]
    inside = [estimate.low <= truth <= estimate.high for estimate, truth in pairs]
    return sum(near) / len(near), sum(inside) / len(inside)


def test_there_are_sweeps_with_measurements_rehearsals_and_several_trainers():
    tasks = [time.task for name in NAMES for time in recorded(name)]
    assert len(NAMES) >= 3
    assert {task.provenance for task in tasks} == {"measured", "rehearsed"}
    assert {task.trainer for task in tasks} == {"tensorflow", "torch_ddp", "torch_xla"}


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_within_its_factor_from_the_second_trial_on(name):
    near, _ = shares(name)
    assert near >= 0.9


@pytest.mark.parametrize("name", NAMES)
def test_most_ranges_hold_what_came(name):
    _, inside = shares(name)
    assert inside >= (0.65 if name == BUSY else 0.85)


@pytest.mark.parametrize("name", NAMES)
def test_with_the_history_of_the_same_sweep_the_first_estimate_is_as_good(name):
    times = recorded(name)
    estimator = Estimator(times)
    estimate = estimator.seconds_left(Counter(time.task for time in times))
    assert 1 / FACTORS[name] <= estimate.median / times[-1].ended_at <= FACTORS[name]
