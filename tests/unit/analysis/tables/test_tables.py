"""Measured, rehearsed, failed, skipped and stale, kept apart."""

import pytest
from builders import record, train_result, trial_spec
from price_builders import price
from report_builders import baseline_of, measured, plan_of, rehearsed, repeats, tpu_vs_gpu

from orchestrator.analysis.comparison.speedup_matrix import find_matrices
from orchestrator.analysis.comparison.step_cost import fit_step_costs
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.report.headline import build_headline, list_sentences
from orchestrator.core.errors import FAILURE_KINDS
from orchestrator.core.placement import Plan, Skipped
from orchestrator.core.result import Failure
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.plan.cache import would_fail_again

FAST, SLOW = (1300, 1310, 1290, 1305, 1295), (1000, 1010, 990, 1005, 995)
FAILED = Failure(kind="oom", message="the host killed it")


def tables(records, **changes):
    return {table.title: table for table in collect_findings(records, plan_of(records, **changes)).tables}


def collect_rows(table):
    return [dict(zip((column.header for column in table.columns), row, strict=True)) for row in table.rows]


def facts(records, **changes):
    """Leave out the answers, which have tests of their own."""
    return list_sentences(collect_findings(records, plan_of(records, **changes)))


def test_a_sweep_has_a_table_for_each_fate_and_none_that_is_empty():
    records, plan = tpu_vs_gpu()
    assert [table.title for table in collect_findings(records, plan).tables] == [
        "Settings of the job",
        "Measure next",
        "Measured",
        "Compared",
        "Against the baseline",
        "Speed-up by device and precision",
        "Not judged",
        "Predicted",
        "Cost",
        "Prices",
        "Failed",
        "Rehearsed",
        "Skipped",
    ]


def test_records_are_shown_in_the_order_of_the_plan():
    records, plan = tpu_vs_gpu()
    first, second = (collect_findings(value, plan) for value in (records, records[::-1]))
    assert list(second.frame["trial_id"]) == [cached_trial.trial_id for cached_trial in plan.cached]
    assert first.tables == second.tables


def test_a_trial_costs_its_failed_attempts_too_in_the_frame():
    failed = record(failure=FAILED, price=price(), started_at=0.0, ended_at=8.0)
    (usd,) = collect_findings([failed, done := record(price=price())], plan_of([done])).frame["trial_usd"]
    assert usd == pytest.approx(0.008 + 0.003)


def test_a_measured_row_has_its_numbers_with_units_in_the_headers():
    (row,) = collect_rows(tables([record()])["Measured"])
    assert row == {
        "device": "cpu",
        "trainer": "torch_ddp",
        "precision": "fp32",
        "samples/s": "6,400",
        "step ms": "10.00",
        "first step s": "0.2000",
        "set-up s": "0.5000",
        "final loss": "0.1000",
        "epoch s": "9.375",
        "accuracy": "0.9700 [0.9575, 0.9789]",
        "over": "6 blocks",
    }


def test_numbers_that_not_all_have_get_a_column_where_one_has_them():
    counted = record(result=train_result(energy_joules={"accelerator": 384.0}))
    older = record(spec=trial_spec(precision="bf16"), result=train_result(train_samples=None))
    first, second = collect_rows(tables([counted, older])["Measured"])
    assert (first["J/sample"], first["epoch s"]) == ("0.1000", "9.375")  # 60 steps of 64 samples
    assert (second["J/sample"], second["epoch s"]) == (UNKNOWN, "9.375")
    assert "host J/sample" not in first


def test_what_is_the_same_in_all_rows_is_shown_once():
    note = tables([record()])["Measured"].note
    assert (
        "workload mnist_cnn, workers 1, batch 64, steps 120, timing measure.max_blocks=6, "
        "data synthetic 1, host Some CPU x2." in note
    )


def test_what_differs_is_a_column():
    records = [measured(steps=300, num_workers=1), measured(steps=400, num_workers=2)]
    assert {(row["steps"], row["workers"]) for row in collect_rows(tables(records)["Measured"])} == {
        ("300", "1"),
        ("400", "2"),
    }


