"""Measured, rehearsed, failed, skipped and stale, kept apart."""

import pytest
from builders import record, train_result, trial_spec
from price_values import price
from report_cases import baseline_of, measured, plan_of, rehearsed, repeats, tpu_vs_gpu

from orchestrator.analysis.findings import findings_of, tables_of
from orchestrator.analysis.headline import headline_of
from orchestrator.analysis.wording import UNKNOWN
from orchestrator.core.placement import Plan, Skipped
from orchestrator.core.result import Failure

FAST, SLOW = (1300, 1310, 1290, 1305, 1295), (1000, 1010, 990, 1005, 995)
FAILED = Failure(kind="oom", message="the host killed it")


def tables(records, **changes):
    return {each.title: each for each in tables_of(findings_of(records, plan_of(records, **changes)))}


def rows_of(table):
    return [dict(zip((each.header for each in table.columns), row, strict=True)) for row in table.rows]


def headline(records, **changes):
    """Without what it recommends, which has tests of its own."""
    told = headline_of(findings_of(records, plan_of(records, **changes)))
    return tuple(each for each in told if not each.startswith("Recommended"))


def test_a_sweep_has_a_table_for_each_fate_and_none_that_is_empty():
    records, plan = tpu_vs_gpu()
    assert [each.title for each in tables_of(findings_of(records, plan))] == [
        "Measured",
        "Compared",
        "Against the baseline",
        "Speed-up by device and precision",
        "Time, cost and quality",
        "Measured and predicted",
        "Predicted",
        "Cost",
        "Prices",
        "Failed",
        "Rehearsed",
        "Skipped",
    ]


def test_records_are_told_in_the_order_of_the_plan_in_whatever_order_they_came():
    records, plan = tpu_vs_gpu()
    first, second = (findings_of(each, plan) for each in (records, records[::-1]))
    assert list(second.frame["trial_id"]) == [each.trial_id for each in plan.cached]
    assert tables_of(first) == tables_of(second)


def test_a_trial_costs_its_failed_attempts_too_in_the_frame():
    failed = record(failure=FAILED, price=price(), started_at=0.0, ended_at=8.0)
    (usd,) = findings_of([failed, done := record(price=price())], plan_of([done])).frame["trial_usd"]
    assert usd == pytest.approx(0.008 + 0.003)


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
        "epoch s": "0.6250",
        "accuracy": "0.9700",
        "over": "6 blocks",
    }


def test_numbers_that_not_all_have_get_a_column_where_one_has_them():
    counted = record(result=train_result(energy_joules={"accelerator": 384.0}))
    older = record(spec=trial_spec(precision="bf16"), result=train_result(train_samples=None))
    first, second = rows_of(tables([counted, older])["Measured"])
    assert (first["J/sample"], first["epoch s"]) == ("0.1000", "0.6250")  # 60 steps of 64 samples
    assert (second["J/sample"], second["epoch s"]) == (UNKNOWN, UNKNOWN)
    assert "host J/sample" not in first


def test_what_is_the_same_in_all_rows_is_told_once():
    note = tables([record()])["Measured"].note
    assert (
        "workload mnist_cnn, workers 1, batch 64, steps 120, seed 0, timing measure.max_blocks=6, "
        "data synthetic 1, host Some CPU x2." in note
    )


def test_what_differs_is_a_column():
    records = [measured(seed=0, num_workers=1), measured(seed=7, num_workers=2)]
    assert {(row["seed"], row["workers"]) for row in rows_of(tables(records)["Measured"])} == {
        ("0", "1"),
        ("7", "2"),
    }


def test_a_rehearsal_has_no_times_and_says_what_stood_in():
    (row,) = rows_of(tables([rehearsed(), rehearsed(precision="bf16")])["Rehearsed"])
    assert row["precisions"] == "fp32, bf16"
    assert row["outcome"] == "passed"
    assert row["in place of the device"] == "cpu for t4; gloo for nccl"
    assert not any(header.endswith((" s", " ms", "/s")) for header in row)


