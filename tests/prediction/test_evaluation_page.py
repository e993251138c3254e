"""The page that a program writes from an evaluation."""

import pytest
from evaluation_page import page_of

PAIR, OTHER = "k80 -> t4", "t4 -> k80"


def figures(error, *, of_pair, coverage):
    def part(mape_percent, coverage_90, n):
        return {"mape_percent": mape_percent, "coverage_90": coverage_90, "n": n}

    return {
        **part(error, 0.9, 40),
        "models": {"VGG11": part(1.0, 1.0, 10), "VGG16": part(4.0, 0.7, 20), "LeNet5": part(9.0, 0.9, 10)},
        "pairs": {PAIR: part(of_pair, coverage, 20), OTHER: part(5.0, 0.9, 20)},
        "quartiles": {"1": part(6.0, 0.9, 20), "4": part(6.0, 0.9, 20)},
    }


@pytest.fixture
def page():
    splits = ("leave_one_model_out", "leave_one_family_out")
    ours = dict.fromkeys(splits, figures(6.4, of_pair=7.0, coverage=0.83))
    theirs = dict.fromkeys(splits, figures(12.0, of_pair=6.5, coverage=0.9))
    return page_of({"orchestrator": ours, "profet": theirs}, written="Evaluated on 2026-11-26")


def test_every_part_has_a_row_with_both_methods(page):
    assert f"| {PAIR} | 7.0% | 83% | 6.5% | 90% | 7.0% | 83% | 6.5% | 90% |" in page
    assert "| shortest quarter | 6.0% | 90% |" in page
    assert "| orchestrator | 6.4% | 90% | 6.4% | 90% |" in page


def test_a_family_is_the_mean_of_the_rows_of_its_models(page):
    assert "| vgg | 3.0% | 80% |" in page


def test_where_the_other_method_is_ahead_or_coverage_is_off_is_shown(page):
    assert (
        "- By model: ahead of PROFET on 0 of 2 pairs.\n  Coverage outside 88 to 92%: k80 -> t4 83.0%." in page
    )
