"""Trials that a search ends early: which ones, what is kept of them, and when they are asked for again."""

from dataclasses import replace

import pytest
from builders import record
from price_builders import price
from searched_worlds import World, grid, true_seconds

from orchestrator.analysis.findings import collect_findings
from orchestrator.core import codec
from orchestrator.core.objective import FASTEST, Objective
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.core.trial_progress import TrialProgress
from orchestrator.extensions.adaptive_search.learning_curves import stops_on_curve

BEST = "cpu, torch_ddp, fp32, batch 1024"


def find_leader(search):
    (progress,) = search.progress.jobs
    return progress


def pruned_in(world):
    return [one for one in world.records if one.is_pruned]


def test_a_search_that_prunes_finds_the_same_winner_in_less_time():
    whole, early = World(grid()), World(grid(), tells=True)
    expected, found = find_leader(whole.run()), find_leader(early.run())
    assert (found.leader, found.stop) == (expected.leader, "clear") == (BEST, "clear")
    assert found.num_pruned == len(pruned_in(early)) > 0
    assert found.seconds < 0.8 * expected.seconds
    assert all(len(one.pruning.shown.step_seconds) in (2, 4, 8) for one in pruned_in(early))


def test_the_best_setting_is_never_pruned_and_a_pruned_one_is_far_behind():
    world = World(grid(), tells=True)
    world.run()
    per_sample = {one.trial_id: true_seconds(one.spec) / one.spec.global_batch_size for one in world.records}
    best = min(per_sample.values())
    assert all(per_sample[one.trial_id] > 1.2 * best for one in pruned_in(world))


def test_a_pruned_trial_is_no_result_and_no_failure():
    world = World(grid(), tells=True)
    world.run()
    findings = collect_findings(world.records, world.plan(), FASTEST)
    assert len(findings.pruned) == len(pruned_in(world)) > 0
    assert not findings.failed
    (table,) = [one for one in findings.tables if one.title == "Pruned"]
    assert len(table.rows) == len(findings.pruned)
    assert findings.num_measured == len(world.records) - len(findings.pruned)
    (answer,) = findings.recommendations
    assert answer.num_trials == findings.num_measured


def test_a_killed_search_has_its_pruned_trials_and_asks_for_the_same_trials():
    whole = World(grid(), tells=True)
    whole.run()
    killed = World(grid(), tells=True)
    first = next(place for place, one in enumerate(whole.records) if one.is_pruned)
    killed.run(most=first + 1)
    assert killed.records[-1].is_pruned
    killed.run()
    assert killed.asked == whole.asked


def test_a_pruned_trial_is_run_in_a_grid_and_judged_there_as_not_measured():
    world = World(grid(), tells=True)
    world.run()
    grid_search = replace(world.search, name="grid")
    plan = world.plan(search=grid_search)
    early = pruned_in(world)[0]
    left = tuple(one for one in world.placements if one.trial_id == early.trial_id)
    findings = collect_findings(world.records, replace(plan, placements=(*plan.placements, *left)), FASTEST)
    (answer,) = findings.recommendations
    reasons = {one.reason for one in answer.left_out}
    assert "not measured yet" in reasons


def test_a_setting_pruned_when_it_was_slow_wins_once_it_is_cheap():
    """What it showed is judged anew: another goal, another price."""
    placements = grid(trainers=("torch_ddp",), precisions=("fp32", "bf16"), batches=(64,), repeats=3)
    seconds = {"fp32": 0.02, "bf16": 0.05}
    world = World(placements, estimate_seconds=lambda spec: seconds[spec.precision], tells=True)
    world.run()
    assert [one.spec.precision for one in pruned_in(world)] == ["bf16"]
    cheap = price(node_usd_per_hour=0.01)
    prices = {
        one.trial_id: cheap if one.trial.precision == "bf16" else price(node_usd_per_hour=10.0)
        for one in placements
        if not one.trial.repeat
    }
    world.records = [replace(one, price=prices_of(one, cheap)) for one in world.records]
    world.tells = False
    progress = find_leader(world.run(objective=Objective(goal="cheapest"), prices=prices))
    assert "bf16" in progress.leader
    assert progress.is_measured


