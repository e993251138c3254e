"""N workers on global batch B train what one worker on B does, and all trainers train the same."""

import numpy as np
import pytest
from trainer_runs import BATCH, RUNS, STEPS, Outcome, outcomes_of, python_of

# float32 sums in another order: after 12 steps, weights of order 0.1 were seen to differ by up to 1.3e-5
TOLERANCE = 1e-4

PARALLEL = [(trainer, name) for trainer, runs in RUNS.items() for name in runs if name.startswith("two")]


def run(trainer: str, name: str) -> list[Outcome]:
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    return outcomes_of(trainer)[name]


@pytest.fixture(params=PARALLEL, ids=" ".join)
def pair(request: pytest.FixtureRequest) -> tuple[Outcome, list[Outcome]]:
    """One worker, and the ranks of two on the same batches."""
    trainer, name = request.param
    (alone,) = run(trainer, "fp32")
    return alone, run(trainer, name)


def assert_same_training(one: Outcome, other: Outcome) -> None:
    np.testing.assert_allclose(one.losses, other.losses, rtol=0, atol=TOLERANCE)
    for name, array in one.state.items():
        np.testing.assert_allclose(array, other.state[name], rtol=0, atol=TOLERANCE, err_msg=name)


def test_two_replicas_on_a_batch_train_as_one_does(pair: tuple[Outcome, list[Outcome]]) -> None:
    alone, together = pair
    for outcome in together:
        assert_same_training(alone, outcome)
    assert sum(outcome.samples for outcome in together) == STEPS * BATCH


def test_all_ranks_report_the_same_losses_quality_and_weights(
    pair: tuple[Outcome, list[Outcome]],
) -> None:
    first, *others = pair[1]
    for outcome in others:
        assert outcome.losses == first.losses
        assert outcome.quality == first.quality
        assert all(np.array_equal(array, first.state[name]) for name, array in outcome.state.items())


@pytest.mark.parametrize("trainer", ["tensorflow", "torch_xla"])
def test_trainers_train_the_same_from_the_same_weights(trainer: str) -> None:
    (torch_ddp,) = run("torch_ddp", "fp32")
    (other,) = run(trainer, "fp32")
    assert_same_training(torch_ddp, other)
    assert other.quality["accuracy"] == torch_ddp.quality["accuracy"]
    assert other.quality["held_out_loss"] == pytest.approx(torch_ddp.quality["held_out_loss"], abs=TOLERANCE)
