"""A training that is left in the middle and gone on with in another process is the one that was not left."""

import numpy as np
import pytest
from resumed_runs import LEFT_AFTER, Ends, ends_of, find_shapes
from trainer_runs import RUNS, python_of

pytestmark = pytest.mark.more_except("mnist_cnn torch_ddp")

CASES = [
    (task, trainer, name) for task in LEFT_AFTER for trainer in RUNS for name in find_shapes(trainer, task)
]


@pytest.fixture(params=CASES, ids=" ".join)
def ends(request: pytest.FixtureRequest) -> list[Ends]:
    task, trainer, name = request.param
    if not python_of(trainer).exists():
        pytest.skip(f"{python_of(trainer)} is absent; get it with: make xla")
    return ends_of(trainer, task)[name]


@pytest.mark.slow_cases("mnist_dbn", "torch_xla", "mnist_gan tensorflow", "mnist_cnn tensorflow")
def test_steps_after_a_checkpoint_are_those_of_a_training_that_was_never_left(ends: list[Ends]) -> None:
    for rank in ends:
        whole, resumed = rank["whole"], rank["resumed"]
        assert whole.keys() == resumed.keys()
        for name, array in whole.items():
            np.testing.assert_array_equal(resumed[name], array, err_msg=name, strict=True)


@pytest.mark.slow_cases("mnist_dbn", "torch_xla", "mnist_gan tensorflow", "mnist_cnn tensorflow")
def test_a_checkpoint_is_the_same_on_every_rank(ends: list[Ends]) -> None:
    first, *others = (rank["whole"] for rank in ends)
    for other in others:
        assert all(np.array_equal(other[name], array) for name, array in first.items())


@pytest.mark.slow_cases("mnist_dbn", "torch_xla", "mnist_gan tensorflow", "mnist_cnn tensorflow")
def test_a_checkpoint_holds_weights_slots_what_dropout_draws_from_and_the_scale(ends: list[Ends]) -> None:
    kinds = {name.partition(".")[0] for name in ends[0]["whole"]}
    assert {"weight", "slot"} <= kinds <= {"weight", "slot", "draws", "scaler"}
