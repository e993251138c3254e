"""Names of a record's parts in MLflow."""

from builders import record, trial_spec
from price_builders import price

from orchestrator.core import codec
from orchestrator.core.compiled_step import CompiledStep
from orchestrator.core.memory_fit import MemoryFit, NoFit
from orchestrator.core.price import Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.record.tracking.mlflow_run import metrics_of, params_of, tags_of


def test_the_price_of_an_attempt_is_in_its_tags():
    tags = tags_of(record(price=price(is_hypothetical=True)))
    told = ("price.instance", "price.node_usd_per_hour", "price.as_of", "price.is_hypothetical")
    assert [tags[name] for name in told] == ["cpu-box", "3.6", "2026-09-01", "true"]
    assert "price.note" not in tags


def test_so_is_the_reason_for_having_none_and_nothing_where_none_was_looked_up():
    assert tags_of(record(price=Unpriced(reason="no row")))["price.reason"] == "no row"
    assert not [name for name in tags_of(record()) if name.startswith("price")]


def test_the_axes_of_a_grid_are_params_under_the_keys_of_a_command_line_and_nothing_else_is():
    spec = trial_spec(
        workload_options={"units": 32},
        trainer_options={"compile": True},
        timing=TimingSpec(max_blocks=30),
    )
    assert params_of(record(spec=spec)) == {
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
        "measure.max_blocks": "30",
    }


def test_what_compilers_told_is_in_tags_and_never_in_metrics():
    fit = MemoryFit(needed_bytes=2**30, granted_bytes=2**34, compiler="libtpu 0")
    step = CompiledStep(
        device_seconds=0.1, unpriced_seconds=0.01, link_seconds=0.0, host_seconds=None, compiler="libtpu 0"
    )
    told = record(spec=trial_spec(device="tpu_v3_8"), memory=fit, compiled=step)
    tags = tags_of(told)
    assert tags["memory"] == (
        "a step takes 1.00 GiB of the 16.00 GiB that tpu_v3_8 grants a replica (compiled, libtpu 0)"
    )
    assert tags["compiled.step_seconds"] == "0.11"
    assert tags["compiled.compiler"] == "libtpu 0"
    assert tags["compiled.host_seconds"] == "null"
    assert tags_of(record(memory=NoFit(reason="off")))["memory"] == "not checked: off"
    assert not [name for name in tags_of(record()) if name.startswith(("memory", "compiled"))]
    assert not [name for name, *_ in metrics_of(told, {}) if "compiled" in name]
    assert codec.from_json(TrialRecord, codec.to_json(told)) == told
