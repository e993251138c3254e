"""Adaptive searches of made-up sweeps: what they ask for, when they stop, and what they say."""

import math
from dataclasses import replace

import pytest
from builders import record, train_result
from price_builders import price
from searched_worlds import World, grid, true_seconds

from orchestrator.analysis.recommendation.jobs.jobs_of_plan import jobs_of_plan
from orchestrator.analysis.recommendation.model.model import pooled_errors
from orchestrator.analysis.recommendation.recommend import build_recommendations
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import ErrorCorrelation, ErrorModel, StepPrior
from orchestrator.core.objective import FASTEST, Objective
from orchestrator.core.search import Search
from orchestrator.extensions.adaptive_search.outlook import outlook_sentence
from orchestrator.pipeline.search import end_sentence, step_sentences

BEST = "cpu, torch_ddp, fp32, batch 1024"


def find_leader(search):
    (progress,) = search.progress.jobs
    return progress


def find_answer(world, objective=FASTEST):
    (answer,) = build_recommendations(world.records, world.plan(), objective)
    return answer


def test_a_search_finds_the_fastest_setting_without_measuring_all():
    world = World(grid())
    progress = find_leader(world.run())
    assert (progress.stop, progress.leader, progress.is_measured) == ("clear", BEST, True)
    assert progress.chance >= 0.95
    assert progress.num_measured < progress.num_settings == 16


def test_the_report_names_the_same_winner_with_the_same_chance():
    world = World(grid())
    progress, answer = find_leader(world.run()), find_answer(world)
    assert answer.chosen == progress.leader
    assert answer.state in ("settled", "tie")
    assert next(one.chance for one in answer.standings if one.setting == BEST) == progress.chance


@pytest.mark.parametrize("killed_after", [1, 4, 7])
def test_a_search_that_was_killed_goes_on_with_the_same_trials(killed_after):
    whole, killed = World(grid()), World(grid())
    whole.run()
    killed.run(most=killed_after)
    assert len(killed.records) == killed_after
    killed.asked = [one.trial_id for one in killed.records]
    killed.run()
    assert killed.asked == whole.asked


def test_several_trials_at_once_are_never_the_same_one_and_find_the_same_setting():
    world = World(grid())
    progress = find_leader(world.run(at_once=3))
    assert len(set(world.asked)) == len(world.asked)
    assert progress.leader == BEST


def test_repeats_compete_with_first_looks_where_two_settings_are_close():
    def close(spec):
        return 0.1 * (1.06 if spec.global_batch_size == 64 else 1.0) * spec.global_batch_size / 64

    placements = grid(trainers=("torch_ddp",), precisions=("fp32",), batches=(64, 65), repeats=5)
    world = World(placements, estimate_seconds=close, noise=0.05)
    world.run()
    assert len(world.records) > 2
    assert any(one.spec.repeat for one in world.records)


@pytest.mark.parametrize("place", range(5))
def test_a_disturbed_trial_that_was_faster_than_expected_is_repeated(place):
    dry = World(grid())
    dry.run(most=5)
    fast = dry.records[place].spec

    def is_fast(trial):
        return replace(trial, repeat=0) == fast

    def estimate_seconds(trial):
        return true_seconds(trial) * (0.1 if is_fast(trial) else 1.0)

    world = World(
        grid(repeats=5),
        estimate_seconds=estimate_seconds,
        is_disturbed=lambda trial: is_fast(trial) and not trial.repeat,
    )
    search = world.run()
    assert find_leader(search).is_measured
    assert {one.spec.repeat for one in world.records if is_fast(one.spec)} > {0}
    answer = find_answer(world)
    medians = {one.setting: one.seconds.median for one in answer.standings if one.provenance == "measured"}
    assert answer.chosen == min(medians, key=medians.__getitem__)


def test_a_larger_batch_is_not_tried_after_one_ran_out_of_memory():
    def oom(spec):
        return "oom" if spec.trainer == "torch_ddp" and spec.global_batch_size >= 256 else None

    world = World(grid(precisions=("fp32",)), find_failure=oom)
    world.run()
    failed = [one.spec.global_batch_size for one in world.records if one.failure]
    if 256 in failed:
        assert 1024 not in failed[failed.index(256) :]
    reasons = {one.setting: one.reason for one in find_answer(world).left_out}
    assert set(reasons.values()) <= {"oom in 1 of 1 trials", "batch 256 ran out of memory there"}


