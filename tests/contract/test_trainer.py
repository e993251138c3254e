"""Every trainer, in its own environment, keeps the contract of `train/base.py`."""

import numpy as np
import pytest
from trainer_runs import BATCH, OPTIONS, RUNS, STEPS, Outcome, outcomes_of, python_of

from workloads.initial import initial_weights
from workloads.registry import workload

ONE_PROCESS = [(trainer, precision) for trainer in RUNS for precision in ("fp32", "bf16")]


def run(trainer: str, name: str) -> list[Outcome]:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    return outcomes_of(trainer)[name]


@pytest.fixture(params=ONE_PROCESS, ids="-".join)
def trial(request: pytest.FixtureRequest) -> tuple[str, Outcome]:
    trainer, precision = request.param
    (outcome,) = run(trainer, precision)
    return precision, outcome


def test_the_loss_falls(trial: tuple[str, Outcome]) -> None:
    losses = trial[1].losses
    assert len(losses) == STEPS
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.1


def test_a_worker_proves_what_it_ran_on(trial: tuple[str, Outcome]) -> None:
    precision, outcome = trial
    assert (outcome.facts.kind, outcome.facts.count, outcome.facts.precision) == ("cpu", 1, precision)
    assert outcome.facts.name
    assert outcome.facts.peak_memory_bytes is None


def test_samples_are_counted_from_the_batches_that_were_fed(trial: tuple[str, Outcome]) -> None:
    assert trial[1].samples == STEPS * BATCH


def test_the_state_has_canonical_names_and_shapes_and_has_left_the_initial_weights(
    trial: tuple[str, Outcome],
) -> None:
    initial = initial_weights(workload("mnist_cnn", OPTIONS), seed=0)
    state = trial[1].state
    assert {name: array.shape for name, array in state.items()} == {
        name: array.shape for name, array in initial.items()
    }
    assert all(array.dtype == np.float32 for array in state.values())
    assert all(np.abs(state[name] - initial[name]).max() > 1e-4 for name in initial)


def test_quality_is_accuracy_and_loss_on_as_many_held_out_samples_as_asked(
    trial: tuple[str, Outcome],
) -> None:
    _, outcome = trial
    assert set(outcome.quality) == {"accuracy", "held_out_loss"}
    assert 0 < outcome.quality["accuracy"] < 1
    assert outcome.quality["held_out_loss"] == pytest.approx(2.3, abs=0.2)
    assert round(outcome.quality_of_five["accuracy"] * 5, 6).is_integer()


def test_compiling_ends_within_the_warm_up_and_an_evaluation_of_any_size_compiles_once(
    trial: tuple[str, Outcome],
) -> None:
    *steps, after_all, after_five = trial[1].compile_counts
    assert len(set(steps[3:])) == 1
    assert after_five == after_all


@pytest.mark.parametrize("trainer", RUNS)
def test_devices_counted_over_all_ranks_are_the_replicas(trainer: str) -> None:
    for name, (_, processes, replicas) in RUNS[trainer].items():
        outcomes = run(trainer, name)
        assert len(outcomes) == processes
        assert sum(outcome.facts.count for outcome in outcomes) == replicas
