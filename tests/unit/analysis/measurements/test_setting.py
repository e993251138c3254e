"""Fields that distinguish trials, and unique names."""

from dataclasses import fields, replace

import pytest
from builders import trial_spec
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.analysis.measurements.setting import build_setting, format_label, namer
from orchestrator.core.trial_spec import MemorySettings, TimingSpec, TrialSpec

OTHERS = {
    "workload": ["vgg16"],
    "workload_version": [2],
    "trainer": ["tensorflow"],
    "trainer_version": [2],
    "device": ["t4"],
    "precision": ["bf16"],
    "data": ["real:0123456789abcdef", "standin:1"],
    "global_batch_size": [128],
    "steps": [300],
    "num_workers": [2],
    "num_hosts": [2],
    "replicas": [2, 8],
    "process_model": ["per_host"],
    "seed": [7],
    "repeat": [1],
    "host_cpu": [None, "Another CPU x8"],
    "other_devices": [("t4",), ("l4",)],
    "workload_options": [{"width": 2}, {"width": 3}, {"width": 2, "depth": 1}],
    "trainer_options": [{"width": 2}, {"strategy": "mirrored"}],
    "memory_settings": [
        MemorySettings(micro_batch_size=8),
        MemorySettings(micro_batch_size=16),
        MemorySettings(activation_checkpointing="full"),
        MemorySettings(sharding="full"),
    ],
    "timing": [TimingSpec(), TimingSpec(max_blocks=20), TimingSpec(warmup_steps=5)],
}
"""Other values than the builder's, of every field."""


def trial_with(**changes):
    """Devices that are not alike are of two workers."""
    return trial_spec(**{**changes, **({"num_workers": 2} if "other_devices" in changes else {})})


def test_every_field_of_a_trial_is_changed_here():
    assert set(OTHERS) == {field_.name for field_ in fields(TrialSpec)}


@pytest.mark.parametrize("name", [name for name in OTHERS if name not in ("seed", "repeat")])
def test_trials_that_differ_have_different_settings(name):
    for value in OTHERS[name]:
        assert build_setting(trial_with(**{name: value})) != build_setting(trial_spec())


def test_seeds_and_repeats_have_the_same_setting():
    assert (
        build_setting(trial_spec(repeat=1))
        == build_setting(trial_spec(seed=7))
        == build_setting(trial_spec())
    )


changes = st.fixed_dictionaries({}, optional={name: st.sampled_from(OTHERS[name]) for name in OTHERS})


@settings(max_examples=200)
@given(st.lists(changes, min_size=2, max_size=4))
def test_no_two_different_trials_of_a_sweep_share_a_name(several):
    trials = [trial_with(**item) for item in several]
    build_name = namer(trials)
    for one in trials:
        assert [build_name(other) == build_name(one) for other in trials] == [
            other == one for other in trials
        ]


def test_a_name_is_short_if_no_other_value_differs():
    trial = trial_spec()
    assert namer([trial])(trial) == "mnist_cnn cpu torch_ddp fp32"


def test_a_name_shows_what_is_unusual_and_what_differs():
    trial = trial_spec(num_workers=2, seed=7, repeat=1, trainer_options={"strategy": "mirrored"})
    shorter = replace(trial, steps=100, timing=TimingSpec(warmup_steps=1))
    assert namer([trial])(trial) == (
        "mnist_cnn cpu torch_ddp fp32 2 workers trainer.strategy=mirrored seed 7 repeat 1"
    )
    assert namer([trial, shorter])(shorter) == (
        "mnist_cnn cpu torch_ddp fp32 2 workers 100 steps trainer.strategy=mirrored "
        "measure.warmup_steps=1 seed 7 repeat 1"
    )


def test_the_command_of_a_script_is_in_its_name_only_where_commands_differ():
    first = trial_spec(workload="script", workload_options={"command": "python a.py"})
    other = replace(first, workload_options={"command": "python b.py"})
    assert namer([first])(first) == "script cpu torch_ddp fp32"
    assert namer([first, other])(other) == "script cpu torch_ddp fp32 script.command=python b.py"


def test_values_implied_by_the_trainer_are_shown_only_if_no_other_value_differs():
    ddp = trial_spec()
    xla = trial_spec(trainer="torch_xla", trainer_version=3, process_model="per_host")
    assert namer([ddp, xla])(xla) == "mnist_cnn cpu torch_xla fp32"
    newer = replace(xla, trainer_version=4)
    assert namer([ddp, xla, newer])(newer) == "mnist_cnn cpu torch_xla fp32 trainer version 4"


def test_a_label_has_the_fields_that_are_asked_for():
    setting = build_setting(trial_spec(num_workers=1, data="standin:1f2e3d4c5b"))
    names = ("trainer", "num_workers", "global_batch_size", "data", "trainer_options")
    assert format_label(setting, names) == "torch_ddp, 1 worker, batch 64, stand-in 1f2e3d4c"