def test_a_trainer_with_a_failed_environment_is_left_out_with_the_reason():
    world = World(grid(), find_failure=lambda spec: "environment" if spec.trainer == "tensorflow" else None)
    progress = find_leader(world.run())
    assert sum(one.spec.trainer == "tensorflow" for one in world.records) == 1
    assert progress.leader == BEST
    assert "the environment of tensorflow failed" in {one.reason for one in find_answer(world).left_out}


def test_a_fault_of_the_machine_leaves_out_no_setting_of_a_trainer_that_has_measured_others():
    tried = []

    def fail_second(spec):
        """Let the second trial of tensorflow find a full disk."""
        if spec.trainer != "tensorflow":
            return None
        tried.append(spec)
        return "environment" if len(tried) == 2 else None

    world = World(grid(), find_failure=fail_second)
    assert find_leader(world.run()).leader == BEST
    assert len(tried) > 1
    assert "the environment of tensorflow failed" not in {one.reason for one in find_answer(world).left_out}


def test_a_goal_and_a_deadline_decide_what_is_looked_for():
    """By cost on one host the fastest is the cheapest; within a time that nothing keeps, nothing is."""
    cheapest = find_leader(World(grid()).run(objective=Objective(goal="cheapest")))
    assert (cheapest.leader, cheapest.stop) == (BEST, "clear")
    none = find_leader(World(grid()).run(objective=Objective(deadline_hours=1e-6)))
    assert none.stop == "none"


def test_to_a_target_the_setting_that_needs_the_fewest_steps_can_beat_the_one_with_the_highest_rate():
    def steps_to_target(spec):
        return 2_000 if spec.global_batch_size <= 64 else 1_800

    world = World(grid(target=0.9, precisions=("fp32",)), steps_to_target=steps_to_target)
    progress = find_leader(world.run())
    assert {one.spec.global_batch_size for one in world.records} == {16, 64, 256, 1024}
    assert (progress.stop, progress.leader) == ("clear", "cpu, torch_ddp, fp32, batch 16")
    assert progress.chance >= 0.95
    assert find_answer(world).chosen == progress.leader


def test_a_trainer_that_was_never_measured_keeps_the_search_open():
    """Eight settings of one trainer are known; nothing tells how much faster the other one is."""
    world = World(grid(trainers=("tensorflow",)))
    world.run()
    known = world.records
    world = World(
        grid(), estimate_seconds=lambda spec: true_seconds(spec) / (30 if spec.trainer == "torch_ddp" else 1)
    )
    world.records = list(known)
    progress = find_leader(world.run())
    assert progress.leader.startswith("cpu, torch_ddp")
    assert any(one.spec.trainer == "torch_ddp" for one in world.records)


def test_the_first_trials_of_several_at_once_are_of_different_settings():
    search = World(grid()).started()
    placements = {one.trial_id: one for one in World(grid()).placements}
    chosen = []
    for _ in range(4):
        trial = search.next_trial(lambda _: "")
        search.start(trial)
        chosen.append(placements[trial].trial)
    assert len({(one.trainer, one.precision, one.global_batch_size) for one in chosen}) == 4


def test_trials_that_time_no_step_are_not_repeated():
    world = World(grid(trainers=("torch_ddp",), precisions=("fp32",), batches=(16, 64)))
    world.outcome = lambda placed: replace(
        record(placement=placed, result=train_result(run_seconds=(3.0,), block_seconds=())), price=price()
    )
    world.run()
    assert len(world.records) == 2


def test_a_trainer_that_reaches_the_target_is_tried_where_another_one_missed_it():
    def steps_to_target(spec):
        return None if spec.trainer == "tensorflow" else 500

    world = World(grid(target=0.9, precisions=("fp32",), batches=(16, 64)), steps_to_target=steps_to_target)
    progress = find_leader(world.run())
    assert (progress.stop, progress.leader) == ("clear", "cpu, torch_ddp, fp32, batch 16")


def test_a_search_of_two_hundred_settings_can_be_clear():
    world = World(grid(trainers=("torch_ddp",), precisions=("fp32",), batches=tuple(range(1, 201))))
    progress = find_leader(world.run(**predicted(world.placements)))
    assert (progress.stop, progress.num_settings) == ("clear", 200)
    assert progress.num_measured < 20


