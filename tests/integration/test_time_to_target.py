"""Trainings to a target on the stand-in, under every trainer and over several ranks, end when they should."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cli_process import ask, records_in

pytestmark = pytest.mark.more

EVERY, LIMIT = 20, 104
TWO = "{trainer: %s, precision: fp32, num_workers: 2}"
Records = dict[tuple[str, int], dict[str, Any]]
"""By trainer and number of workers."""

TRAINERS = ("tensorflow", "torch_ddp", "torch_xla")
RUNS = [(trainer, workers) for trainer in TRAINERS for workers in (1, 2)]


def trained(
    folder: Path, *asked: str, target: str, include: str
) -> tuple[str, dict[tuple[str, int], dict[str, Any]]]:
    """Train to the target; return the output and the records."""
    words = ("+sweep=time_to_quality", "executor=inline", "tracking=none", "data=standin", "seed=1")
    words = (*words, f"sweep.include=[{include}]", f"steps={LIMIT}", f"measure.target={target}", *asked)
    told = ask(*words, cwd=folder)
    assert told.code == 0, told.out + told.err
    records = records_in(folder, "time_to_quality")
    return told.out, {
        (record["spec"]["trainer"], record["spec"]["num_workers"]): record for record in records
    }


@pytest.fixture(scope="module")
def easy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Records]:
    """A target that is reached within the limit, by trainer."""

    @cache
    def train(trainer: str) -> Records:
        folder = tmp_path_factory.mktemp(trainer)
        return trained(folder, f"trainer={trainer}", target="0.8", include=TWO % trainer)[1]

    return train


@pytest.mark.slow_cases("tensorflow", "torch_xla", "2")
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_a_training_ends_at_the_first_evaluation_that_is_good_enough(easy, run) -> None:
    result = easy(run[0])[run]["result"]
    curve = result["pursuit"]["curve"]
    reached = [item for item in curve if item["quality"] >= 0.8]
    assert len(reached) == 1, "it goes on after the target was reached, or never reached it"
    assert curve[-1] == reached[0]
    assert result["steps"] < LIMIT
    assert result["stopped_because"] in ("target", "interval", "max_blocks")


@pytest.mark.slow_cases("tensorflow", "torch_xla", "2")
@pytest.mark.parametrize("run", RUNS, ids=str)
def test_evaluations_are_as_far_apart_as_asked_for_and_no_part_of_the_trainings_time(easy, run) -> None:
    result = easy(run[0])[run]["result"]
    curve = result["pursuit"]["curve"]
    assert {later["steps"] - one["steps"] for one, later in pairwise(curve)} <= {EVERY}
    times = [item["training_seconds"] for item in curve]
    assert times == sorted(times)
    assert 0 < times[-1] <= result["training_seconds"]
    assert result["pursuit"]["evaluation_seconds"] > 0


@pytest.mark.slow
def test_trainers_and_ranks_that_train_the_same_come_to_the_target_after_much_the_same_steps(easy) -> None:
    steps = {easy(run[0])[run]["result"]["pursuit"]["curve"][-1]["steps"] for run in RUNS}
    assert max(steps) - min(steps) <= EVERY


def test_a_target_that_is_out_of_reach_ends_at_the_limit_and_the_table_shows_it(tmp_path: Path) -> None:
    out, records = trained(tmp_path, "trainer=torch_ddp", "--full", target="0.999", include="")
    (result,) = (record["result"] for record in records.values())
    assert result["steps"] == result["pursuit"]["curve"][-1]["steps"] == LIMIT
    assert "0 of 1" in out
