"""Every point of a sweep is placed, cached, failed before or skipped."""

from dataclasses import replace

import pytest
from builders import record
from plan_builders import T4, environment, held, here, planned, point

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.placement import Aim, Failed, FullTraining, Plan, task_name
from orchestrator.core.result import Failure
from orchestrator.core.settings import Rerun


def finished(placement, **changes):
    return record(placement=placement, **changes)


def test_every_repeat_of_a_point_is_measured():
    found = planned(point(), repeats=3)
    assert [placement.trial.repeat for placement in found.placements] == [0, 1, 2]
    assert len({placement.trial_id for placement in found.placements}) == 3


def test_a_missing_device_is_rehearsed_once_and_after_all_measured_trials():
    found = planned(point(device=T4), point(), repeats=3)
    assert [(placement.trial.device, placement.provenance) for placement in found.placements] == [
        ("cpu", "measured"),
        ("cpu", "measured"),
        ("cpu", "measured"),
        ("t4", "rehearsed"),
    ]


def test_an_impossible_point_is_skipped_once_with_its_reason():
    found = planned(point(precision="fp16"), repeats=3)
    assert not found.placements
    (skipped,) = found.skipped
    assert skipped.point == "mnist_cnn cpu torch_ddp fp16"
    assert skipped.reason.startswith("fp16 on a CPU")
    assert skipped.trial is not None


def test_trials_of_an_absent_device_are_listed_when_rehearsed_or_skipped():
    points = (point(), point(device=T4), point(device=T4, precision="bf16"))
    rehearsed, skipped = (planned(*points, missing_device=name) for name in ("rehearse", "skip"))
    (absent,) = rehearsed.absent
    assert (absent.device, absent.precision) == ("t4", "fp32"), "a T4 has no bf16: such a point runs nowhere"
    assert skipped.absent == (absent,)
    again = planned(*points, records=[finished(placement) for placement in rehearsed.placements])
    assert again.absent == (absent,)
    assert not planned(*points, inventory=here(devices={"t4": held(1)})).absent


def test_a_missing_environment_skips_with_the_line_that_shows_how_to_get_it():
    absent = environment(missing="torch is not installed; get it with: pip install torch")
    (skipped,) = planned(point(), environments={"torch_ddp": absent}).skipped
    assert skipped.reason == "torch is not installed; get it with: pip install torch"


def test_what_is_recorded_with_a_result_is_not_run_again():
    first, second = planned(point(), repeats=2).placements
    found = planned(point(), repeats=2, records=[finished(first)])
    assert [placement.trial_id for placement in found.placements] == [second.trial_id]
    (cached,) = found.cached
    assert (cached.trial_id, cached.provenance, cached.stale) == (first.trial_id, "measured", None)


AS_NOW = {"torch": "2.13.0", "code_sha256": "the code of now"}


def failed(placement, *, kind="oom", **changes):
    environment = changes.pop("environment", AS_NOW)
    failure = Failure(kind=kind, message="so it was")
    return finished(placement, failure=failure, environment=environment, **changes)


@pytest.mark.parametrize("kind", ["oom", "diverged", "device_mismatch", "invalid_measurement", "error"])
def test_a_trial_that_failed_by_its_own_doing_is_not_run_again(kind):
    (first,) = planned(point()).placements
    found = planned(point(), records=[failed(first, kind=kind)])
    assert not found.placements
    assert found.failed == (
        Failed(
            trial=first.trial,
            trial_id=first.trial_id,
            provenance="measured",
            kind=kind,
            message="so it was",
        ),
    )


@pytest.mark.parametrize("kind", ["preempted", "worker_lost", "timeout", "environment", "infeasible"])
def test_a_trial_that_failed_by_its_hosts_doing_is_placed_again(kind):
    (first,) = planned(point()).placements
    assert planned(point(), records=[failed(first, kind=kind)]).placements == (first,)


@pytest.mark.parametrize("changed", [{"torch": "2.12.0"}, {"code_sha256": "other"}])
def test_a_trial_that_failed_is_placed_again_once_what_it_ran_with_has_changed(changed):
    (first,) = planned(point()).placements
    assert planned(point(), records=[failed(first, environment=AS_NOW | changed)]).placements == (first,)


