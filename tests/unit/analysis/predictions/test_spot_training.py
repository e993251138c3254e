"""Trainings on machines that may be taken away, against worlds that are played event by event."""

import math
import random
from statistics import fmean

import pytest

from orchestrator.analysis.predictions.spot_training import (
    SpotTraining,
    expect_seconds,
    find_checkpoint_interval,
    predict_spot,
)

HOUR = 3600.0
DAY = 24 * HOUR


def training(**changes):
    """Ten hours of work; a machine is taken away every two days to twice a day."""
    given = {
        "work_seconds": 10 * HOUR,
        "checkpoint_seconds": 20.0,
        "restart_seconds": (120.0, 600.0),
        "interruptions_per_second": (0.5 / DAY, 2 / DAY),
    }
    return SpotTraining(**{**given, **changes})


def play(one, interval, *, rate, restart, random_):
    """Play one world second by second; return its seconds. It keeps work done at each checkpoint."""
    now, kept = 0.0, 0.0
    interruption = random_.expovariate(rate)
    while True:
        segment = min(interval, one.work_seconds - kept)
        is_last = one.work_seconds - kept - segment < 1e-6
        done = now + segment + (0.0 if is_last else one.checkpoint_seconds)
        if done <= interruption:
            now, kept = done, kept + segment
            if is_last:
                return now
            continue
        while True:  # restarts are interrupted too
            now = interruption
            interruption = now + random_.expovariate(rate)
            if now + restart <= interruption:
                now += restart
                break


def worlds(one, interval, *, count=10_000, seed=1):
    """Seconds of worlds whose rates and restarts are drawn from the ranges, in increasing order."""
    random_ = random.Random(seed)
    low, high = one.interruptions_per_second
    found = []
    for _ in range(count):
        rate = low * math.exp(random_.random() * math.log(high / low))
        found.append(
            play(one, interval, rate=rate, restart=random_.choice(one.restart_seconds), random_=random_)
        )
    return sorted(found)


CASES = {
    "usual": {},
    "never long enough to be interrupted": {"work_seconds": 0.2 * HOUR},
    "often interrupted": {"interruptions_per_second": (6 / DAY, 24 / DAY)},
    "checkpoints of minutes": {"checkpoint_seconds": 300.0},
    "one rate and one restart": {
        "interruptions_per_second": (1 / DAY, 1 / DAY),
        "restart_seconds": (300.0, 300.0),
    },
    "weeks": {"work_seconds": 10 * DAY, "interruptions_per_second": (10 / DAY, 16 / DAY)},
}


@pytest.mark.more_except("usual")
@pytest.mark.parametrize("case", CASES)
def test_10000_worlds_end_as_predicted(case):
    one = training(**CASES[case])
    outlook = predict_spot(one, price_ratio=0.7)
    played = worlds(one, outlook.interval_seconds, count=1_000 if case == "weeks" else 10_000)
    for share, predicted in zip((0.05, 0.95), outlook.slowdown, strict=True):
        assert played[int(share * len(played))] / one.work_seconds == pytest.approx(predicted, rel=0.015)
    assert outlook.expected_slowdown * one.work_seconds == pytest.approx(fmean(played), rel=0.01)
    cheaper = sum(seconds < one.work_seconds / 0.7 for seconds in played) / len(played)
    assert outlook.chance_cheaper == pytest.approx(cheaper, abs=0.02)


@pytest.mark.parametrize("checkpoint_seconds", [0.1, 5.0, 60.0, 600.0])
@pytest.mark.parametrize("per_day", [0.05, 1.0, 12.0])
def test_no_other_interval_makes_a_long_training_notably_shorter(checkpoint_seconds, per_day):
    rate = per_day / DAY
    one = training(
        work_seconds=1000 * DAY,
        checkpoint_seconds=checkpoint_seconds,
        restart_seconds=(0.0, 0.0),
        interruptions_per_second=(rate, rate),
    )
    best = find_checkpoint_interval(checkpoint_seconds, rate)
    shortest = min(expect_seconds(one, best * 1.02**step) for step in range(-100, 101))
    assert expect_seconds(one, best) <= 1.0005 * shortest


def test_a_checkpoint_that_takes_longer_than_machines_live_is_made_once_in_their_life():
    assert find_checkpoint_interval(10 * HOUR, 1 / HOUR) == HOUR


def test_spot_is_never_cheaper_at_an_equal_price_and_always_at_a_hundredth_of_it():
    assert predict_spot(training(), price_ratio=1.0).chance_cheaper == 0.0
    assert predict_spot(training(), price_ratio=0.01).chance_cheaper == pytest.approx(1.0)


@pytest.mark.parametrize("exponent", range(-9, 10, 3))
@pytest.mark.parametrize("checkpoint_seconds", [1e-6, 20.0, 1e6])
@pytest.mark.parametrize("restart_seconds", [0.0, 1e-3, 1e7])
def test_no_figures_end_in_an_error(exponent, checkpoint_seconds, restart_seconds):
    rate = 10.0**exponent
    outlook = predict_spot(
        training(
            checkpoint_seconds=checkpoint_seconds,
            restart_seconds=(0.0, restart_seconds),
            interruptions_per_second=(rate, 2 * rate),
        ),
        price_ratio=0.5,
    )
    assert 0 <= outlook.chance_cheaper <= 1
    assert 1 <= outlook.slowdown[0] <= outlook.slowdown[1] <= math.inf
    assert outlook.expected_slowdown >= 1


def test_a_machine_that_never_lives_as_long_as_a_checkpoint_takes_never_ends():
    hopeless = training(checkpoint_seconds=DAY, interruptions_per_second=(1.0, 2.0))
    assert predict_spot(hopeless, price_ratio=0.1).slowdown == (math.inf, math.inf)
    assert expect_seconds(hopeless, HOUR) == math.inf
