"""One row per trial, and repeats of one point as one measurement."""

import pandas as pd
import pytest
from builders import record, train_result, trial_spec
from report_cases import measured, rehearsed

from orchestrator.analysis.frame import COLUMNS, frame_of, quality_metrics
from orchestrator.analysis.measured import measured_of
from orchestrator.core.result import Failure


def test_every_documented_column_is_there_and_quality_comes_after():
    frame = frame_of([record()])
    assert list(frame.columns) == [*COLUMNS, "accuracy"]
    assert quality_metrics(frame) == ("accuracy",)


def test_no_records_are_an_empty_frame_with_its_columns():
    assert list(frame_of([]).columns) == list(COLUMNS)


def test_a_trial_has_one_row_of_the_record_that_counts():
    frame = frame_of([record(failure=Failure(kind="oom", message="killed")), record(attempt=2)])
    assert list(frame["state"]) == ["done"]


def test_what_was_not_measured_is_missing():
    frame = frame_of([rehearsed(), record(failure=Failure(kind="oom", message="killed"))])
    assert frame["steady_samples_per_second"].isna().all()
    assert list(frame["state"]) == ["done", "oom"]


def test_repeats_share_a_point_and_seeds_do_not():
    frame = frame_of([measured(repeat=0), measured(repeat=1), measured(seed=1)])
    assert list(frame["point"].value_counts()) == [2, 1]


def test_the_only_trial_of_a_point_has_the_interval_over_its_blocks():
    (only,) = measured_of(frame_of([measured(step_seconds=0.01)]))
    assert (only.num_repeats, only.num_blocks) == (1, 15)
    assert only.step_seconds.median == pytest.approx(0.01)
    assert only.step_seconds.low < only.step_seconds.median < only.step_seconds.high


def test_three_repeats_are_one_row_with_their_median_and_range():
    repeats = [
        measured(repeat=index, step_seconds=seconds) for index, seconds in enumerate((0.02, 0.01, 0.016))
    ]
    (only,) = measured_of(frame_of(repeats))
    assert only.num_repeats == 3
    step_seconds = (only.step_seconds.low, only.step_seconds.median, only.step_seconds.high)
    rate = only.samples_per_second
    assert step_seconds == pytest.approx((0.01, 0.016, 0.02))
    assert (rate.low, rate.median, rate.high) == pytest.approx((3200, 4000, 6400))


def test_different_data_is_never_one_row():
    records = [record(spec=trial_spec(data=each)) for each in ("synthetic:1", "real:ab")]
    assert [each.setting.data for each in measured_of(frame_of(records))] == ["real:ab", "synthetic:1"]


def test_only_measured_results_are_measured():
    failed = record(spec=trial_spec(seed=1), failure=Failure(kind="oom", message="killed"))
    assert measured_of(frame_of([rehearsed(), failed])) == ()


def test_the_fastest_comes_first():
    frame = frame_of([measured(each) for each in ("torch_xla", "torch_ddp", "tensorflow")])
    assert [each.setting.trainer for each in measured_of(frame)] == ["torch_ddp", "tensorflow", "torch_xla"]


def test_a_trial_without_loss_or_quality_is_measured_all_the_same():
    (only,) = measured_of(frame_of([record(result=train_result(losses=(), quality={}))]))
    assert pd.isna(only.final_loss.median)
    assert only.quality == {}
