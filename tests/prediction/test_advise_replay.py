"""Advice on published settings, replayed. Needs ORCHESTRATOR_DATA."""

import os
from pathlib import Path

import pytest
from advise import advised, cases_of, collect_rows, convert_to_plain, read_jobs

DATA = Path(os.environ.get("ORCHESTRATOR_DATA", "unset")) / "profet"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="ORCHESTRATOR_DATA has no folder `profet`")


@pytest.fixture(scope="module")
def every_case():
    return list(cases_of(*read_jobs(DATA), is_new=False))


@pytest.fixture(scope="module")
def cases(every_case):
    """Cases in which the two best devices are alike."""
    return [case for case in every_case if case.kind == "time x cost: device"]


@pytest.mark.slow
def test_advice_that_stops_by_itself_is_right_for_less_money_than_simple_rules_need(every_case):
    found = collect_rows(
        [case for case in every_case if case.kind == "cheapest in time: device"][::5], shares=(0.25,)
    )
    stopped = convert_to_plain(found["advise, stopped at 95%"]["100%"])
    assert stopped["good_fraction"] >= 0.98
    assert stopped["spent_fraction"] <= 0.2
    for rule in ("random", "cheapest first", "always the same"):
        assert convert_to_plain(found[rule]["25%"])["good_fraction"] < 0.75


@pytest.mark.more
def test_devices_that_are_alike_are_kept_apart_for_a_third_of_the_cost(cases):
    stopped = convert_to_plain(collect_rows(cases[::4], shares=())["advise, stopped at 95%"]["100%"])
    assert stopped["good_fraction"] >= 0.98
    assert stopped["spent_fraction"] <= 0.4


@pytest.mark.more
def test_for_all_the_money_the_choice_is_good(cases):
    for case in cases[::20]:
        chosen, _ = advised(case, float(case.costs.sum()), confidence=0.999999)
        assert case.regret(chosen) < 0.1
