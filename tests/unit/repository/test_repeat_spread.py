"""Spread of spawned repeats against forked ones, computed from their rates."""

import math

import pytest
from builders import placement, trial_spec
from repeat_spread import Way, compute_ratio, interleaved, main, row_of


def way(*logs: float) -> Way:
    return Way(rates=tuple(1000 * math.exp(log) for log in logs), num_noisy=0)


def test_the_order_within_pairs_alternates_and_each_way_has_half():
    repeats = [placement(trial_spec(repeat=index)) for index in range(6)]
    methods = [placement.start_method for placement in interleaved(repeats)]
    assert methods == ["fork", "spawn", "spawn", "fork", "fork", "spawn"]
    assert [placement.trial.repeat for placement in interleaved(repeats)] == list(range(6))


def test_twice_the_deviation_of_five_repeats_each_is_no_difference_shown():
    ratio = compute_ratio(way(-2e-2, -1e-2, 0, 1e-2, 2e-2), way(-4e-2, -2e-2, 0, 2e-2, 4e-2))
    assert ratio.value == pytest.approx(2)
    assert (ratio.low, ratio.high) == pytest.approx((2 / 3.099, 2 * 3.099), rel=0.02)  # F(4, 4) is 9.605
    assert ratio.verdict == "no difference shown"


@pytest.mark.parametrize(("factor", "verdict"), [(10, "spawned is wider"), (0.1, "spawned is narrower")])
def test_ten_times_the_deviation_is_shown(factor, verdict):
    logs = (-2e-2, -1e-2, 0, 1e-2, 2e-2)
    assert compute_ratio(way(*logs), way(*(factor * log for log in logs))).verdict == verdict


def test_a_row_marks_what_was_disturbed():
    forked, spawned = Way(rates=(990.0, 1010.0), num_noisy=1), Way(rates=(980.0, 1020.0), num_noisy=0)
    row = row_of("tensorflow", forked, spawned)
    assert row.startswith(
        "| tensorflow | 1,000 [990, 1,010], 1.41%, 1 of 2 noisy | 1,000 [980, 1,020], 2.83% |"
    )
    assert row.endswith("| no difference shown |")


def test_a_spread_takes_two_repeats(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--repeats", "1"])
    assert ended.value.code == 2
    assert "--repeats: '1' must be a whole number of at least 2" in capsys.readouterr().err
