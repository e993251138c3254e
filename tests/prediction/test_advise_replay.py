"""Advice on published settings, replayed with a part of the cost. Needs ORCHESTRATOR_DATA."""

import os
from pathlib import Path

import pytest
from advise import advised, cases_of, plain_of, read_jobs, rows_of

DATA = Path(os.environ.get("ORCHESTRATOR_DATA", "unset")) / "profet"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="ORCHESTRATOR_DATA has no folder `profet`")
KIND = "time x cost: device"


@pytest.fixture(scope="module")
def cases():
    """Cases in which the best device varies."""
    return [case for case in cases_of(*read_jobs(DATA), is_new=False) if case.kind == KIND]


def test_advice_is_better_than_simple_rules_at_a_quarter_of_the_cost(cases):
    found = {rule: by_share.get("25%") for rule, by_share in rows_of(cases, shares=(0.25,)).items()}
    good = {rule: plain_of(ends)["good_fraction"] for rule, ends in found.items() if ends}
    advice = good.pop("advise")
    assert set(good) == {"random", "cheapest first", "always the same"}
    assert advice > max(good.values())


def test_for_all_the_money_the_choice_is_good(cases):
    for case in cases[::20]:
        chosen, _ = advised(case, float(case.costs.sum()), confidence=0.999999)
        assert case.regret(chosen) < 0.1
