"""Adaptive searches on published measurements, some of the questions. Needs ORCHESTRATOR_DATA."""

import os
from pathlib import Path

import pytest
from adaptive import outcomes_of, plain_of
from advise import cases_of, read_jobs

DATA = Path(os.environ.get("ORCHESTRATOR_DATA", "unset")) / "profet"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="ORCHESTRATOR_DATA has no folder `profet`")


@pytest.fixture(scope="module")
def told():
    """What each rule came to with a minute of set-up, on known devices."""
    cases = list(cases_of(*read_jobs(DATA), is_new=False))[::20]
    return {
        rule: plain_of(outcomes) for rule, outcomes in outcomes_of(cases, setup=60.0, is_cold=False).items()
    }


def test_a_search_is_right_as_often_as_it_says_for_less_than_half_of_the_grid(told):
    assert told["adaptive"]["right"] >= 0.95
    assert told["the best alone"]["share"] < told["adaptive"]["share"] < 0.5


def test_no_simple_rule_is_right_so_often_for_that_money(told):
    assert told["adaptive"]["right"] > 0.3 + max(told["random"]["right"], told["cheapest first"]["right"])
    assert told["successive halving"]["share"] > 3 * told["adaptive"]["share"]
