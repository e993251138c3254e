"""A point becomes a trial, whose id tells all that decides what is computed."""

from plan_builders import device, planned, point, torch_like

from orchestrator.core.trial_spec import TimingSpec, trial_id


def test_a_device_of_other_replicas_and_a_trainer_of_other_processes_are_other_trials():
    other_device = point(device=device("cpu", replicas=2))
    other_trainer = {"torch_ddp": torch_like(process_model=lambda *_: "per_host")}
    plans = (planned(point()), planned(other_device), planned(point(), trainers=other_trainer))
    trials = [plan.placements[0].trial for plan in plans]
    assert [(trial.replicas, trial.process_model) for trial in trials] == [
        (1, "per_replica"),
        (2, "per_replica"),
        (1, "per_host"),
    ]
    assert len({trial_id(trial) for trial in trials}) == 3


def test_the_workloads_own_target_is_a_number_in_the_trial_and_the_same_trial_as_that_number():
    trials = [
        planned(point(timing=TimingSpec(target=target))).placements[0].trial
        for target in ("workload", 0.95, 1, 1.0)
    ]
    assert [trial.timing.target for trial in trials] == [0.95, 0.95, 1.0, 1.0]
    ids = [trial_id(trial) for trial in trials]
    assert ids[0] == ids[1] != ids[2] == ids[3]
