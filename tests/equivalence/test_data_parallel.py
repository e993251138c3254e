"""N workers on global batch B train what one worker on B does, and all trainers train the same."""

import numpy as np
import pytest
from trainer_runs import (
    BATCH,
    RUNS,
    STEPS,
    WORKLOADS,
    Outcome,
    compiled_runs,
    initial_state,
    outcomes_of,
    python_of,
)

TOLERANCES = {
    "mnist_cnn": 1e-4,  # float32 sums in another order: after 12 steps differences of up to 1.3e-5 were seen
    "mnist_gan": 1e-3,  # Adam divides by a gradient's size: one that is all rounding moves a weight by 1e-3
    "mnist_dbn": 3e-3,  # a last bit decides a hidden unit's state: one of 64 samples, times a rate of 0.1
    "imdb_bilstm": 1e-5,  # 2e-7 was seen
    "imdb_bigru": 1e-5,
}

MOVED_APART = {
    "mnist_cnn": 1e-3,
    "mnist_gan": 0.15,
    "mnist_dbn": 0.05,
    "imdb_bilstm": 1e-4,
    "imdb_bigru": 1e-4,
}
"""Most that the weights of two frameworks, or of a compiled step, may lie apart, as a share of their way."""

PARALLEL = [
    (task, trainer, name)
    for task in WORKLOADS
    for trainer, runs in RUNS.items()
    for name in runs
    if name.startswith("two")
]


def run(task: str, trainer: str, name: str) -> list[Outcome]:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    return outcomes_of(trainer, task)[name]


@pytest.fixture(params=PARALLEL, ids=" ".join)
def pair(request: pytest.FixtureRequest) -> tuple[str, Outcome, list[Outcome]]:
    """A workload, one worker, and the ranks of two on the same batches."""
    task, trainer, name = request.param
    (alone,) = run(task, trainer, "fp32")
    return task, alone, run(task, trainer, name)


def assert_same_training(task: str, one: Outcome, other: Outcome) -> None:
    tolerance = TOLERANCES[task]
    for ours, theirs in zip(one.losses, other.losses, strict=True):
        assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance)
    for name, array in one.state.items():
        np.testing.assert_allclose(array, other.state[name], rtol=0, atol=tolerance, err_msg=name)


def assert_moved_the_same_way(task: str, one: Outcome, other: Outcome) -> None:
    """Rounding that a sign or a state hangs on is no other training."""
    for ours, theirs in zip(one.losses, other.losses, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-2, abs=1e-3)
    for name, start in initial_state(task).items():
        apart = np.linalg.norm(other.state[name] - one.state[name])
        assert apart < MOVED_APART[task] * np.linalg.norm(one.state[name] - start), name


def test_two_replicas_on_a_batch_train_as_one_does(pair: tuple[str, Outcome, list[Outcome]]) -> None:
    task, alone, together = pair
    for outcome in together:
        assert_same_training(task, alone, outcome)
    assert sum(outcome.samples for outcome in together) == STEPS * BATCH


def test_all_ranks_report_the_same_losses_quality_and_weights(
    pair: tuple[str, Outcome, list[Outcome]],
) -> None:
    first, *others = pair[2]
    for outcome in others:
        assert outcome.losses == first.losses
        assert outcome.quality == first.quality
        assert all(np.array_equal(array, first.state[name]) for name, array in outcome.state.items())


@pytest.mark.parametrize(
    ("task", "trainer", "name"),
    [
        (task, trainer, name)
        for task in WORKLOADS
        for trainer in RUNS
        for name in compiled_runs(trainer, task)
    ],
)
def test_compiled_steps_train_as_the_others_do(task: str, trainer: str, name: str) -> None:
    (plain,) = run(task, trainer, "fp32")
    for compiled in run(task, trainer, name):
        assert_moved_the_same_way(task, plain, compiled)


@pytest.mark.parametrize("task", WORKLOADS)
@pytest.mark.parametrize("trainer", ["tensorflow", "torch_xla"])
def test_trainers_train_the_same_from_the_same_weights(task: str, trainer: str) -> None:
    (ours,), (theirs,) = run(task, "torch_ddp", "fp32"), run(task, trainer, "fp32")
    assert_moved_the_same_way(task, ours, theirs)
    assert theirs.quality == pytest.approx(ours.quality, rel=1e-2, abs=2e-3)