def test_the_newer_of_two_failures_decides_whether_a_trial_runs_again():
    (first,) = planned(point()).placements
    old = failed(first)
    new = failed(first, kind="preempted", ended_at=old.ended_at + 1)
    assert planned(point(), records=[new, old]).placements == (first,)


def test_a_result_stands_in_spite_of_a_later_failure():
    (first,) = planned(point()).placements
    done = finished(first)
    found = planned(point(), records=[done, failed(first, ended_at=done.ended_at + 1)])
    assert len(found.cached) == 1
    assert not found.failed


def test_a_rehearsal_that_failed_is_not_run_again_while_the_device_is_missing():
    (rehearsal,) = planned(point(device=T4)).placements
    known = [failed(rehearsal)]
    assert [item.provenance for item in planned(point(device=T4), records=known).failed] == ["rehearsed"]
    found = planned(point(device=T4), records=known, inventory=here(devices={"t4": held(1)}))
    assert [placement.provenance for placement in found.placements] == ["measured"]


def test_what_failed_is_run_again_when_that_is_asked_for_and_what_has_a_result_is_not():
    first, second = planned(point(), repeats=2).placements
    known = [finished(first), failed(second)]
    found = planned(point(), repeats=2, records=known, rerun=Rerun(failed=True))
    assert found.placements == (second,)
    assert len(found.cached) == 1


def test_a_trial_is_run_again_by_its_id_in_spite_of_its_record():
    first, second = planned(point(), repeats=2).placements
    known = [finished(first), finished(second)]
    asked = Rerun(trial_ids=frozenset({first.trial_id}))
    assert planned(point(), repeats=2, records=known, rerun=asked).placements == (first,)


def test_a_trial_that_the_sweep_does_not_have_cannot_be_run_again():
    with pytest.raises(ConfigError, match="--rerun 0ff: sweep 'example' has no such trial; plan --all has"):
        planned(point(), rerun=Rerun(trial_ids=frozenset({"0ff"})))


def test_a_record_made_with_other_versions_is_cached_and_called_stale():
    (first,) = planned(point()).placements
    old = finished(first, environment={"torch": "2.12.0", "host": "elsewhere"})
    (cached,) = planned(point(), records=[old]).cached
    assert cached.stale == "torch 2.12.0 then, 2.13.0 now"


def test_the_newer_of_two_records_decides_whether_it_is_stale():
    (first,) = planned(point()).placements
    old = finished(first, environment={"torch": "2.12.0"})
    new = finished(first, environment={"torch": "2.13.0"}, ended_at=old.ended_at + 1)
    (cached,) = planned(point(), records=[new, old]).cached
    assert cached.stale is None


def test_a_rehearsal_counts_while_the_device_is_missing_and_never_for_a_measurement():
    (rehearsal,) = planned(point(device=T4)).placements
    known = [finished(rehearsal)]
    (cached,) = planned(point(device=T4), records=known).cached
    assert cached.provenance == "rehearsed"
    found = planned(point(device=T4), records=known, inventory=here(devices={"t4": held(1)}))
    assert [placement.provenance for placement in found.placements] == ["measured"]
    assert not found.cached


def test_a_measurement_made_elsewhere_counts_where_the_device_is_missing():
    there = planned(point(device=T4), repeats=2, inventory=here(devices={"t4": held(1)})).placements
    found = planned(point(device=T4), repeats=2, records=[finished(item) for item in there])
    assert not found.placements
    assert [cached_trial.provenance for cached_trial in found.cached] == ["measured", "measured"]


def test_a_measurement_counts_even_where_its_environment_is_gone():
    (first,) = planned(point()).placements
    found = planned(
        point(), records=[finished(first)], environments={"torch_ddp": environment(missing="gone")}
    )
    assert len(found.cached) == 1


