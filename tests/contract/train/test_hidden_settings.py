"""A user's shell changes neither the arithmetic of a trial nor, unsaid, its speed."""

import pytest
from builders import placement, trial_spec
from noop_trials import context, run
from trainer_runs import WORKLOADS, python_of

from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from workloads.data.sources import resolve

ROUNDING = {
    "torch_ddp": {"ONEDNN_DEFAULT_FPMATH_MODE": "BF16"},
    "tensorflow": {"TF_SET_ONEDNN_FPMATH_MODE": "BF16", "KERAS_BACKEND": "jax"},
    "torch_xla": {"XLA_USE_BF16": "1"},
}
"""Variables under which float32 was seen to be bfloat16, or another framework to be taken, per trainer."""


@pytest.fixture
def train(tmp_path):
    """Trains a few steps in a process that inherits this one's variables; the record."""

    def trained(trainer: str) -> TrialRecord:
        if not python_of(trainer).exists():
            pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
        trial = trial_spec(
            trainer=trainer,
            workload_options=WORKLOADS["mnist_cnn"],
            host_cpu=f"{cpu_model()} x2",
            steps=8,
            timing=TimingSpec(steps_per_block=1, min_blocks=1, max_blocks=4, warmup_steps=3),
        )
        data = {
            trial.data: str(
                resolve("workloads.data.mnist:MNIST", "synthetic", cache=tmp_path, download=False).path
            )
        }
        told = context(tmp_path, pythons={trainer: str(python_of(trainer))}, data_paths=data)
        (record,) = run(told, placement(trial, replicas=1, num_processes=1, threads=1))
        return record

    return trained


@pytest.mark.more
@pytest.mark.slow_cases("tensorflow", "torch_xla")
@pytest.mark.parametrize("trainer", ROUNDING)
def test_a_variable_that_rounds_float32_does_not_change_losses(train, monkeypatch, trainer):
    before = train(trainer)
    for name, value in ROUNDING[trainer].items():
        monkeypatch.setenv(name, value)
    after = train(trainer)
    assert (before.failure, after.failure) == (None, None)
    assert after.result.losses == before.result.losses
    assert not set(ROUNDING[trainer]) & set(after.environment)


def test_a_variable_that_changes_speed_is_in_the_record(train, monkeypatch):
    monkeypatch.setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2")
    environment = train("noop").environment
    assert environment["MKL_ENABLE_INSTRUCTIONS"] == "AVX2"
    assert "PATH" not in environment
