"""A line through step times: what a step costs whatever it holds, and what a sample adds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_builders import measured

from orchestrator.analysis.comparison.step_cost import fit_step_costs, line_through, step_cost_table
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured


def costs(seconds, **changes):
    """Build the costs of one measurement per batch -> seconds of a step."""
    records = [
        measured(global_batch_size=batch, step_seconds=each, **changes) for batch, each in seconds.items()
    ]
    return fit_step_costs(find_measured(build_frame(records)))


def row_of(seconds):
    (row,) = step_cost_table(costs(seconds)).rows
    return row


def test_ten_milliseconds_and_a_tenth_for_each_sample_are_found():
    line = line_through([(batch, 0.010 + 0.0001 * batch) for batch in (64, 128, 256)])
    assert line.fixed_seconds.median == pytest.approx(0.010)
    assert line.seconds_per_sample.median == pytest.approx(0.0001)
    assert line.largest_residual == pytest.approx(0, abs=1e-9)
    assert line.fixed_share(64) == pytest.approx(10 / 16.4)


def test_three_points_off_a_line_worked_out_by_hand():
    # weights 1, 1/4, 1/4; mean batch 5/3, mean time 4/3; weighted sums 11/6 and 2/3
    line = line_through([(1, 1.0), (2, 2.0), (4, 2.0)])
    assert line.seconds_per_sample.median == pytest.approx(4 / 11)
    assert line.fixed_seconds.median == pytest.approx(8 / 11)
    assert line.largest_residual == pytest.approx(3 / 11)
    # one degree of freedom: t is 12.706; residuals -1/11, 3/11, -1/11; noise 1/11, over 11/6
    assert line.seconds_per_sample.high - line.seconds_per_sample.median == pytest.approx(
        12.706 * math.sqrt(1 / 11 / (11 / 6)), rel=1e-6
    )


@given(
    st.floats(1e-4, 1),
    st.floats(1e-6, 1e-2),
    st.lists(st.integers(1, 4096), min_size=3, max_size=8, unique=True),
)
def test_any_line_is_found_again(fixed, each, batches):
    line = line_through([(batch, fixed + each * batch) for batch in batches])
    for batch in batches:
        assert line.seconds(batch) == pytest.approx(fixed + each * batch, rel=1e-6)


def test_a_step_that_hardly_grows_is_nearly_all_fixed_and_that_is_what_larger_batches_save():
    seconds = {64: 0.0517, 128: 0.0532, 256: 0.0566, 512: 0.0629}
    (cost,) = costs(seconds)
    assert cost.line.fixed_share(64) == pytest.approx(0.97, abs=0.01)
    assert cost.saved == pytest.approx(1 - (0.0629 / 512) / (0.0517 / 64))
    row = row_of(seconds)
    assert row[:2] == ("mnist_cnn", "64, 128, 256, 512")
    assert row[4:] == ("97%", "85%", "0.2%", "")


def test_two_batch_sizes_have_no_line_and_show_it():
    dash = "\N{EN DASH}"
    assert row_of({64: 0.01, 128: 0.015})[2:] == (
        dash,
        dash,
        dash,
        "25%",
        dash,
        "a line takes 3 batch sizes",
    )


def test_a_negative_fixed_part_is_shown_and_has_no_share():
    row = row_of({64: 0.01, 128: 0.025, 256: 0.055})
    assert row[2].startswith("-")
    assert row[4] == "\N{EN DASH}"
    assert row[7].startswith("negative fixed part: step time grows faster than the batch")


def test_larger_batches_that_took_less_time_are_shown():
    assert row_of({64: 0.03, 128: 0.02, 256: 0.01})[7].startswith("larger batches took less time")


def test_a_fixed_part_whose_interval_contains_0_is_not_shown():
    assert row_of({64: 0.010, 128: 0.017, 256: 0.038})[7] == "no fixed part is shown: its interval contains 0"


def test_one_batch_size_is_no_row_and_what_differs_in_more_is_not_mixed():
    assert costs({64: 0.01}) == ()
    records = [
        measured(global_batch_size=64 * 2**index, precision=each, step_seconds=0.01)
        for index, each in enumerate(("fp32", "bf16", "fp16"))
    ]
    assert fit_step_costs(find_measured(build_frame(records))) == ()
