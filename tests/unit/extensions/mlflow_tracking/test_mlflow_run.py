"""Names of a record's parts in MLflow."""

import pytest
from builders import record, trial_spec
from price_builders import price
from report_builders import rehearsed

from orchestrator.core import codec
from orchestrator.core.estimate import CompiledStep
from orchestrator.core.memory_fit import MemoryFit, NoFit
from orchestrator.core.price import Unpriced
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.extensions.mlflow_tracking.mlflow_run import build_tags, list_metrics


def test_the_price_of_an_attempt_is_one_tag():
    tags = build_tags(record(price=price(is_hypothetical=True)))
    assert tags["price"] == "cpu-box on demand in here, $3.6/h of 2026-09-01, list price"
    assert [name for name in tags if name.startswith("price")] == ["price"]


def test_a_missing_price_is_tagged_with_its_reason_if_it_was_looked_up():
    assert build_tags(record(price=Unpriced(reason="no row")))["price"] == "none: no row"
    assert "price" not in build_tags(record())


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [
        (record(), "measured"),
        (rehearsed(), "rehearsed"),
        (rehearsed(failure=Failure(kind="error", message="no such op")), "failed"),
        (record(failure=Failure(kind="oom", message="killed")), "failed"),
        (record(failure=Failure(kind="pruned", message="slower")), "pruned"),
    ],
)
def test_an_attempt_has_one_outcome_to_filter_by(attempt, outcome):
    assert build_tags(attempt)["outcome"] == outcome


def test_the_commit_of_the_user_s_folder_is_that_of_the_source():
    assert build_tags(record(environment={"git_commit": "abc"}))["mlflow.source.git.commit"] == "abc"
    assert "mlflow.source.git.commit" not in build_tags(record())


def test_answers_of_compilers_are_tags_and_never_metrics():
    fit = MemoryFit(needed_bytes=2**30, granted_bytes=2**34, compiler="libtpu 0")
    step = CompiledStep(
        device_seconds=0.1, unpriced_seconds=0.01, link_seconds=0.0, host_seconds=None, compiler="libtpu 0"
    )
    told = record(spec=trial_spec(device="tpu_v3_8"), memory=fit, compiled=step)
    tags = build_tags(told)
    assert tags["memory"] == (
        "a step takes 1.00 GiB of the 16.00 GiB that tpu_v3_8 grants a replica (compiled, libtpu 0)"
    )
    assert tags["compiled.step_seconds"] == "0.11"
    assert tags["compiled.compiler"] == "libtpu 0"
    assert tags["compiled.host_seconds"] == "null"
    assert build_tags(record(memory=NoFit(reason="off")))["memory"] == "not checked: off"
    assert not [name for name in build_tags(record()) if name.startswith(("memory", "compiled"))]
    assert not [name for name, *_ in list_metrics(told, {}) if "compiled" in name]
    assert codec.from_json(TrialRecord, codec.to_json(told)) == told
