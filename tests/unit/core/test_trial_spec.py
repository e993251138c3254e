"""Identity of a trial, and values that no trial may have."""

import dataclasses
import math
import re

import pytest
from builders import trial_spec

from orchestrator.core.codec import from_plain, to_plain
from orchestrator.core.errors import ConfigError
from orchestrator.core.trial_spec import (
    MemorySettings,
    TimingSpec,
    TrialSpec,
    find_axes,
    point_id,
    setting_id,
    trial_id,
)

_OTHER_VALUES = {
    "workload": "retinopathy_cnn",
    "workload_version": 2,
    "trainer": "tensorflow",
    "trainer_version": 2,
    "device": "t4",
    "precision": "bf16",
    "data": "synthetic:2",
    "global_batch_size": 128,
    "steps": 130,
    "num_workers": 2,
    "num_hosts": 2,
    "replicas": 8,
    "process_model": "per_host",
    "seed": 1,
    "repeat": 1,
    "host_cpu": "Another CPU x2",
    "other_devices": ("t4",),
    "workload_options": {"dense_units": 32},
    "trainer_options": {"strategy": "mirrored"},
    "timing": TimingSpec(min_blocks=6, max_blocks=7),
    "memory_settings": MemorySettings(micro_batch_size=8),
}
_OTHER_TIMINGS = {
    "warmup_steps": 4,
    "max_warmup_steps": 21,
    "min_warmup_seconds": 1.0,
    "steps_per_block": 11,
    "min_block_seconds": 0.0,
    "min_blocks": 7,
    "max_blocks": 16,
    "interval_fraction": 0.04,
    "target": 0.9,
    "evaluate_every_steps": 51,
    "calibrate": True,
}


def test_a_trial_id_is_sixteen_hexadecimal_digits():
    assert re.fullmatch(r"[0-9a-f]{16}", trial_id(trial_spec()))


def test_a_trial_id_is_the_same_in_every_process_and_on_every_machine():
    spec = TrialSpec(
        workload="mnist_cnn",
        workload_version=1,
        trainer="torch_ddp",
        trainer_version=1,
        device="t4",
        precision="fp16",
        data="synthetic:1",
        global_batch_size=64,
        steps=200,
        workload_options={"filters": (8, 16)},
    )
    assert trial_id(spec) == "63ad6794ed0c87b3"  # another one means another SCHEMA_VERSION


def test_every_field_has_another_value_in_this_test():
    assert set(_OTHER_VALUES) == {field_.name for field_ in dataclasses.fields(TrialSpec)}
    assert set(_OTHER_TIMINGS) == {field_.name for field_ in dataclasses.fields(TimingSpec)}


@pytest.mark.parametrize("name", _OTHER_VALUES)
def test_any_field_changes_the_trial_id(name):
    plain = trial_spec(num_workers=2 if name == "other_devices" else 1)
    assert trial_id(dataclasses.replace(plain, **{name: _OTHER_VALUES[name]})) != trial_id(plain)


def test_devices_that_are_not_alike_are_named_in_the_order_of_ranks_and_any_other_is_another_trial():
    spec = trial_spec(num_workers=3, device="t4", other_devices=("cpu", "t4"))
    assert (spec.devices, spec.device_label) == (("t4", "cpu", "t4"), "t4+cpu+t4")
    assert find_axes(spec)["device"] == "t4+cpu+t4"
    assert trial_id(spec) != trial_id(dataclasses.replace(spec, other_devices=("t4", "cpu")))
    alike = trial_spec(num_workers=2, device="t4")
    assert (alike.devices, alike.device_label) == (("t4", "t4"), "t4")


def test_a_trial_has_a_device_for_each_worker():
    with pytest.raises(ConfigError, match=r"^num_workers=3 have 2 devices$"):
        trial_spec(num_workers=3, other_devices=("t4",))


@pytest.mark.parametrize("name", _OTHER_TIMINGS)
def test_any_field_of_the_timing_changes_the_trial_id(name):
    plain = TimingSpec(target=0.5) if name == "evaluate_every_steps" else TimingSpec()
    other = dataclasses.replace(plain, **{name: _OTHER_TIMINGS[name]})
    assert trial_id(trial_spec(timing=other)) != trial_id(trial_spec(timing=plain))


