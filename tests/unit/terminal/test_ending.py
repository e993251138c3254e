"""End of a command: short, with the answer first."""

from dataclasses import replace

import pytest
from builders import placement, pursuit, trial_spec
from report_builders import PRICE, forecast, measured, plan_of, rehearsed, repeats, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Plan
from orchestrator.core.result import Failure
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.terminal.ending import choose_ending

COMMAND = "python -m orchestrator +sweep=example"


def ending(records, objective=Objective(), **plan):  # noqa: B008  it is frozen
    return choose_ending(collect_findings(records, plan_of(records, **plan), objective))


def cells(end, header):
    index = [column.header for column in end.table.columns].index(header)
    return [row[index] for row in end.table.rows]


def test_a_settled_answer_names_the_setting_and_its_chance():
    records = [
        *repeats("torch_ddp", rates=[1000, 1010, 1020, 1030, 1040], price=PRICE),
        *repeats("tensorflow", rates=[500, 505, 510, 515, 520], price=PRICE),
    ]
    end = ending(records)
    assert end.answers == ("Settled: cpu, torch_ddp, fp32, for mnist_cnn (fastest): chance >99%",)
    assert cells(end, "verdict") == ["recommended", "behind"]
    assert cells(end, "samples/s") == ["1,020 ±2.0%", "510 ±2.0%"]
    assert cells(end, "n") == ["5", "5"]
    assert end.table.note == (
        "±: half the spread of n quiet runs. $/M: per million samples, hypothetical prices."
    )
    assert end.facts[0].startswith("10 trials measured; $")


def test_a_job_of_known_length_is_shown_with_its_time_and_cost_and_the_cheapest_setting():
    records = [
        *repeats("torch_ddp", rates=[1000, 1000, 1000], price=PRICE),
        *repeats("tensorflow", rates=[500, 500, 500], price=replace(PRICE, node_usd_per_hour=0.1)),
    ]
    (told,) = ending(records).jobs
    assert told == (
        "Your job (15 epochs) on cpu, torch_ddp, fp32: 15.0 min (14.6 to 15.5), $0.90 (measured). "
        "Cheapest, cpu, tensorflow, fp32: 30.0 min (29.2 to 30.9), $0.050 (measured). "
        "One evaluation is included; further ones, checkpoints and storage are not."
    )
    (alone,) = ending(repeats("torch_ddp", rates=[1000, 1000])).jobs
    assert alone == (
        "Your job (15 epochs) on cpu, torch_ddp, fp32: 15.0 min (14.5 to 15.6) (measured). "
        "One evaluation is included; further ones, checkpoints and storage are not."
    )


def test_an_evaluation_and_checkpoints_that_were_measured_are_part_of_the_job():
    """900 s of steps, a tenth of that for checkpoints, and an evaluation of 100 s are 18.2 minutes."""
    records = repeats("torch_ddp", rates=[1000, 1000, 1000])
    spent = {"evaluation_seconds": 100.0, "num_checkpoints": 2}
    results = [
        replace(one.result, **spent, checkpoint_seconds=one.result.training_seconds / 10) for one in records
    ]
    (told,) = ending([replace(one, result=took) for one, took in zip(records, results, strict=True)]).jobs
    assert "18.2 min" in told
    assert told.endswith(
        "One evaluation and checkpoints are included; further evaluations and storage are not."
    )


def test_a_job_of_unknown_length_has_no_such_line():
    records = repeats("torch_ddp", rates=[1000, 1000])
    end = choose_ending(collect_findings(records, replace(plan_of(records), trainings={})))
    assert end.jobs == ()
    length = "time and cost of your whole job: give its length, report.samples=N"
    assert end.facts[-1] == length
    assert length not in ending(records).facts


def test_a_job_that_ends_at_its_target_is_shown_with_its_time_and_cost():
    timing = TimingSpec(target=0.9, evaluate_every_steps=10)
    reached = {"pursuit": pursuit(0.1, 0.95)}
    records = [measured(recorded=reached, timing=timing, price=PRICE, seed=seed) for seed in range(3)]
    (told,) = ending(records).jobs
    assert told.startswith("Your job (to accuracy 0.9) on cpu, torch_ddp, fp32: ")
    assert "$" in told
    assert told.endswith("Evaluations until the target are included; checkpoints and storage are not.")


def test_no_evaluation_is_in_the_job_of_a_script_which_measured_no_quality():
    records = [
        replace(one, result=replace(one.result, quality={}, evaluation_seconds=2e-6))
        for one in repeats("torch_ddp", rates=[1000, 1000, 1000])
    ]
    (told,) = ending(records).jobs
    assert told.endswith("Evaluations, checkpoints and storage are not included.")


