"""Measurements beside what would have been predicted without them."""

import pytest
from report_builders import forecast, measured, plan_of, repeats

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.headline import build_headline


def found(records, so_far=(0, 0), **step_seconds):
    """Predicted of the first repeat of each trainer: that step, half and twice of it as its interval."""
    hindcasts = {
        record.trial_id: forecast(step_seconds=step_seconds[record.spec.trainer]).step
        for record in records
        if not record.spec.repeat and record.spec.trainer in step_seconds
    }
    return collect_findings(records, plan_of(records, hindcasts=hindcasts, so_far=so_far))


def table_of(findings):
    (one,) = [table for table in findings.tables if table.title == "Predicted, then measured"]
    return one


def test_a_measurement_stands_beside_its_prediction_and_shows_whether_the_interval_held():
    records = [
        measured(step_seconds=0.0021),
        measured("tensorflow", step_seconds=0.005),
        measured("torch_xla"),
    ]
    table = table_of(found(records, torch_ddp=0.0019, tensorflow=0.0019))
    assert table.rows == (
        ("mnist_cnn, cpu, torch_ddp, fp32", "1.900 [0.950, 3.800]", "2.100", "1.105", "yes", "a test"),
        ("mnist_cnn, cpu, tensorflow, fp32", "1.900 [0.950, 3.800]", "5.000", "2.632", "no", "a test"),
    )


def test_it_shows_that_published_measurements_of_the_workload_may_have_been_seen():
    note = table_of(found([measured()], torch_ddp=0.01)).note
    assert note.startswith(
        "Predictions made without own records of the workload; the fit may contain published measurements "
        "of it."
    )


def test_repeats_are_one_measurement():
    records = repeats(rates=(64 / 0.002, 64 / 0.0021, 64 / 0.0022))
    (row,) = table_of(found(records, torch_ddp=0.0019)).rows
    assert row[2].value == pytest.approx((2.0 * 2.1 * 2.2) ** (1 / 3))


def test_a_single_measurement_is_shown_with_its_prediction():
    findings = found([measured(step_seconds=0.0021)], torch_ddp=0.0019)
    assert build_headline(findings)[-1] == (
        "mnist_cnn, cpu, torch_ddp, fp32: predicted 1.900 [0.950, 3.800] ms a step, measured 2.100."
    )


def test_several_measurements_show_how_often_the_intervals_held():
    records = [measured(step_seconds=0.0020), measured("tensorflow", step_seconds=0.0050)]
    findings = found(records, torch_ddp=0.0019, tensorflow=0.0019)
    told = (
        "1 of 2 measurements in the interval that was predicted without it (50%; 90% should); the middle "
        "error is 34%."
    )
    assert told in build_headline(findings)
    assert table_of(findings).note.endswith(told)


def test_the_intervals_of_all_sweeps_are_counted_where_there_are_more_than_these():
    told = (
        "In all sweeps, on these devices: 8 of 9 measurements in the interval that was predicted without it "
        "(89%; 90% should)."
    )
    findings = found([measured(step_seconds=0.002)], so_far=(8, 9), torch_ddp=0.0019)
    assert build_headline(findings)[-1] == told
    assert table_of(findings).note.endswith(told)
    only = found([measured(step_seconds=0.002)], so_far=(1, 1), torch_ddp=0.0019)
    assert "In all sweeps" not in table_of(only).note


def test_without_a_prediction_there_is_neither_table_nor_sentence():
    findings = found([measured()])
    assert not [table for table in findings.tables if table.title == "Predicted, then measured"]
    assert not [name for name in build_headline(findings) if "predicted" in name]


def test_what_a_busy_host_slowed_down_judges_no_prediction_in_the_headline():
    busy = {"load_average": (9.0, 9.0)}
    records = [measured(step_seconds=0.002), measured("tensorflow", step_seconds=0.005, recorded=busy)]
    findings = found(records, torch_ddp=0.0019, tensorflow=0.0019)
    assert "1 of 2 measurements in the interval" in table_of(findings).note
    told = [
        line for line in build_headline(findings) if "predicted" in line and line.startswith("mnist_cnn, ")
    ]
    assert told == [
        "mnist_cnn, cpu, torch_ddp, fp32: predicted 1.900 [0.950, 3.800] ms a step, measured 2.000."
    ]
