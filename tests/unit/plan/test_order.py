"""The order in which trials run: rounds over all points, shuffled by a seed."""

from dataclasses import replace

from plan_builders import A100, T4, device, held, here, planned, point
from price_builders import price_list, price_row

from orchestrator.core.placement import Placement
from orchestrator.plan.order import choose_weight, running_order, seconds_at_peak
from orchestrator.plan.pricing import PriceBook

SEEDS = range(8)


def grid(repeats: int = 3) -> tuple[Placement, ...]:
    """Eight points on the CPU, as many times."""
    return planned(*(point(seed=item) for item in SEEDS), repeats=repeats).placements


def rounds_of(placements, *, seed: int | None) -> list[list[int]]:
    """The seed of each trial, round by round."""
    order = [placement.trial.seed for placement in running_order(placements, seed=seed)]
    return [order[start : start + len(SEEDS)] for start in range(0, len(order), len(SEEDS))]


def test_every_point_is_run_once_before_any_is_run_again():
    rounds = rounds_of(grid(), seed=0)
    assert len(rounds) == 3
    assert all(sorted(item) == list(SEEDS) for item in rounds)
    repeats = [placement.trial.repeat for placement in running_order(grid(), seed=0)]
    assert repeats == sorted(repeats)


def test_each_round_has_an_order_of_its_own_that_is_not_the_grids():
    rounds = rounds_of(grid(), seed=0)
    assert list(SEEDS) not in rounds
    assert len({tuple(item) for item in rounds}) == 3


def test_the_same_seed_gives_the_same_order_for_trials_in_any_order():
    placements = grid()
    assert running_order(placements, seed=5) == running_order(placements[::-1], seed=5)


def test_another_seed_gives_another_order():
    assert rounds_of(grid(), seed=0) != rounds_of(grid(), seed=1)


def test_what_is_left_of_a_sweep_keeps_its_order():
    whole = running_order(grid(), seed=0)
    assert running_order(whole[5:], seed=0) == whole[5:]
    assert running_order(whole[::2], seed=0) == whole[::2]


def test_rehearsals_come_after_all_measured_trials():
    placements = planned(point(device=T4), *(point(seed=item) for item in SEEDS), repeats=2).placements
    order = running_order(placements, seed=0)
    assert [placement.provenance for placement in order] == ["measured"] * 16 + ["rehearsed"]


def test_without_a_seed_every_round_is_in_the_order_of_the_grid():
    assert rounds_of(grid(), seed=None) == [list(SEEDS)] * 3


def weighed(order, *placements):
    devices = {value.name: value for value in (device(), T4, A100)}
    prices = price_list(rows={"here": {"t4-box": price_row(1.0, None), "a100-box": price_row(30.0, None)}})
    weight = choose_weight(order, PriceBook(devices=devices, prices=prices, today="2026-11-21"))
    return [placement.trial for placement in running_order(placements, seed=0, weight=weight)]


T4 = replace(T4, instances={1: "t4-box"}, peak_flops_per_second={"fp32": 1e12})
A100 = replace(A100, instances={1: "a100-box"}, peak_flops_per_second={"fp32": 1e13})
GRID = planned(
    *(point(device=value, steps=steps) for steps in (120, 3600) for value in (T4, A100)),
    inventory=here(devices={"t4": held(1), "a100_40": held(1)}),
).placements


def test_the_longest_come_first_by_their_arithmetic_and_the_peak_of_their_devices():
    order = [(item.device, item.steps) for item in weighed("longest_first", *GRID)]
    assert order == [("t4", 3600), ("a100_40", 3600), ("t4", 120), ("a100_40", 120)]


def test_the_cheapest_come_first_by_that_time_and_the_price_of_an_hour():
    order = [(item.device, item.steps) for item in weighed("cheapest_first", *GRID)]
    assert order == [("t4", 120), ("a100_40", 120), ("t4", 3600), ("a100_40", 3600)]


def test_what_has_no_price_comes_last_of_the_cheapest():
    (unpriced,) = planned(point()).placements
    assert weighed("cheapest_first", unpriced, *GRID)[-1] == unpriced.trial


def test_twice_as_many_devices_take_half_as_long_and_a_precision_without_a_peak_has_the_lowest():
    trial = GRID[0].trial
    whole = seconds_at_peak(trial, [T4])
    assert seconds_at_peak(replace(trial, num_workers=2), [T4]) == whole / 2
    assert seconds_at_peak(replace(trial, precision="fp16"), [T4]) == whole


def test_trials_of_one_weight_keep_their_rounds():
    placements = grid()
    assert weighed("longest_first", *placements) == [
        placement.trial for placement in running_order(placements, seed=0)
    ]
