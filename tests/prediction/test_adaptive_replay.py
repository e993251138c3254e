"""Adaptive searches on published measurements, some of the questions. Needs ORCHESTRATOR_DATA."""

import math
import os
from pathlib import Path

import pytest
from adaptive import PARTS, adaptive, convert_to_plain, outcomes_of
from adaptive_worlds import WORLDS, case_in
from advise import cases_of, read_jobs

DATA = Path(os.environ.get("ORCHESTRATOR_DATA", "unset")) / "profet"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="ORCHESTRATOR_DATA has no folder `profet`")


@pytest.fixture(scope="module")
def cases():
    """Questions about known devices."""
    return list(cases_of(*read_jobs(DATA), is_new=False))[::20]


@pytest.fixture(scope="module")
def told(cases):
    """What each rule came to with a minute of set-up, on known devices."""
    return {
        rule: convert_to_plain(outcomes)
        for rule, outcomes in outcomes_of(cases, setup=60.0, is_cold=False).items()
    }


@pytest.fixture(scope="module")
def drawn(cases):
    """Confidence -> what adaptive searches came to where the steps are drawn from what is predicted."""
    worlds = [case_in("drawn", case, seed=seed) for seed, case in enumerate(cases)]
    return {
        confidence: convert_to_plain(
            [
                adaptive(case, setup=60.0, seed=seed, is_cold=False, confidence=confidence)
                for seed, case in enumerate(worlds)
            ]
        )
        for confidence in (0.8, 0.95)
    }


@pytest.mark.more
def test_an_adaptive_search_is_right_in_95_percent_for_less_than_half_of_the_grid(told):
    assert told["adaptive"]["right"] >= 0.95
    assert told["the best alone"]["share"] < told["adaptive"]["share"] < 0.5


@pytest.mark.more
def test_no_simple_rule_is_right_so_often_for_that_money(told):
    assert told["adaptive"]["right"] > 0.3 + max(told["random"]["right"], told["cheapest first"]["right"])
    assert told["successive halving"]["share"] > 3 * told["adaptive"]["share"]


@pytest.mark.more
def test_the_parts_of_a_search_add_up_to_its_cost(told):
    assert sum(told["adaptive"][part] for part in PARTS) == pytest.approx(told["adaptive"]["share"])
    assert told["adaptive"]["winner"] == max(told["adaptive"][part] for part in PARTS)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.more
def test_a_stated_chance_holds_where_steps_are_drawn_from_the_prediction(drawn, confidence):
    assert drawn[confidence]["said"] > confidence - 0.01
    assert drawn[confidence]["right"] > drawn[confidence]["said"] - 0.05


@pytest.mark.more
def test_less_confidence_costs_less(drawn):
    assert drawn[0.8]["share"] < drawn[0.95]["share"]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.more
def test_a_world_keeps_the_predictions_and_the_fastest_setting_keeps_the_limit(cases, world):
    for seed, case in enumerate(cases):
        moved = case_in(world, case, seed=seed)
        assert moved.priors == case.priors
        assert min(moved.regret(setting) for setting in range(len(moved.truth))) == 0


@pytest.mark.more
def test_the_second_best_setting_of_a_near_world_is_just_not_good(cases):
    for seed, case in enumerate(cases):
        second = sorted(range(len(case.truth)), key=case.regret)[1]
        regret = case_in("near", case, seed=seed).regret(second)
        assert regret == pytest.approx(0.06) or math.isinf(regret)
