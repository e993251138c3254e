"""Quality on other held-out samples and with other seeds, and when a difference is shown."""

import math
from random import Random

import pytest
from builders import train_result
from report_builders import measured, plan_of

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.analysis.metrics.quality import QualityInterval, quality_interval, shown_better
from orchestrator.core.codec import from_plain, to_plain
from orchestrator.core.result import TrainResult


def accuracy(*values, samples=1000):
    return quality_interval(values, metric="accuracy", held_out_samples=samples)


def loss(*values):
    return quality_interval(values, metric="held_out_loss", held_out_samples=1000)


def test_an_accuracy_has_wilsons_interval_of_its_held_out_samples():
    """90 of 100 right: [0.8256, 0.9448] (Wilson 1927; Newcombe 1998, method 3)."""
    found = accuracy(0.9, samples=100)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.9, 0.82563, 0.94477), abs=1e-5)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_an_accuracy_at_its_end_has_an_interval_to_one_side(right):
    found = accuracy(right, samples=50)
    assert 0 <= found.low <= found.estimate == right <= found.high <= 1
    assert found.high - found.low > 0.05


def test_seeds_widen_the_interval_of_an_accuracy_and_more_of_them_do_so_less():
    """Each side is the root of the sum of the squares of Wilson's and Student's parts."""
    one, two = accuracy(0.9, samples=100), accuracy(0.89, 0.91, samples=100)
    half = 12.706 * 0.02 / math.sqrt(2) / math.sqrt(2)
    assert two.estimate == pytest.approx(0.9)
    assert two.estimate - two.low == pytest.approx(math.hypot(0.9 - one.low, half), abs=1e-5)
    many = accuracy(*[0.89, 0.91] * 5, samples=100)
    assert one.high - one.low < many.high - many.low < two.high - two.low
    assert two.high <= 1


def test_another_metric_has_students_interval_over_seeds():
    found = loss(0.1, 0.2, 0.3)
    half = 4.303 * 0.1 / math.sqrt(3)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))


@pytest.mark.parametrize("found", [loss(0.1), accuracy(0.9, samples=None), accuracy(97.0)])
def test_one_seed_with_an_unknown_number_of_samples_has_an_unbounded_quality(found):
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_seeds_bound_an_accuracy_with_an_unknown_number_of_samples():
    found = accuracy(0.89, 0.91, samples=None)
    assert math.isfinite(found.low)
    assert found.low < 0.89


def test_a_thousand_digits_show_no_difference_of_a_hundredth():
    assert not shown_better(accuracy(0.967), accuracy(0.957), higher_is_better=True)
    assert not shown_better(accuracy(0.957), accuracy(0.967), higher_is_better=True)


def test_a_difference_is_shown_where_its_interval_holds_no_zero():
    assert shown_better(accuracy(0.97), accuracy(0.94), higher_is_better=True)
    assert not shown_better(accuracy(0.94), accuracy(0.97), higher_is_better=True)
    assert shown_better(loss(0.10, 0.11, 0.12), loss(0.5, 0.51, 0.52), higher_is_better=False)
    assert not shown_better(loss(0.10, 0.11, 0.12), loss(0.5, 0.51, 0.52), higher_is_better=True)


def test_intervals_that_overlap_a_little_may_show_a_difference():
    """Check that the interval of the difference of equal widths is 1.4 times as wide as one of them, not
    twice.
    """
    better = QualityInterval(estimate=0.95, low=0.93, high=0.97)
    worse = QualityInterval(estimate=0.92, low=0.90, high=0.94)
    assert better.low < worse.high
    assert shown_better(better, worse, higher_is_better=True)


def test_a_quality_without_bounds_is_never_shown_better_or_worse():
    assert not shown_better(loss(0.1), loss(9.0), higher_is_better=False)
    assert not shown_better(accuracy(0.99), accuracy(0.1, samples=None), higher_is_better=True)


def test_equal_settings_are_shown_different_in_one_comparison_of_twenty_at_most():
    """Two settings with the same true accuracies over seeds, on samples of their own."""
    random = Random(1)

    def trained():
        truths = [0.95 + random.gauss(0, 0.004) for _ in range(5)]
        right = [sum(random.random() < truth for _ in range(500)) / 500 for truth in truths]
        return accuracy(*right, samples=500)

    trials = 300
    wrong = sum(shown_better(trained(), trained(), higher_is_better=True) for _ in range(trials))
    assert wrong / trials <= 0.05


def test_repeats_of_a_seed_count_once_and_a_setting_has_the_interval_of_its_seeds():
    values = {(0, 0): 0.90, (0, 1): 0.90, (1, 0): 0.94}
    records = [
        measured(
            seed=seed,
            repeat=repeat,
            recorded={"quality": {"accuracy": value, "held_out_loss": value}, "held_out_samples": 1000},
        )
        for (seed, repeat), value in values.items()
    ]
    (only,) = find_measured(build_frame(records))
    assert only.quality["accuracy"] == accuracy(0.90, 0.94)
    assert only.quality["held_out_loss"] == loss(0.90, 0.94)


def test_the_table_has_the_interval_of_a_quality_where_one_is_known_and_shows_what_it_is():
    records = [
        measured(recorded={"quality": {"accuracy": 0.9, "held_out_loss": 0.25}, "held_out_samples": 100})
    ]
    table = collect_findings(records, plan_of(records)).tables[0]
    row = dict(zip((column.header for column in table.columns), table.rows[0], strict=True))
    assert row["accuracy"] == "0.9000 [0.8256, 0.9448]"
    assert row["held_out_loss"] == "0.2500"
    assert "Quality: mean over seeds with its 95% interval" in table.note


def test_a_record_of_before_held_out_samples_were_counted_is_read():
    plain = to_plain(train_result())
    assert plain["held_out_samples"] == 1000
    del plain["held_out_samples"]
    assert from_plain(TrainResult, plain).held_out_samples is None