def test_a_rehearsal_has_no_times_and_shows_what_stood_in():
    (row,) = collect_rows(tables([rehearsed(), rehearsed(precision="bf16")])["Rehearsed"])
    assert row["precisions"] == "fp32, bf16"
    assert row["outcome"] == "passed"
    assert row["in place of the device"] == "cpu for t4; gloo for nccl"
    assert not any(header.endswith((" s", " ms", "/s")) for header in row)


def test_rehearsals_that_differ_in_more_than_their_precision_have_a_row_each():
    rows = collect_rows(
        tables([rehearsed(), rehearsed(num_workers=2, replicas=2), rehearsed(steps=300)])["Rehearsed"]
    )
    assert [row["workload"] for row in rows] == [
        "mnist_cnn, 1 worker, 120 steps",
        "mnist_cnn, 2 workers, 120 steps",
        "mnist_cnn, 1 worker, 300 steps",
    ]


def test_a_failed_rehearsal_is_a_failure_and_a_rehearsal():
    found = tables([rehearsed(failure=FAILED)])
    assert collect_rows(found["Rehearsed"])[0]["outcome"] == "failed: oom"
    (row,) = collect_rows(found["Failed"])
    assert (row["class"], row["cause"]) == ("oom", "the host killed it")
    assert row["log"] == "logs/0123456789abcdef/attempt_1"


@pytest.mark.parametrize("kind", [kind for kind in FAILURE_KINDS if kind != "pruned"])
def test_a_failed_trial_shows_what_really_runs_it_again(kind):
    """The plan is asked: what would fail again is not run by the same command."""
    environment = TrainerEnvironment(python="python", versions={}, missing=None)
    failed = record(failure=Failure(kind=kind, message="no luck"), environment={"code_sha256": "ab"})
    (row,) = collect_rows(tables([failed])["Failed"])
    is_left_alone = would_fail_again(failed, environment, code_sha256="ab")
    assert (f"--rerun {failed.trial_id}" in row["to run it again"]) == is_left_alone
    assert row["to run it again"].startswith("the same command")


def test_a_trial_that_the_budget_stopped_needs_more_of_it():
    failed = record(failure=Failure(kind="budget", message="told to leave: budget.usd=5 is spent"))
    (row,) = collect_rows(tables([failed])["Failed"])
    assert row["to run it again"] == "the same command with a higher cap (see the cause)"


def test_the_option_to_rerun_failed_trials_is_shown_only_if_the_same_command_does_not():
    own, hosts = (Failure(kind=kind, message="no luck") for kind in ("diverged", "worker_lost"))
    assert "--rerun-failed runs all of them again" in tables([record(failure=own)])["Failed"].note
    assert "--rerun" not in tables([record(failure=hosts)])["Failed"].note


def test_equal_reasons_are_one_row_with_a_count_and_some_names():
    skipped = [Skipped(point=f"point {index}", reason="no such device") for index in range(8)]
    (row,) = collect_rows(tables([], skipped=skipped)["Skipped"])
    assert (row["points"], row["reason"]) == ("8", "no such device")
    assert row["which"].endswith("point 5; and 2 more")


def test_a_result_of_another_environment_is_shown():
    (row,) = collect_rows(tables([record()], stale="torch 2.12, here 2.13")["Stale"])
    assert (row["reason"], row["which"]) == ("torch 2.12, here 2.13", "mnist_cnn cpu torch_ddp fp32")


def test_a_warning_of_the_plan_is_shown():
    (row,) = collect_rows(tables([measured(placed={"warnings": ("batch 8 is small",)})])["Warnings"])
    assert row["reason"] == "batch 8 is small"


def test_the_headline_counts_every_point_once():
    records, plan = tpu_vs_gpu()
    answer, counts, *_ = build_headline(collect_findings(records, plan))
    assert answer.startswith("Not settled, for mnist_cnn (fastest). ")
    assert counts == "30 trials measured, 3 rehearsed, 1 failed, 4 points skipped."


def test_repeats_that_differ_are_a_verdict_with_its_interval():
    records = repeats("torch_ddp", rates=FAST) + repeats("tensorflow", rates=SLOW)
    (row,) = collect_rows(tables(records)["Compared"])
    assert row == {
        "by": "trainer",
        "where": "mnist_cnn",
        "first": "torch_ddp",
        "second": "tensorflow",
        "ratio": "1.30x [1.29, 1.31]",
        "verdict": "faster",
    }


