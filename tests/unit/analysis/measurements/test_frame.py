"""One row per trial, and repeats of one point as one measurement."""

import pandas as pd
import pytest
from builders import record, train_result, trial_spec
from price_builders import price
from report_builders import measured, rehearsed

from orchestrator.analysis.measurements.frame import COLUMNS, build_frame, quality_columns
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.core.result import Failure


def test_every_documented_column_is_there_and_quality_comes_after():
    frame = build_frame([record()])
    assert list(frame.columns) == [*COLUMNS, "quality.accuracy"]
    assert quality_columns(frame) == {"accuracy": "quality.accuracy"}


def test_no_records_are_an_empty_frame_with_its_columns():
    assert list(build_frame([]).columns) == list(COLUMNS)


def test_a_trial_has_one_row_of_the_record_that_counts():
    frame = build_frame([record(failure=Failure(kind="oom", message="killed")), record(attempt=2)])
    assert list(frame["state"]) == ["done"]


def test_what_was_not_measured_is_missing():
    frame = build_frame([rehearsed(), record(failure=Failure(kind="oom", message="killed"))])
    assert frame["steady_samples_per_second"].isna().all()
    assert list(frame["state"]) == ["done", "oom"]


def test_a_trial_has_its_cost_with_that_of_its_failed_attempts_and_what_it_is_priced_as():
    killed = Failure(kind="oom", message="killed")
    frame = build_frame([record(price=price(), failure=killed), record(price=price(), attempt=2)])
    row = frame.iloc[0]
    assert (row["attempt_usd"], row["trial_usd"], row["billed_node_seconds"]) == (0.003, 0.006, 3.0)
    assert row["usd_per_million_samples"] == pytest.approx(0.15625)
    assert row["price"] == "cpu-box on demand in here, $3.6/h of 2026-09-01"
    unpriced = build_frame([record(), rehearsed()])
    assert unpriced[["attempt_usd", "trial_usd", "usd_per_million_samples"]].isna().all(axis=None)


def test_repeats_share_a_point_and_seeds_do_not():
    frame = build_frame([measured(repeat=0), measured(repeat=1), measured(seed=1)])
    assert list(frame["point"].value_counts()) == [2, 1]


def test_the_only_trial_of_a_point_has_the_interval_over_its_blocks():
    (only,) = find_measured(build_frame([measured(step_seconds=0.01)]))
    assert (only.num_repeats, only.num_blocks) == (1, 15)
    assert only.step_seconds.median == pytest.approx(0.01)
    assert only.step_seconds.low < only.step_seconds.median < only.step_seconds.high


def test_three_repeats_are_one_row_with_their_geometric_mean_and_range():
    repeats = [
        measured(repeat=index, step_seconds=seconds) for index, seconds in enumerate((0.02, 0.0128, 0.016))
    ]
    (only,) = find_measured(build_frame(repeats))
    assert only.num_repeats == 3
    step_seconds = (only.step_seconds.low, only.step_seconds.median, only.step_seconds.high)
    rate = only.samples_per_second
    assert step_seconds == pytest.approx((0.0128, 0.016, 0.02))
    assert (rate.low, rate.median, rate.high) == pytest.approx((3200, 4000, 5000))


def test_different_data_is_never_one_row():
    records = [record(spec=trial_spec(data=text)) for text in ("synthetic:1", "real:ab")]
    assert [measurement.setting.data for measurement in find_measured(build_frame(records))] == [
        "real:ab",
        "synthetic:1",
    ]


def test_repeats_made_with_other_versions_are_a_row_of_their_own_that_shows_it():
    records = [measured(repeat=index, versions={"torch": version}) for index, version in enumerate("223")]
    found = find_measured(build_frame(records))
    assert {(measurement.setting.ran_with, measurement.num_repeats) for measurement in found} == {
        ("torch 2", 2),
        ("torch 3", 1),
    }


def test_a_variable_that_was_set_for_some_repeats_alone_keeps_them_apart():
    found = find_measured(
        build_frame([measured(repeat=0), measured(repeat=1, versions={"OMP_PROC_BIND": "spread"})])
    )
    assert {measurement.setting.ran_with for measurement in found} == {"", "OMP_PROC_BIND spread"}


def test_versions_that_differ_between_trainers_are_not_shown():
    found = find_measured(build_frame([measured("torch_ddp"), measured("tensorflow")]))
    assert {measurement.setting.ran_with for measurement in found} == {""}


def test_repeats_from_another_host_or_another_commit_are_still_repeats():
    elsewhere = {"hostname": "another", "git_commit": "abc"}
    (only,) = find_measured(build_frame([measured(repeat=0), measured(repeat=1, versions=elsewhere)]))
    assert only.num_repeats == 2


def test_a_trainer_without_training_comes_last():
    idle = measured("noop", step_seconds=1e-6, placed={"trains": False})
    found = find_measured(build_frame([idle, measured()]))
    assert [(measurement.setting.trainer, measurement.trains) for measurement in found] == [
        ("torch_ddp", True),
        ("noop", False),
    ]


def test_only_measured_results_are_measured():
    failed = record(spec=trial_spec(seed=1), failure=Failure(kind="oom", message="killed"))
    assert find_measured(build_frame([rehearsed(), failed])) == ()


def test_the_fastest_comes_first():
    frame = build_frame([measured(name) for name in ("torch_xla", "torch_ddp", "tensorflow")])
    assert [measurement.setting.trainer for measurement in find_measured(frame)] == [
        "torch_ddp",
        "tensorflow",
        "torch_xla",
    ]


def test_a_quality_called_precision_is_not_the_precision_of_the_arithmetic():
    frame = build_frame([record(result=train_result(quality={"precision": 0.8}))])
    assert list(frame["precision"]) == ["fp32"]
    (only,) = find_measured(frame)
    assert (only.setting.precision, only.quality["precision"].estimate) == ("fp32", 0.8)


def test_a_trial_without_loss_or_quality_is_measured_all_the_same():
    (only,) = find_measured(build_frame([record(result=train_result(losses=(), quality={}))]))
    assert pd.isna(only.final_loss.median)
    assert only.quality == {}
