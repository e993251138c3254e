"""Benchmark output where figures fall short of the documentation."""

import pytest
from published_level import shortfalls


def found(*, profet=12.0, ours=7.8, ours_by_family=10.0, coverage=0.89):
    return {
        "profet": {
            "leave_one_model_out": {"mape_percent": profet},
            "leave_one_family_out": {"mape_percent": 18.6},
        },
        "orchestrator": {
            "leave_one_model_out": {"mape_percent": ours, "coverage_90": coverage},
            "leave_one_family_out": {"mape_percent": ours_by_family},
        },
    }


def test_good_figures_have_no_shortfall():
    assert shortfalls(found()) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"profet": 13.0}, "PROFET comes to 13.0%, not to 10.5 to 12.5%"),
        ({"ours": 8.6}, "ours comes to 8.6%, not to 8.5% at most"),
        ({"ours_by_family": 19.0}, "leave_one_family_out: ours is not below PROFET"),
        ({"coverage": 0.8}, "our intervals hold 80.0%, not 87 to 93%"),
    ],
)
def test_each_shortfall_is_told(changes, line):
    assert shortfalls(found(**changes)) == [line]
