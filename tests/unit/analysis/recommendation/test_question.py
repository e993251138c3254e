"""The title asks for what the settings of a sweep differ in."""

from report_builders import forecast, measured, plan_of

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.first_screen import build_question, question_of_all


def asked(records, **changes):
    found = collect_findings(records, plan_of(records, **changes)).recommendations
    return question_of_all(found)


def test_devices_are_named_first():
    assert asked([measured()], forecasts=[forecast()]) in (
        "cpu or t4 for mnist_cnn?",
        "t4 or cpu for mnist_cnn?",
    )


def test_many_devices_are_counted():
    told = [forecast(device=name) for name in ("t4", "v100", "a100_40", "h100", "l4")]
    assert asked([measured()], forecasts=told) == "Which of 6 devices for mnist_cnn?"


def test_on_one_device_the_other_axes_are_named():
    records = [
        measured(precision=name, global_batch_size=size) for name in ("fp32", "bf16") for size in (64, 128)
    ]
    assert asked(records) == "Which precision and batch size for mnist_cnn on cpu?"


def test_one_setting_asks_what_it_takes():
    assert asked([measured()]) == "What does mnist_cnn take on cpu?"


def test_several_jobs_are_counted():
    records = [measured(), measured(workload="lenet5")]
    found = collect_findings(records, plan_of(records)).recommendations
    assert question_of_all(found) == "Which setting for each of 2 jobs?"
    assert build_question(found[1]) == "What does lenet5 take on cpu?"
