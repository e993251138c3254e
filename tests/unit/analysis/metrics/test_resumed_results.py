"""A timing that was resumed is marked wherever it is shown, compared or paid for."""

import io
import math
from dataclasses import replace

import pytest
from builders import placement, pursuit, record, train_result
from price_builders import price
from report_builders import measured, plan_of
from rich.console import Console

from orchestrator.analysis.comparison.baseline import format_verdict
from orchestrator.analysis.comparison.compare import compare_fastest
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.analysis.metrics.cost import compute_costs
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.placement import Attempt, Plan
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.terminal.live_view import watching
from orchestrator.train.validation import gates

RESUMED = {"resumed_from_step": 50, "resumed_seconds": 10.0}


def of(*records):
    return find_measured(build_frame(records))


def cells(records, title: str, column: str) -> list[str]:
    tables = collect_findings(records, plan_of(records)).tables
    (table,) = (table for table in tables if table.title == title)
    place = [column.header for column in table.columns].index(column)
    return [row[place] for row in table.rows]


def test_the_time_of_a_resumed_job_holds_the_training_up_to_its_checkpoint():
    whole, resumed = of(measured()), of(measured(recorded=RESUMED))
    assert resumed[0].job_seconds.median == pytest.approx(whole[0].job_seconds.median + 10.0)
    assert (whole[0].num_resumed, resumed[0].num_resumed) == (0, 1)


def test_what_a_resumed_repeat_cost_is_not_that_of_a_job():
    both = [measured(), measured(repeat=1, recorded=RESUMED)]
    priced = [replace(item, price=price()) for item in both]
    whole, together, alone = of(priced[0]), of(*priced), of(priced[1])
    assert together[0].job_usd == whole[0].job_usd
    assert math.isnan(alone[0].job_usd.median)


def test_results_and_their_note_are_marked_as_resumed():
    records = [measured(), measured("tensorflow", recorded=RESUMED)]
    assert sorted(cells(records, "Measured", "over")) == ["15 blocks", "15 blocks, resumed"]
    (table,) = (one for one in collect_findings(records, plan_of(records)).tables if one.title == "Measured")
    assert "Resumed: a worker was lost and the training went on from a checkpoint." in table.note


def test_repeats_count_those_that_were_resumed():
    records = [measured(), measured(repeat=1, recorded=RESUMED | {"load_average": (9, 9)})]
    assert cells(records, "Measured", "over") == ["1 repeat, 1 noisy, 1 resumed"]


def test_a_verdict_over_a_resumed_side_is_marked():
    ((only,),) = compare_fastest(of(measured(), measured("tensorflow", recorded=RESUMED)))
    assert format_verdict(only) == "too few repeats, resumed"


def test_a_resumed_training_to_a_target_is_marked_and_has_no_cost_to_it():
    timing = TimingSpec(target=0.9, evaluate_every_steps=10)
    told = measured(recorded=RESUMED | {"pursuit": pursuit(0.5, 0.9)}, timing=timing)
    assert cells([told], "Time to target", "over") == ["1 training, 1 seed, 1 resumed"]
    whole = record(price=price(), result=train_result(pursuit=pursuit(0.5, 0.9)))
    resumed = record(price=price(), result=train_result(pursuit=pursuit(0.5, 0.9), **RESUMED))
    assert "usd_to_target" in compute_costs(whole)
    assert "usd_to_target" not in compute_costs(resumed)


def test_a_timing_that_was_not_resumed_has_zeros():
    assert [collect_metrics(record())[name] for name in RESUMED] == [0, 0]
    assert [collect_metrics(record(result=train_result(**RESUMED)))[name] for name in RESUMED] == [50, 10.0]


def test_steps_that_were_timed_are_among_those_that_the_attempt_took():
    timed, cut = train_result(resumed_from_step=56), train_result(resumed_from_step=57)
    assert gates.find_failure(placement(), timed, driver_names={}) is None
    failure = gates.find_failure(placement(), cut, driver_names={})
    assert failure.message == "64 steps were timed; 63 were taken"


def test_the_screen_shows_where_a_trial_went_on_from_and_what_was_refused(tmp_path):
    console = Console(file=io.StringIO(), width=200)
    notes = ("the checkpoint of step 60 is damaged: its hash is another",)
    told = record(result=train_result(checkpoint_notes=notes, **RESUMED))
    plan = Plan(sweep="example", placements=(told.placement,), cached=(), skipped=())
    with watching(console, plan, folder=tmp_path, ledger="records.jsonl") as watcher:
        watcher.started(Attempt(placement=told.placement, number=2))
        watcher.ended(told)
    assert f"accuracy 0.970, resumed from step 50, {notes[0]}  [" in console.file.getvalue()