def test_rehearsals_that_differ_in_more_than_their_precision_have_a_row_each():
    rows = rows_of(
        tables([rehearsed(), rehearsed(num_workers=2, replicas=2), rehearsed(seed=3)])["Rehearsed"]
    )
    assert [row["workload"] for row in rows] == [
        "mnist_cnn, 1 worker, seed 0",
        "mnist_cnn, 2 workers, seed 0",
        "mnist_cnn, 1 worker, seed 3",
    ]


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
        == "30 trials measured, 3 rehearsed, 1 failed, 4 points skipped."
    )


def test_repeats_that_differ_are_a_verdict_with_its_interval():
    records = repeats("torch_ddp", rates=FAST) + repeats("tensorflow", rates=SLOW)
    said = "By trainer on mnist_cnn: torch_ddp against tensorflow: 1.30x [1.29, 1.31] faster."
    assert headline(records)[1:] == (said,)
    (row,) = rows_of(tables(records)["Compared"])
    assert row == {
        "by": "trainer",
        "where": "mnist_cnn",
        "first": "torch_ddp",
        "second": "tensorflow",
        "ratio": "1.30x [1.29, 1.31]",
        "verdict": "faster",
    }


def test_one_repeat_each_is_no_verdict():
    assert headline([measured("torch_ddp"), measured("torch_xla")])[1:] == (
        "By trainer on mnist_cnn: torch_ddp against torch_xla: 2.18x, too few repeats.",
    )


def test_what_differs_in_two_things_is_not_compared():
    records = [measured(), measured("tensorflow", precision="bf16"), record(spec=trial_spec(seed=1))]
    assert headline(records)[1:] == ()
    assert "Compared" not in tables(records)


def test_a_headline_says_six_comparisons_and_how_many_there_are():
    records = [
        measured(precision=precision, seed=seed) for seed in range(8) for precision in ("fp32", "bf16")
    ]
    told = headline(records)[1:]
    assert len(told) == 7
    assert told[-1] == "2 comparisons more in the table of comparisons."


def test_a_trial_that_something_disturbed_is_marked_and_the_mark_is_explained():
    busy = {"load_average": (9.0, 9.0)}
    records = [measured(repeat=0), measured(repeat=1, recorded=busy), measured("tensorflow", recorded=busy)]
    found = tables(records)
    assert [row["over"] for row in rows_of(found["Measured"])] == ["2 repeats, 1 noisy", "15 blocks, noisy"]
    assert (
        "Noisy: the host's load average was above 1.25 times the trial's own cores" in found["Measured"].note
    )
    assert rows_of(found["Compared"])[0]["verdict"] == "too few repeats, noisy"
    assert "oisy" not in tables([measured()])["Measured"].note


def test_a_trainer_that_trains_nothing_is_shown_and_wins_nothing():
    records = [measured(), measured("noop", step_seconds=1e-6, placed={"trains": False})]
    assert [row["trainer"] for row in rows_of(tables(records)["Measured"])] == ["torch_ddp", "noop"]
    assert "Trains nothing, and is compared with nothing: noop." in tables(records)["Measured"].note
    assert headline(records)[1:] == ()


def test_any_quality_has_a_column_that_no_other_column_is_called():
    quality = {"accuracy": 0.9, "precision": 0.8, "kappa": 0.7}
    (row,) = rows_of(tables([record(result=train_result(quality=quality))])["Measured"])
    assert (row["precision"], row["precision (quality)"], row["kappa"]) == ("fp32", "0.8000", "0.7000")


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


def test_a_rehearsal_and_a_failure_are_in_no_comparison_matrix_scaling_or_choice():
    records = [
        measured(),
        rehearsed(),
        rehearsed(precision="bf16"),
        rehearsed(num_workers=2, replicas=2),
        measured(precision="bf16"),
        record(spec=trial_spec(precision="bf16", seed=9), failure=FAILED),
    ]
    found = findings_of(records, plan_of(records, baseline=baseline_of(records, precision="fp32")))
    sides = {side for group in found.compared for each in group for side in (each.first, each.second)}
    assert sides == {"fp32", "bf16"}
    assert len(found.against.compared) == 1
    assert [set(each.cells) for each in found.matrices] == [{("cpu", "fp32"), ("cpu", "bf16")}]
    assert (found.scaling, found.step_costs) == ((), ())
    assert [len(each.job.candidates) for each in found.advice] == [2]
