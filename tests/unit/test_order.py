"""The order in which trials run: rounds over all points, shuffled by a seed."""

from plan_values import T4, planned, point

from orchestrator.core.placement import Placement
from orchestrator.plan.order import running_order

SEEDS = range(8)


def grid(repeats: int = 3) -> tuple[Placement, ...]:
    """Eight points on the CPU, as many times."""
    return planned(*(point(seed=each) for each in SEEDS), repeats=repeats).placements


def rounds_of(placements, *, seed: int | None) -> list[list[int]]:
    """The seed of each trial, round by round."""
    order = [each.trial.seed for each in running_order(placements, seed=seed)]
    return [order[start : start + len(SEEDS)] for start in range(0, len(order), len(SEEDS))]


def test_every_point_is_run_once_before_any_is_run_again():
    rounds = rounds_of(grid(), seed=0)
    assert len(rounds) == 3
    assert all(sorted(each) == list(SEEDS) for each in rounds)
    repeats = [each.trial.repeat for each in running_order(grid(), seed=0)]
    assert repeats == sorted(repeats)


def test_each_round_has_an_order_of_its_own_that_is_not_the_grids():
    rounds = rounds_of(grid(), seed=0)
    assert list(SEEDS) not in rounds
    assert len({tuple(each) for each in rounds}) == 3


def test_the_same_seed_gives_the_same_order_whatever_order_the_trials_come_in():
    placements = grid()
    assert running_order(placements, seed=5) == running_order(placements[::-1], seed=5)


def test_another_seed_gives_another_order():
    assert rounds_of(grid(), seed=0) != rounds_of(grid(), seed=1)


def test_what_is_left_of_a_sweep_keeps_its_order():
    whole = running_order(grid(), seed=0)
    assert running_order(whole[5:], seed=0) == whole[5:]
    assert running_order(whole[::2], seed=0) == whole[::2]


def test_rehearsals_come_after_all_measured_trials():
    placements = planned(point(device=T4), *(point(seed=each) for each in SEEDS), repeats=2).placements
    order = running_order(placements, seed=0)
    assert [each.provenance for each in order] == ["measured"] * 16 + ["rehearsed"]


def test_without_a_seed_every_round_is_in_the_order_of_the_grid():
    assert rounds_of(grid(), seed=None) == [list(SEEDS)] * 3
