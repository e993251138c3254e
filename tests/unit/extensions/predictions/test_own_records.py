"""The user's own records that still hold for a workload's steps."""

from dataclasses import replace

import pytest
from builders import record, train_result, trial_spec

from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.estimator import measured_step
from orchestrator.extensions.predictions.step_time.own_records import of_source, step_measurements
from orchestrator.plan.trial_specs import is_current
from workloads.registry import cached_workload
from workloads.script.command import EXAMPLES, version_with


def build_trials(*data: str) -> tuple[TrialSpec, ...]:
    return tuple(trial_spec(data=one) for one in data)


@pytest.mark.parametrize("source", ["auto", "real", "synthetic"])
def test_records_of_own_data_are_found_for_any_source(source):
    trials = build_trials("own:digits:1")
    assert of_source(trials, source, build_spec=lambda one: one) == trials


def test_records_of_real_data_come_before_others_and_a_named_source_has_its_own():
    trials = build_trials("synthetic:mnist:1", "real:mnist:1")
    assert [one.data for one in of_source(trials, "auto", build_spec=lambda one: one)] == ["real:mnist:1"]
    named = of_source(trials, "synthetic", build_spec=lambda one: one)
    assert [one.data for one in named] == ["synthetic:mnist:1"]
    assert of_source(trials, "standin", build_spec=lambda one: one) == ()


def test_a_record_of_a_script_is_current_until_its_version_or_its_data_changes(tmp_path):
    options = {"command": "python train.py", "folder": str(tmp_path)}
    (tmp_path / "train.py").write_text("pass")
    spec = cached_workload("script", options)
    data, _ = spec.find_data_key("auto")

    def is_known(**changes: object) -> bool:
        found = {"workload_version": spec.version, "data": data, **changes}
        return is_current(trial_spec(workload="script", workload_options=options, **found))

    assert is_known()
    (tmp_path / "fp32.yaml").write_text("one")
    named = {**options, "command": "python train.py --config={precision}.yaml"}
    version = cached_workload("script", named).version
    values = {**EXAMPLES, "precision": "fp32"}
    of_file = version_with(version, named["command"], tmp_path, values)
    assert of_file != version
    one = trial_spec(workload="script", workload_options=named, workload_version=of_file)
    assert is_current(replace(one, data=cached_workload("script", named).data))
    assert not is_known(workload_version=spec.version + 1)
    assert not is_known(data="own:script:0")


def measured(*, is_busy: bool, repeat: int) -> TrialRecord:
    version = cached_workload("lenet5", {}).version
    load = (9.0, 9.0) if is_busy else (0.5, 0.6)
    spec = trial_spec(workload="lenet5", workload_version=version, repeat=repeat)
    return record(spec=spec, result=train_result(load_average=load))


def test_noisy_records_are_marked_and_known_less_well_unless_quiet_ones_decide():
    prior = default_models().prior
    noisy, quiet = measured(is_busy=True, repeat=0), measured(is_busy=False, repeat=1)
    (one,) = step_measurements([noisy], devices=("cpu",))
    assert one.is_noisy
    marked = measured_step([one], prior)
    assert marked.source.endswith(", noisy")
    assert marked.high / marked.likely > 1.6
    several = step_measurements([measured(is_busy=True, repeat=one) for one in range(5)], devices=("cpu",))
    assert measured_step(several, prior).high / marked.high == pytest.approx(1), "noise has one cause"
    (deciding,) = step_measurements([noisy, quiet], devices=("cpu",))
    assert not deciding.is_noisy
    known = measured_step([deciding], prior)
    assert "noisy" not in known.source
    assert known.high / known.likely < 1.2