def test_a_field_at_its_default_does_not_count_so_that_a_new_one_changes_no_id():
    spelled_out = trial_spec(seed=0, repeat=0, num_workers=1, workload_options={}, timing=TimingSpec())
    assert trial_id(spelled_out) == trial_id(trial_spec(timing=TimingSpec()))
    newer = dataclasses.make_dataclass(
        "Newer", [("added", int, 7)], bases=(TrialSpec,), frozen=True, kw_only=True
    )
    fields = {field_.name: getattr(trial_spec(), field_.name) for field_ in dataclasses.fields(TrialSpec)}
    assert trial_id(newer(**fields)) == trial_id(trial_spec())
    assert trial_id(newer(**fields, added=8)) != trial_id(trial_spec())


def test_a_trial_that_was_written_before_a_field_was_added_can_still_be_read():
    written = to_plain(trial_spec())
    del written["replicas"], written["process_model"], written["other_devices"]
    del written["timing"]["target"], written["timing"]["evaluate_every_steps"]
    assert from_plain(TrialSpec, written) == trial_spec()


def test_the_order_of_options_does_not_matter():
    forwards, backwards = {"filters": (8, 16), "dense_units": 64}, {"dense_units": 64, "filters": (8, 16)}
    assert trial_id(trial_spec(workload_options=forwards)) == trial_id(trial_spec(workload_options=backwards))


def test_the_same_option_of_workload_and_trainer_names_two_trials():
    options = {"rate": 1}
    assert trial_id(trial_spec(workload_options=options)) != trial_id(trial_spec(trainer_options=options))


def test_the_least_steps_are_the_first_the_warm_up_and_the_blocks():
    assert TimingSpec(warmup_steps=3, min_blocks=6, steps_per_block=10).least_steps == 1 + 3 + 60


def test_as_many_steps_as_the_protocol_needs_are_enough():
    assert trial_spec(steps=64).steps == 64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"global_batch_size": 0}, "global_batch_size=0 must be at least 1"),
        ({"steps": -1}, "steps=-1 must be at least 1"),
        ({"num_workers": 0}, "num_workers=0 must be at least 1"),
        ({"replicas": 0}, "replicas=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 must not be negative"),
        ({"repeat": -2}, "repeat=-2 must not be negative"),
        (
            {"steps": 63},
            "steps=63 is below the 64 that the measurement protocol needs "
            "(first step, 3 of warm-up, 6 blocks of 10)",
        ),
    ],
)
def test_a_trial_that_cannot_be_is_refused_in_one_line(changes, message):
    with pytest.raises(ConfigError) as caught:
        trial_spec(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps_per_block": 0}, "measure.steps_per_block=0 must be at least 1"),
        ({"min_block_seconds": -1.0}, "measure.min_block_seconds=-1.0 must be a number from 0 up"),
        ({"min_warmup_seconds": math.nan}, "measure.min_warmup_seconds=nan must be a number from 0 up"),
        ({"min_blocks": 0}, "measure.min_blocks=0 must be at least 1"),
        ({"max_blocks": 0}, "measure.max_blocks=0 must be at least 1"),
        (
            {"warmup_steps": -1},
            "measure.warmup_steps=-1 must lie between 0 and measure.max_warmup_steps=20",
        ),
        (
            {"warmup_steps": 30},
            "measure.warmup_steps=30 must lie between 0 and measure.max_warmup_steps=20",
        ),
        ({"min_blocks": 16}, "measure.max_blocks=15 is below measure.min_blocks=16"),
        ({"interval_fraction": 0.0}, "measure.interval_fraction=0.0 must be above 0"),
        ({"interval_fraction": float("nan")}, "measure.interval_fraction=nan must be above 0"),
        (
            {"target": "wrokload"},
            "measure.target=wrokload must be a number, 'workload' for the workload's own, or null",
        ),
        (
            {"target": float("nan")},
            "measure.target=nan must be a number, 'workload' for the workload's own, or null",
        ),
        (
            {"target": 0.9, "evaluate_every_steps": 0},
            "measure.evaluate_every_steps=0 must be at least 1",
        ),
        (
            {"evaluate_every_steps": 20},
            "measure.evaluate_every_steps=20 has no effect without a target; "
            "add measure.target=workload or a number",
        ),
    ],
)
def test_a_timing_that_cannot_be_is_refused_in_one_line(changes, message):
    with pytest.raises(ConfigError) as caught:
        TimingSpec(**changes)
    assert str(caught.value) == message


def test_a_point_is_its_first_repeat_and_a_setting_the_first_of_seed_0():
    spec = trial_spec(**{**_OTHER_VALUES, "seed": 3, "repeat": 4})
    assert point_id(spec) == trial_id(dataclasses.replace(spec, repeat=0))
    assert setting_id(spec) == trial_id(dataclasses.replace(spec, seed=0, repeat=0))
    assert len({trial_id(spec), point_id(spec), setting_id(spec)}) == 3
