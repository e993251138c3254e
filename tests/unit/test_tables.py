"""Measured, rehearsed, failed, skipped and stale, kept apart."""

from builders import record, trial_spec
from report_cases import measured, plan_of, rehearsed, tpu_vs_gpu

from orchestrator.analysis.findings import findings_of, tables_of
from orchestrator.analysis.headline import headline_of
from orchestrator.core.placement import Plan, Skipped
from orchestrator.core.result import Failure

FAILED = Failure(kind="oom", message="the host killed it")


def tables(records, **changes):
    return {each.title: each for each in tables_of(findings_of(records, plan_of(records, **changes)))}


def rows_of(table):
    return [dict(zip((each.header for each in table.columns), row, strict=True)) for row in table.rows]


def headline(records, **changes):
    return headline_of(findings_of(records, plan_of(records, **changes)))


def test_a_sweep_has_a_table_for_each_fate_and_none_that_is_empty():
    records, plan = tpu_vs_gpu()
    assert [each.title for each in tables_of(findings_of(records, plan))] == [
        "Measured",
        "Failed",
        "Rehearsed",
        "Skipped",
    ]


def test_a_measured_row_has_its_numbers_with_units_in_the_headers():
    (row,) = rows_of(tables([record()])["Measured"])
    assert row == {
        "device": "cpu",
        "trainer": "torch_ddp",
        "precision": "fp32",
        "samples/s": "6,400",
        "step ms": "10.00",
        "first step s": "0.2000",
        "set-up s": "0.5000",
        "final loss": "0.1000",
        "accuracy": "0.9700",
        "over": "6 blocks",
    }


def test_what_is_the_same_in_all_rows_is_told_once():
    note = tables([record()])["Measured"].note
    assert (
        "workload mnist_cnn, devices 1, batch 64, steps 120, seed 0, data synthetic 1, host Some CPU x2."
        in note
    )


def test_what_differs_is_a_column():
    records = [measured(seed=0, num_workers=1), measured(seed=7, num_workers=2)]
    assert {(row["seed"], row["devices"]) for row in rows_of(tables(records)["Measured"])} == {
        ("0", "1"),
        ("7", "2"),
    }


def test_a_rehearsal_has_no_times_and_says_what_stood_in():
    (row,) = rows_of(tables([rehearsed(), rehearsed(precision="bf16")])["Rehearsed"])
    assert row["precisions"] == "fp32, bf16"
    assert row["outcome"] == "passed"
    assert row["in place of the device"] == "cpu for t4; gloo for nccl"
    assert not any(header.endswith((" s", " ms", "/s")) for header in row)


def test_a_failed_rehearsal_is_a_failure_and_a_rehearsal():
    found = tables([rehearsed(failure=FAILED)])
    assert rows_of(found["Rehearsed"])[0]["outcome"] == "failed: oom"
    (row,) = rows_of(found["Failed"])
    assert (row["class"], row["cause"]) == ("oom", "the host killed it")
    assert row["log"] == "logs/0123456789abcdef/attempt_1"


def test_equal_reasons_are_one_row_with_a_count_and_some_names():
    skipped = [Skipped(point=f"point {index}", reason="no such device") for index in range(8)]
    (row,) = rows_of(tables([], skipped=skipped)["Skipped"])
    assert (row["points"], row["reason"]) == ("8", "no such device")
    assert row["which"].endswith("point 5; and 2 more")


def test_a_result_of_another_environment_is_told():
    (row,) = rows_of(tables([record()], stale="torch 2.12, here 2.13")["Stale"])
    assert (row["reason"], row["which"]) == ("torch 2.12, here 2.13", "mnist_cnn cpu torch_ddp fp32")


def test_a_warning_of_the_plan_is_told():
    (row,) = rows_of(tables([measured(placed={"warnings": ("batch 8 is small",)})])["Warnings"])
    assert row["reason"] == "batch 8 is small"


def test_the_headline_counts_every_point_once():
    records, plan = tpu_vs_gpu()
    assert (
        headline_of(findings_of(records, plan))[0]
        == "18 trials measured, 3 rehearsed, 1 failed, 4 points skipped."
    )


def test_the_headline_names_the_fastest_with_its_interval():
    fastest = headline([measured("torch_ddp"), measured("torch_xla")])[1]
    assert fastest.startswith("Fastest on mnist_cnn with stand-in 1f2e3d4c data: torch_ddp, fp32, cpu, ")
    assert fastest.endswith(" 5,818 [5,785, 5,852] samples/s.")


def test_a_fastest_that_others_overlap_is_not_sold_as_faster():
    close = [measured("torch_ddp", step_seconds=0.01), measured("tensorflow", step_seconds=0.0101)]
    assert headline(close)[1].endswith(
        "Its interval overlaps that of tensorflow, fp32, cpu: no difference shown."
    )


def test_results_on_different_data_have_a_fastest_each():
    records = [measured(), record(spec=trial_spec(data="synthetic:1"))]
    assert [each.split(":")[0] for each in headline(records)[1:]] == [
        "Fastest on mnist_cnn with stand-in 1f2e3d4c data",
        "Fastest on mnist_cnn with synthetic 1 data",
    ]


def test_the_headline_tells_failures_and_devices_that_are_not_here():
    told = headline([rehearsed(), rehearsed(device="tpu_v3_8", failure=FAILED)])
    assert told[1:] == (
        "Failed: 1 oom. Causes and logs are in the table of failures.",
        "Not measured, for they are not here: t4, tpu_v3_8. Their code path ran on the CPU, untimed.",
    )


def test_trials_of_the_plan_that_did_not_run_are_counted():
    plan = plan_of([record()])
    assert headline_of(findings_of([], plan))[0].endswith("0 points skipped, 1 not run yet.")


def test_trials_that_the_plan_does_not_ask_for_are_counted_and_not_shown():
    nothing = Plan(sweep="example", placements=(), cached=(), skipped=())
    told = headline_of(findings_of([record()], nothing))
    assert told[0].startswith("0 trials measured")
    assert told[1] == "Not shown: 1 trial of this sweep's ledger that this plan does not ask for."