def test_the_host_is_part_of_a_cpu_trial_and_of_no_other():
    (on_cpu, on_gpu) = planned(point(), point(device=T4), inventory=here(devices={"t4": held(1)})).placements
    assert (on_cpu.trial.host_cpu, on_gpu.trial.host_cpu) == ("Some CPU x4", None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 3}, "steps=3 is below the 64 that the measurement protocol needs"),
        ({"seed": -1}, "seed=-1 must not be negative"),
        ({"workload_options": {"dense_units": 0}}, "dense_units=0 must be at least 1"),
        ({"workload_options": {"dense": 1}}, "did you mean 'dense_units'"),
        ({"workload": "mnist_cmn"}, "did you mean 'mnist_cnn'"),
    ],
)
def test_values_that_no_trial_can_have_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        planned(point(**changes))


def test_a_trainer_that_is_not_there_is_refused():
    with pytest.raises(UnknownNameError, match="unknown trainer 'torch_dpp'; did you mean 'torch_ddp'"):
        planned(point(trainer="torch_dpp"))


def test_a_plan_names_the_trials_of_the_baseline_by_their_first_repeats():
    found = planned(point(is_baseline=True), point(precision="bf16"), repeats=3, baseline=("precision",))
    assert found.baseline.keys == ("precision",)
    assert found.baseline.points == tuple(
        placement.trial_id
        for placement in found.placements
        if (placement.trial.precision, placement.trial.repeat) == ("fp32", 0)
    )


def test_a_sweep_without_a_baseline_has_a_plan_without_one():
    assert planned(point()).baseline is None


def test_a_plan_has_the_quality_that_counts_of_each_workload():
    found = planned(point(), point(workload="mnist_gan"), repeats=1)
    assert found.aims["mnist_cnn"] == Aim(metric="accuracy", higher_is_better=True)
    assert found.aims["mnist_gan"] == Aim(metric="frechet_distance", higher_is_better=False)


@pytest.mark.parametrize("order", [1, -1])
def test_options_that_make_another_task_have_an_aim_and_a_full_training_of_their_own(order):
    tasks = [{}, {"size": "small"}, {"task": "classification"}]
    points = [point(workload="bert_base" if "task" in one else "gpt2", workload_options=one) for one in tasks]
    masked = point(workload="bert_base")
    samples = {"gpt2": 9, "gpt2 size=small": 12, "bert_base": 5, "bert_base task=classification": 7}
    found = planned(*(masked, *points)[::order], repeats=1, train_samples=samples)
    trials = {
        task_name(one.trial.workload, one.trial.workload_options): one.trial for one in found.placements
    }
    assert found.find_aim(trials["bert_base"]).metric == "held_out_loss"
    assert found.find_aim(trials["bert_base task=classification"]).metric == "accuracy"
    assert {name: found.find_training(trial).train_samples for name, trial in trials.items()} == samples
    assert found.find_training(trials["gpt2"]).epochs == 1


def test_a_plan_stored_by_workload_alone_has_its_aim_and_full_training():
    found = planned(point(workload_options={"dense_units": 64}), repeats=1)
    (aim,), (training,) = found.aims.values(), found.trainings.values()
    stored = replace(found, aims={"mnist_cnn": aim}, trainings={"mnist_cnn": training})
    trial = stored.placements[0].trial
    assert (stored.find_aim(trial), stored.find_training(trial)) == (aim, training)


def test_a_plan_has_the_full_training_of_each_workload():
    needed = {"mnist_cnn": 60_000, "mnist_gan": 60_000, "imdb_bigru": None}
    found = planned(
        point(steps=500), point(workload="mnist_gan"), point(workload="imdb_bigru"), train_samples=needed
    )
    assert found.trainings == {
        "mnist_cnn": FullTraining(epochs=15, train_samples=60_000),
        "mnist_gan": FullTraining(epochs=30, train_samples=60_000),
        "imdb_bigru": FullTraining(epochs=4, train_samples=None),
    }
    assert to_json(from_json(Plan, to_json(found))) == to_json(found)


def test_a_workload_that_has_no_trial_has_no_full_training():
    found = planned(point(workload="lenet5", workload_options={"image_size": 8}))
    assert (len(found.skipped), found.trainings) == (1, {})
