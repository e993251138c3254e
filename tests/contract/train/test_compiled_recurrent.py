"""TensorFlow's compiled recurrent layers where Keras would use cuDNN, which XLA cannot compile."""

import pytest
from builders import placement, trial_spec
from noop_trials import context, planted, python_with, run
from trainer_runs import WORKLOADS

from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["imdb_bilstm", "imdb_bigru"])
def test_a_compiled_recurrent_layer_loops_over_its_steps(workload, tmp_path):
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    data = resolve("workloads.data.imdb:IMDB", "synthetic", cache=tmp_path, download=False)
    code = planted("import fake_cudnn; fake_cudnn.plant()")
    sweep_context = context(
        tmp_path,
        deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
        data_paths={data.id: str(data.path)},
        pythons={"tensorflow": python_with(tmp_path / "faked", code)},
    )
    trial = trial_spec(
        workload=workload,
        workload_options=WORKLOADS[workload],
        trainer="tensorflow",
        trainer_options={"compile": "on"},
        host_cpu=f"{cpu_model()} x2",
        data=data.id,
        steps=40,
        timing=TimingSpec(steps_per_block=2, min_blocks=6, max_blocks=6),
    )
    (record,) = run(sweep_context, placement(trial, threads=1, start_method="spawn"))
    assert record.failure is None, record.failure.message
    (facts,) = record.result.devices
    assert facts.fused_recurrent is False
