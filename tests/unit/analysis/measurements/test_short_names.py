"""Names of trials by what differs."""

from builders import trial_spec

from orchestrator.analysis.measurements.setting import short_names


def test_a_name_has_what_differs_and_the_rest_is_shared():
    trials = [trial_spec(precision=name, repeat=repeat) for name in ("fp32", "bf16") for repeat in (0, 1)]
    names = short_names(trials)
    assert names.trial(trials[3]) == "bf16 #1"
    assert names.setting(trials[3]) == "bf16"
    assert names.shared == "mnist_cnn, cpu, torch_ddp, batch 64, Some CPU x2"


def test_trials_that_do_not_differ_are_named_by_device_trainer_and_precision():
    names = short_names([trial_spec()])
    assert names.trial(trial_spec()) == "cpu torch_ddp fp32"
    assert names.shared == "mnist_cnn, batch 64, Some CPU x2"


def test_seeds_and_numbers_of_workers_are_named_where_they_differ():
    trials = [trial_spec(seed=seed, num_workers=seed + 1, replicas=seed + 1) for seed in (0, 1)]
    assert [short_names(trials).trial(one) for one in trials] == ["1 worker seed 0", "2 workers seed 1"]


def test_the_processor_of_cpu_trials_is_shared_though_other_devices_have_none():
    names = short_names([trial_spec(), trial_spec(device="t4", host_cpu=None)])
    assert names.shared == "mnist_cnn, torch_ddp, fp32, batch 64, Some CPU x2"
    assert names.setting(trial_spec()) == "cpu"


def test_two_processors_are_named():
    trials = [trial_spec(), trial_spec(host_cpu="Another CPU x4")]
    assert [short_names(trials).setting(one) for one in trials] == ["Some CPU x2", "Another CPU x4"]


def test_no_trial_has_no_name():
    assert short_names([]).shared == ""