def test_trials_of_other_requests_are_counted():
    records = repeats("torch_ddp", rates=[1000, 1000])
    plan = plan_of(records[:1])
    others = "not compared: 1 trial here, of other requests or earlier code"
    assert others in choose_ending(collect_findings(records, plan)).facts
    assert not any("not compared" in fact for fact in ending(records).facts)


def test_tied_settings_are_shown_as_sharing_the_lead():
    rates = [1000, 1010, 1020, 1030, 1040]
    end = ending([*repeats("torch_ddp", rates=rates), *repeats("tensorflow", rates=rates)])
    assert end.answers[0].startswith("Tie: ")
    assert "2 settings share the lead" in end.answers[0]
    assert [verdict.split(",")[0] for verdict in cells(end, "verdict")] == ["tie", "tie"]


def test_a_prediction_is_marked_and_has_its_interval():
    records, plan = tpu_vs_gpu()
    end = choose_ending(collect_findings(records, plan))
    assert end.answers == ("Not settled, for mnist_cnn (fastest): best measured is cpu, torch_ddp, bf16",)
    assert cells(end, "verdict")[0] == "best measured"
    assert cells(end, "verdict")[-1] == "predicted, >99%"
    assert cells(end, "samples/s")[-1] == "32k [16k, 64k]"
    assert cells(end, "n")[-1] == "\N{EN DASH}"
    assert len(end.table.rows) == 4
    assert "Not measured: 90% interval, chance." in end.table.note
    assert end.steps[0].startswith(
        "rent cpu-box on demand in here for t4, fp32 and run it, about 2.3 s and $0.0030"
    )
    assert end.steps[0].endswith(": python -m orchestrator next +sweep=example")


def test_the_likeliest_prediction_alone_is_shown():
    records = repeats("torch_ddp", rates=[1000, 1010])
    forecasts = [forecast(device=device) for device in ("t4", "v100", "a100", "h100")]
    verdicts = cells(ending(records, forecasts=forecasts), "verdict")
    assert len([verdict for verdict in verdicts if verdict.startswith("predicted")]) == 1


def test_several_jobs_have_fewer_rows_each_and_a_column():
    records = [
        one
        for workload in ("a", "b", "c", "d", "e")
        for trainer in ("torch_ddp", "tensorflow", "torch_xla")
        for one in repeats(trainer, rates=[1000, 1010], workload=workload)
    ]
    end = ending(records)
    assert len(end.answers) == 3
    assert end.answers[-1] == "3 more jobs: --full lists all of them"
    assert end.table.columns[0].header == "job"
    assert len(end.table.rows) == 2
    assert "; 4 more settings with --full" in end.facts[0], "of the two jobs with rows"


def test_measurements_of_a_busy_host_are_shown_and_not_judged():
    busy = {"load_average": (9.0, 9.0)}
    records = [
        measured(name, repeat=repeat, recorded=busy)
        for name in ("torch_ddp", "tensorflow")
        for repeat in (0, 1)
    ]
    end = ending(records)
    assert end.answers == (
        "Not settled, for mnist_cnn (fastest): no measured setting to recommend, 2 settings measured on a "
        "busy host",
    )
    assert cells(end, "setting") == ["torch_ddp", "tensorflow"]
    assert cells(end, "verdict") == ["not judged, 2 noisy"] * 2


def test_settings_of_a_busy_host_without_a_row_are_counted():
    busy = {"load_average": (9.0, 9.0)}
    names = ("torch_ddp", "tensorflow")
    end = ending([measured(one, precision=two, recorded=busy) for one in names for two in ("fp32", "bf16")])
    assert len(end.table.rows) == 3
    assert end.facts[0].endswith("; 1 more setting with --full")


def test_prices_are_noted_once_where_unjudged_settings_stand_above_predicted_ones():
    busy = {"load_average": (9.0, 9.0)}
    records = [measured("torch_ddp", repeat=repeat, price=PRICE, recorded=busy) for repeat in (0, 1)]
    end = ending(records, forecasts=[forecast("torch_ddp", source="fitted to T4")])
    assert [verdict.split(",")[0] for verdict in cells(end, "verdict")] == ["not judged", "predicted"]
    assert end.table.note.count("$/M: per million samples") == 1
    assert end.table.note.count("hypothetical prices") == 1