def prices_of(one, cheap):
    return cheap if one.spec.precision == "bf16" else price(node_usd_per_hour=10.0)


def test_a_training_that_is_past_the_best_time_to_the_target_is_ended():
    world = World(
        grid(trainers=("torch_ddp", "tensorflow"), precisions=("fp32",), batches=(64,), target=0.9),
        estimate_seconds=lambda spec: 0.1 if spec.trainer == "torch_ddp" else 1.0,
        tells=True,
    )
    progress = find_leader(world.run())
    assert "torch_ddp" in progress.leader
    (early,) = pruned_in(world)
    assert early.spec.trainer == "tensorflow"
    assert early.pruning.why.startswith("it trained for ")
    assert early.pruning.shown.training_seconds < 100 * 1.0


def test_no_trial_is_pruned_if_only_quality_decides():
    world = World(grid(repeats=1), tells=True)
    world.run(objective=Objective(goal="best"))
    assert not pruned_in(world)


def test_a_record_of_a_pruned_trial_is_read_as_it_was_written():
    world = World(grid(), tells=True)
    world.run()
    early = pruned_in(world)[0]
    assert codec.from_json(TrialRecord, codec.to_json(early)) == early


def test_a_trial_that_fails_by_itself_is_not_called_pruned():
    world = World(grid())
    search = world.started()
    trial = search.next_trial(lambda _: "")
    placed = next(one for one in world.placements if one.trial_id == trial)
    assert (
        search.find_pruning(trial, TrialProgress(steps=20, training_seconds=1.0, step_seconds=(1.0, 1.0)))
        is None
    )
    search.start(trial)
    search.end(record(placement=placed, failure=Failure(kind="oom", message="no memory")))
    search.next_trial(lambda _: "")
    assert find_leader(search).num_pruned == 0


LINE = tuple((float(used), used / 10) for used in range(1, 11))


@pytest.mark.parametrize(
    ("own", "is_ended"),
    [
        (tuple((used, 0.5 * quality) for used, quality in LINE[:3]), True),
        (tuple((used, 2.0 * quality) for used, quality in LINE[:3]), False),
        (LINE[:2], False),
        ((), False),
    ],
    ids=["behind at a quarter", "ahead at a quarter", "before the first rung", "no evaluation"],
)
def test_asha_ends_a_training_behind_the_better_half(own, is_ended):
    assert stops_on_curve([LINE], own, 10.0) is is_ended


def test_asha_takes_any_unit_and_a_metric_that_falls():
    dollars = tuple((1e-4 * used, -1.0 / used) for used, _ in LINE)
    slow = tuple((1e-4 * used, -3.0 / used) for used, _ in LINE[:4])
    assert stops_on_curve([dollars], slow, 1e-3)


def test_a_training_behind_on_its_curve_is_ended_and_left_out():
    """Ray Tune's rule ends it at half of the best training's time, before its time alone would."""
    world = World(
        grid(trainers=("torch_ddp", "tensorflow"), precisions=("fp32",), batches=(64,), target=0.9),
        estimate_seconds=lambda _: 0.1,
        steps_to_target=lambda trial: 80 if trial.trainer == "torch_ddp" else 100,
        stops_on_curve=stops_on_curve,
        tells=True,
    )
    world.run()
    early = pruned_in(world)
    assert [one.spec.trainer for one in early] == ["tensorflow"]
    assert "is behind the better half" in early[0].pruning.why
    (answer,) = collect_findings(world.records, world.plan(), FASTEST).recommendations
    assert any(one.reason.startswith("it was ended early") for one in answer.left_out)