def test_one_repeat_each_is_no_verdict():
    (row,) = collect_rows(tables([measured("torch_ddp"), measured("torch_xla")])["Compared"])
    assert (row["first"], row["second"]) == ("torch_ddp", "torch_xla")
    assert (row["ratio"], row["verdict"]) == ("2.18x", "too few repeats")


def test_what_differs_in_two_things_is_not_compared():
    records = [measured(), measured("tensorflow", precision="bf16"), record(spec=trial_spec(seed=1))]
    assert "Compared" not in tables(records)


def test_a_trial_that_something_disturbed_is_marked_and_the_mark_is_explained():
    busy = {"load_average": (9.0, 9.0)}
    records = [measured(repeat=0), measured(repeat=1, recorded=busy), measured("tensorflow", recorded=busy)]
    found = tables(records)
    assert [row["over"] for row in collect_rows(found["Measured"])] == [
        "1 repeat, 1 noisy",
        "15 blocks, noisy",
    ]
    assert "the host's load average exceeded 1.25 times the trial's cores" in found["Measured"].note
    assert collect_rows(found["Compared"])[0]["verdict"] == "too few repeats, noisy"
    assert "oisy" not in tables([measured()])["Measured"].note


def test_a_trainer_without_training_is_shown_and_not_compared():
    records = [measured(), measured("noop", step_seconds=1e-6, placed={"trains": False})]
    assert [row["trainer"] for row in collect_rows(tables(records)["Measured"])] == ["torch_ddp", "noop"]
    assert "Not compared, because it trains nothing: noop." in tables(records)["Measured"].note
    assert "Compared" not in tables(records)
    ((only,),) = (found.standings for found in collect_findings(records, plan_of(records)).recommendations)
    assert only.setting == "cpu, torch_ddp, fp32"


def test_any_quality_has_a_column_that_no_other_column_is_called():
    quality = {"accuracy": 0.9, "precision": 0.8, "kappa": 0.7}
    (row,) = collect_rows(tables([record(result=train_result(quality=quality))])["Measured"])
    assert (row["precision"], row["precision (quality)"], row["kappa"]) == ("fp32", "0.8000", "0.7000")


def test_the_headline_names_failures_and_absent_devices():
    told = facts([rehearsed(), rehearsed(device="tpu_v3_8", failure=FAILED)])
    assert told[1:] == (
        "Failed: 1 oom. Causes and logs are in the table of failures.",
        "Not on this machine: t4, tpu_v3_8. Their code ran on the CPU, to find errors; it has no times.",
    )


def test_trials_of_the_plan_that_did_not_run_are_counted():
    plan = plan_of([record()])
    assert list_sentences(collect_findings([], plan))[0].endswith("0 points skipped, 1 not run yet.")


def test_trials_that_the_plan_does_not_ask_for_are_counted_and_not_shown():
    nothing = Plan(sweep="example", placements=(), cached=(), skipped=())
    told = build_headline(collect_findings([record()], nothing))
    assert told[0].startswith("0 trials measured")
    assert told[1] == "Not compared: 1 trial here, of other requests or earlier code."


def test_a_rehearsal_and_a_failure_are_in_no_comparison_matrix_scaling_or_choice():
    records = [
        measured(),
        rehearsed(),
        rehearsed(precision="bf16"),
        rehearsed(num_workers=2, replicas=2),
        measured(precision="bf16"),
        record(spec=trial_spec(precision="bf16", seed=9), failure=FAILED),
    ]
    found = collect_findings(records, plan_of(records, baseline=baseline_of(records, precision="fp32")))
    sides = {side for group in found.compared for item in group for side in (item.first, item.second)}
    assert sides == {"fp32", "bf16"}
    assert len(found.against.compared) == 1
    assert [set(matrice.cells) for matrice in find_matrices(found.measured, found.plan.baseline)] == [
        {("cpu", "fp32"), ("cpu", "bf16")}
    ]
    assert (found.scaling, fit_step_costs(found.measured)) == ((), ())
    answer, failed = found.recommendations
    assert [(one.setting, one.num_runs) for one in answer.standings] == [
        ("cpu, torch_ddp, bf16", 1),
        ("cpu, torch_ddp, fp32", 1),
    ]
    assert (failed.standings, failed.chosen) == ((), None)