def test_no_node_for_a_setting_leaves_out_the_others_on_its_devices():
    world = World(grid(), find_failure=lambda _: "infeasible")
    world.run()
    assert len(world.records) == 1


def test_a_dropped_trial_does_not_count_as_running():
    search = World(grid(batches=(16, 64), repeats=1)).started()
    trial = search.next_trial(lambda _: "")
    search.start(trial)
    assert search.next_trial(lambda _: "room") is None
    assert find_leader(search).stop == "waiting"
    search.drop(trial)
    assert search.next_trial(lambda _: "budget.usd=1") is None
    assert find_leader(search).stop == "budget"


def predicted(placements):
    """Priors of all settings at their true values, and the model of their errors."""
    priors = {
        one.trial_id: StepPrior(
            hardware=f"cpu {one.trial.precision}",
            batch_size=one.trial.global_batch_size,
            log_seconds=math.log(true_seconds(one.trial)),
            device=0.05,
            network=0.05,
        )
        for one in placements
        if not one.trial.repeat
    }
    errors = ErrorModel(correlation=ErrorCorrelation(devices=0.9, doublings=13.0), repeat=0.02, quantile=1.7)
    return {"step_priors": priors, "error_model": errors}


def test_predictions_take_the_place_of_a_first_design():
    world = World(grid(trainers=("torch_ddp",)))
    progress = find_leader(world.run(**predicted(world.placements)))
    assert progress.leader == BEST
    assert world.records[0].spec.global_batch_size == 1024
    assert progress.num_measured <= 2


def test_predicted_settings_are_assumed_to_deviate_as_published_repeats_do():
    world = World(grid())
    plan = world.plan(**predicted(world.placements))
    [job] = jobs_of_plan((), plan, FASTEST)
    assert pooled_errors(job, plan.error_model).one_run == pytest.approx(2 * plan.error_model.repeat)
    first, *others = job.candidates
    mixed = replace(job, candidates=(replace(first, prior=None), *others))
    assert pooled_errors(mixed, plan.error_model).one_run == pytest.approx(0.15)


def test_every_decision_and_the_end_are_shown_with_their_reasons():
    world = World(grid())
    search = world.started()
    search.next_trial(lambda _: "")
    (first,) = step_sentences(search.progress)
    assert first.startswith("mnist_cnn: next: cpu, ")
    assert first.endswith("first design: it is in the middle of the grid")
    (outlook,) = search.outlooks
    assert outlook_sentence(outlook).startswith("mnist_cnn: at least 4 further trials for 16 settings")
    progress = find_leader(world.run())
    said = end_sentence(progress, winner=BEST, goal="fastest")
    assert said.startswith(f"mnist_cnn: {progress.num_measured} of 16 settings measured in ")
    assert f"{BEST} is the choice (fastest); its chance to be good is " in said


def test_a_budget_and_missing_room_keep_trials_from_starting():
    search = World(grid()).started()
    assert search.next_trial(lambda _: "budget.usd=1") is None
    assert find_leader(search).why == "every trial that is left likely passes budget.usd=1"
    assert search.next_trial(lambda _: "room") is None
    assert find_leader(search).stop == "waiting"


def test_a_rehearsed_sweep_goes_on_as_if_each_trial_ended_as_predicted():
    placements = [replace(one, provenance="rehearsed") for one in grid(trainers=("torch_ddp",), repeats=1)]
    world = World(placements)
    search = world.run(**predicted(placements))
    progress = find_leader(search)
    assert (search.is_rehearsal, progress.leader, progress.is_measured) == (True, BEST, True)
    assert {one.provenance for one in world.records} == {"rehearsed"}


@pytest.mark.parametrize("bad", [{"confidence": 1.0}, {"tolerance": 0.0}, {"repeats": 0}])
def test_values_that_cannot_be_are_refused_by_their_key(bad):
    (key,) = bad
    with pytest.raises(ConfigError, match=f"search.{key}="):
        Search(**bad)


def test_a_search_of_ten_thousand_points_looks_at_few():
    world = World(grid(batches=tuple(range(1, 2501)), repeats=1))
    progress = find_leader(world.run(most=8))
    assert (progress.num_settings, progress.num_measured) == (10_000, 8)