def test_n_counts_the_runs_that_decide_and_the_verdict_names_the_others():
    records = [
        *repeats(rates=[4483, 4500, 216], price=PRICE),
        *repeats(rates=[4822], price=PRICE, seed=1, recorded={"load_average": (9.0, 9.0)}),
        *repeats("tensorflow", rates=[2355, 2360], price=PRICE),
    ]
    end = ending(records)
    assert cells(end, "n") == ["2", "2"]
    assert cells(end, "samples/s")[0].endswith("±0.2%")
    assert [verdict.partition(",")[2] for verdict in cells(end, "verdict")] == [" 1 noisy, 1 outlier", ""]


def test_an_empty_sweep_shows_the_next_command():
    plan = Plan(sweep="example", placements=(placement(),), cached=(), skipped=())
    end = choose_ending(collect_findings([], plan))
    assert end.answers == ()
    assert end.table.rows == ()
    assert end.facts == ("0 trials measured, 1 not run yet",)
    assert end.steps == (f"nothing is recorded yet; run the sweep: {COMMAND}",)


def test_a_sweep_that_was_stopped_shows_how_to_go_on():
    records = [measured()]
    plan = plan_of(records)
    plan = Plan(sweep="example", placements=(placement(),), cached=plan.cached, skipped=())
    end = choose_ending(collect_findings(records, plan))
    assert end.steps[0] == "run what is left, 1 trial: python -m orchestrator next +sweep=example"


def test_trials_that_a_cap_leaves_out_are_not_proposed():
    records, left = [measured()], (placement(), placement(trial_spec(seed=9)))
    plan = Plan(sweep="example", placements=left, cached=plan_of(records).cached, skipped=())
    capped = replace(plan, over_budget=("budget.usd=5", "budget.usd=5"))
    end = choose_ending(collect_findings(records, capped))
    assert end.steps[0] == "raise budget.usd=5, which leaves out 2 trials"
    never_begun = replace(capped, cached=(), over_budget=("budget.usd=5",) * 2)
    (first,) = choose_ending(collect_findings([], never_begun)).steps
    assert first == "raise budget.usd=5, which leaves out 2 trials"
    one_fits = replace(plan, over_budget=("budget.usd=5",))
    assert (
        choose_ending(collect_findings(records, one_fits)).steps[0].startswith("run what is left, 2 trials")
    )


def test_a_setting_that_breaks_a_limit_is_not_called_behind():
    records = [
        *repeats("torch_ddp", rates=[1000, 1010, 1020, 1030, 1040], price=PRICE),
        *repeats("tensorflow", rates=[500, 505, 510, 515, 520], price=PRICE),
    ]
    within = Objective(deadline_hours=0.3)  # of 0.25 and 0.5 hours
    assert cells(ending(records, objective=within), "verdict") == ["recommended", "over the limits"]


def test_what_is_left_of_devices_that_are_not_here_is_named_as_rehearsed():
    records = [measured()]
    left = placement(trial_spec(device="t4", host_cpu=None), provenance="rehearsed")
    plan = Plan(sweep="example", placements=(left,), cached=plan_of(records).cached, skipped=())
    end = choose_ending(collect_findings(records, plan))
    assert end.steps[0].startswith(
        "run what is left, 1 trial, 1 of which only rehearse, without their devices: "
    )


@pytest.mark.parametrize(("number", "more"), [(1, ""), (3, "; 2 more failures with --full")])
def test_a_failure_is_shown_with_its_cause(number, more):
    failure = Failure(kind="oom", message="out of memory")
    records = [measured(), *(rehearsed(device=f"d{index}", failure=failure) for index in range(number))]
    assert ending(records).facts[-1] == f"failed: oom: out of memory (logs/0123456789abcdef/attempt_1){more}"


def test_a_step_that_can_be_run_here_is_the_short_command_and_the_folder_is_in_it():
    rates = [1000, 1010, 1020, 1030, 1040]
    records = [*repeats("torch_ddp", rates=rates), *repeats("tensorflow", rates=rates)]
    there = replace(plan_of(records), repeated_words=("executor=inline", "outputs=my results"))
    end = choose_ending(collect_findings(records, there))
    assert end.steps[0].endswith(": python -m orchestrator next +sweep=example 'outputs=my results'")


def test_a_step_on_a_device_that_is_not_here_names_what_to_rent_and_the_short_command():
    (step,) = choose_ending(collect_findings(*tpu_vs_gpu())).steps
    assert step.startswith("rent cpu-box on demand in here for t4, fp32 and run it")
    assert step.endswith(": python -m orchestrator next +sweep=example")
