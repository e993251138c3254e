"""Accuracy, AUC and weighted kappa of graded photographs, by hand."""

import math

import numpy as np
import pytest

from workloads.quality import graded, referable


def logits_of(*probabilities: tuple[float, ...]) -> np.ndarray:
    return np.log(np.array(probabilities, dtype=np.float32))


def sure_of(*grades: int) -> np.ndarray:
    """Logits that put nearly all on one grade."""
    return 10 * np.eye(5, dtype=np.float32)[list(grades)]


def test_three_of_four_pairs_in_order_are_an_auc_of_three_quarters() -> None:
    """Pairs (referable, other): (.9, .6), (.9, .1), (.4, .6), (.4, .1): three of four in order."""
    logits = logits_of((0.1, 0.9), (0.6, 0.4), (0.4, 0.6), (0.9, 0.1))
    found = referable(logits, {"y": np.array([1, 1, 0, 0])})
    assert found["auc"] == pytest.approx(3 / 4)
    assert found["accuracy"] == found["precision"] == found["recall"] == 1 / 2
    assert found["kappa"] == pytest.approx(0)  # as chance: half of each, half of them right


def test_a_tie_counts_half() -> None:
    found = referable(logits_of((0.5, 0.5), (0.5, 0.5)), {"y": np.array([1, 0])})
    assert found["auc"] == 1 / 2


def test_five_grades_are_ranked_by_the_mass_of_grade_2_and_above() -> None:
    """0.45 referable in three grades outranks 0.4 in one, though grade 0 is the likeliest of both."""
    logits = logits_of((0.5, 0.05, 0.15, 0.15, 0.15), (0.55, 0.05, 0.0001, 0.4, 0.0001))
    assert graded(logits, {"y": np.array([2, 1])})["auc"] == 1
    assert graded(logits, {"y": np.array([1, 2])})["auc"] == 0


def test_one_photograph_of_four_two_grades_off_leaves_kappa_0_82() -> None:
    """Truth 0 1 2 4, told 0 1 4 4. By chance the 16 pairs are 90 squared grades apart, over 4."""
    found = graded(sure_of(0, 1, 4, 4), {"y": np.array([0, 1, 2, 4])})
    assert found["kappa"] == pytest.approx(1 - 4 / (90 / 4))
    assert found["accuracy"] == 3 / 4


def test_grades_without_an_error_have_kappa_and_auc_one_in_any_order() -> None:
    found = graded(sure_of(3, 0, 4, 1, 2), {"y": np.array([3, 0, 4, 1, 2])})
    assert (found["kappa"], found["auc"], found["accuracy"]) == (1, 1, 1)


def test_photographs_of_one_kind_have_no_auc_and_of_one_grade_no_kappa() -> None:
    found = graded(sure_of(0, 0), {"y": np.array([0, 0])})
    assert math.isnan(found["auc"])
    assert math.isnan(found["kappa"])
    assert found["accuracy"] == 1
