"""Every setting against the baseline that a sweep names."""

import pytest
from report_builders import baseline_of, measured, plan_of, repeats

from orchestrator.analysis.comparison.baseline import AgainstBaseline, against_baseline
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured

FAST, SLOW = (1300, 1310, 1290, 1305, 1295), (1000, 1010, 990, 1005, 995)


def against(records, **values):
    return against_baseline(find_measured(build_frame(records)), baseline_of(records, **values))


def pairs(found):
    return [(item.where, item.first, item.second, item.verdict) for item in found.compared]


def test_every_setting_is_compared_with_the_one_that_differs_in_the_named_keys_alone():
    records = [
        *repeats(rates=SLOW),
        *repeats(rates=FAST, precision="bf16"),
        *repeats(rates=FAST, device="t4", host_cpu=None, precision="fp16"),
        *repeats("tensorflow", rates=FAST),
        *repeats("tensorflow", rates=SLOW, precision="bf16"),
    ]
    assert pairs(against(records, device="cpu", precision="fp32")) == [
        ("mnist_cnn, torch_ddp", "cpu, bf16", "cpu, fp32", "faster"),
        ("mnist_cnn, torch_ddp", "t4, fp16", "cpu, fp32", "faster"),
        ("mnist_cnn, tensorflow", "cpu, bf16", "cpu, fp32", "slower"),
    ]


def test_devices_that_are_not_alike_are_compared_with_those_that_are_and_may_be_the_baseline():
    alike = {"device": "fast", "num_workers": 2, "host_cpu": "A x8"}
    mixed = {**alike, "other_devices": ("slow",), "num_hosts": 2, "host_cpu": "A x8 + B x2"}
    elsewhere = {**mixed, "host_cpu": "C x8 + B x2"}
    records = [
        *repeats(rates=FAST, **alike),
        *repeats(rates=SLOW, **mixed),
        *repeats(rates=SLOW, **elsewhere),
    ]
    found = against(records, devices=("fast", "fast"))
    assert pairs(found) == [
        ("mnist_cnn", "fast+slow, A x8 + B x2, 2 hosts", "fast, A x8", "slower"),
    ]
    assert pairs(against(records[:10], devices=("fast", "slow")))[0][3] == "faster"


def test_a_ratio_is_that_of_the_setting_over_the_baseline():
    records = [*repeats(rates=FAST), *repeats(rates=SLOW, precision="bf16")]
    (only,) = against(records, precision="fp32").compared
    assert only.ratio.median == pytest.approx(1000 / 1300, rel=1e-3)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": f"real:{'ab' * 32}"},
        {"steps": 400},
        {"global_batch_size": 128},
        {"trainer": "tensorflow"},
        {"host_cpu": "Another CPU x8"},
        {"workload_options": {"width": 2}},
        {"versions": {"torch_ddp": "2.12"}},
    ],
)
def test_what_differs_in_anything_else_has_no_baseline(changes):
    records = [measured(), measured(precision="bf16", **changes)]
    assert against(records, device="cpu", precision="fp32") == AgainstBaseline(compared=(), num_without=1)


def test_fp8_is_compared_with_bf16_although_it_alone_has_a_version_of_torchao():
    records = [
        measured(precision="bf16", versions={"torch": "2.13.0"}),
        measured(precision="fp8", versions={"torch": "2.13.0", "torchao": "0.18.0"}),
    ]
    found = against(records, precision="bf16")
    assert (len(found.compared), found.num_without) == (1, 0)


def test_a_key_that_is_no_factor_chooses_the_baseline_and_is_the_same_on_both_sides():
    records = [measured(steps=steps, precision=name) for steps in (300, 400) for name in ("fp32", "bf16")]
    found = against(records, steps=300, precision="fp32")
    assert (len(found.compared), found.num_without) == (1, 2)


def test_a_trainer_and_an_option_of_one_may_be_the_baseline():
    records = [
        measured("torch_ddp"),
        measured("torch_ddp", trainer_options={"compile": "on"}, step_seconds=0.001),
    ]
    ((_, first, second, _),) = pairs(
        against_of(records, keys=("trainer.compile",), chosen=lambda spec: not spec.trainer_options)
    )
    assert (first, second) == ("torch_ddp, trainer.compile=on", "torch_ddp")


def against_of(records, *, keys, chosen):
    baseline = baseline_of([record for record in records if chosen(record.spec)])
    return against_baseline(
        find_measured(build_frame(records)), type(baseline)(keys=keys, points=baseline.points)
    )


def test_a_setting_without_training_is_no_baseline_and_has_none():
    idle = measured(precision="bf16", step_seconds=1e-6, placed={"trains": False})
    assert against([measured(), idle], precision="fp32") == AgainstBaseline()


def test_without_a_baseline_no_setting_is_compared():
    assert against_baseline(find_measured(build_frame([measured()])), None) == AgainstBaseline()


def test_the_table_shows_it_and_what_has_no_baseline():
    records = [
        *repeats(rates=SLOW),
        *repeats(rates=FAST, precision="bf16"),
        *repeats(rates=FAST, steps=400, precision="bf16"),
    ]
    plan = plan_of(records, baseline=baseline_of(records, precision="fp32"))
    table = {one.title: one for one in collect_findings(records, plan).tables}["Against the baseline"]
    assert table.rows == (("mnist_cnn, 300 steps", "bf16", "fp32", "1.30x [1.29, 1.31]", "faster"),)
    assert table.note.endswith("The baseline of 1 setting was not measured.")
