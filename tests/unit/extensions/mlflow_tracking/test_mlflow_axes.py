"""Parameters of runs, and what they are named by."""

import pytest
from builders import record, trial_spec
from report_builders import rehearsed

from orchestrator.core.result import Failure
from orchestrator.core.trial_spec import MemorySettings, TimingSpec
from orchestrator.extensions.mlflow_tracking.axes import (
    _build_update,
    build_params,
    name_run,
    sweep_params,
    values_in,
    varying_in,
)

NONE: frozenset[str] = frozenset()


def test_only_the_axes_of_a_grid_are_params_under_their_keys_of_the_command_line():
    spec = trial_spec(
        workload_options={"units": 32},
        trainer_options={"compile": True},
        memory_settings=MemorySettings(micro_batch_size=8, activation_checkpointing="full", sharding="full"),
        timing=TimingSpec(max_blocks=30),
    )
    assert build_params(spec) == {
        "workload": "mnist_cnn",
        "device": "cpu",
        "trainer": "torch_ddp",
        "precision": "fp32",
        "num_workers": "1",
        "num_hosts": "1",
        "global_batch_size": "64",
        "steps": "120",
        "seed": "0",
        "repeat": "0",
        "workload.units": "32",
        "trainer.compile": "true",
        "micro_batch_size": "8",
        "activation_checkpointing": "full",
        "sharding": "full",
        "measure.max_blocks": "30",
    }


@pytest.mark.parametrize(
    ("attempt", "name"),
    [
        (record(), "cpu fp32 torch_ddp #0"),
        (record(spec=trial_spec(repeat=2), attempt=3), "cpu fp32 torch_ddp #2 attempt 3"),
        (rehearsed(), "t4 fp32 torch_ddp #0 · rehearsed"),
        (record(failure=Failure(kind="oom", message="x")), "cpu fp32 torch_ddp #0 · failed: oom"),
        (record(failure=Failure(kind="pruned", message="x")), "cpu fp32 torch_ddp #0 · pruned"),
        (
            rehearsed(failure=Failure(kind="error", message="x")),
            "t4 fp32 torch_ddp #0 · rehearsed · failed: error",
        ),
    ],
)
def test_a_run_is_named_by_its_setting_and_its_outcome(attempt, name):
    assert name_run(attempt, varying=NONE) == name


def test_a_name_has_every_other_axis_in_which_the_sweep_varies():
    specs = [
        trial_spec(),
        trial_spec(global_batch_size=256, num_workers=2, seed=1, workload_options={"units": 32}),
    ]
    varying = varying_in(values_in(specs))
    assert name_run(record(spec=specs[0]), varying=varying) == "cpu fp32 torch_ddp x1 batch 64 seed 0 #0"
    assert name_run(record(spec=specs[1]), varying=varying) == (
        "cpu fp32 torch_ddp x2 batch 256 seed 1 units=32 #0"
    )


def test_numbers_of_an_axis_ascend_and_a_trial_without_an_option_has_its_default():
    specs = [
        trial_spec(global_batch_size=batch, workload_options=options)
        for batch, options in ((1024, {"units": 32}), (64, {}), (256, {}))
    ]
    values = values_in(specs)
    assert values["global_batch_size"] == ("64", "256", "1024")
    assert values["workload.units"] == ("32", "default")
    assert varying_in(values) == {"global_batch_size", "workload.units"}


def params_with(known, *seeds):
    values = {"seed": tuple(map(str, seeds))}
    return sweep_params(known, name="a", goal="fastest", values=values)


def test_a_sweep_has_its_name_its_goal_and_the_values_of_its_axes():
    assert params_with({}, 0, 1) == {"sweep": "a", "goal": "fastest", "axis.seed": "0, 1"}


def test_further_values_are_logged_once_more_because_a_parameter_cannot_change():
    known = params_with({}, 0, 1)
    assert params_with(known, 1) == {}
    known |= (second := params_with(known, 0, 5))
    assert second == {"axis.seed.2": "0, 1, 5"}
    assert params_with(known, 10) == {"axis.seed.3": "0, 1, 5, 10"}
    assert sweep_params(known, name="a", goal="cheapest", values={}) == {"goal.2": "fastest, cheapest"}


def test_a_list_that_is_longer_than_a_parameter_is_cut_and_stays():
    known = params_with({}, *range(10_000))
    assert len(known["axis.seed"]) < 5010
    assert known["axis.seed"].endswith(", …")
    assert params_with(known, *range(20_000)) == {}


def test_a_value_that_holds_a_separator_is_logged_once():
    known = {"axis.workload.filters": "(8, 16)"}
    assert _build_update(known, "axis.workload.filters", ("(8, 16)",)) == {}
    assert _build_update(known, "axis.workload.filters", ("(8, 16)", "(4, 8)")) == {
        "axis.workload.filters.2": "(8, 16), (4, 8)"
    }
