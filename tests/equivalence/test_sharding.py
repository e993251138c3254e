"""Sharded weights, gradients and optimizer state train the weights of replicas that hold all of them."""

import numpy as np
import pytest
from multi_rank_cases import Finding
from sharded_runs import CASES, KILLED, MORE, outcomes
from trainer_runs import BATCH, STEPS

TOLERANCE = 1e-3  # as in test_trainers

TASKS = ["gpt2", "llama_style", "layers", "lora", "qlora"]

pytestmark = [
    pytest.mark.more_except("gpt2", "lora"),
    pytest.mark.slow_cases("qlora", "llama_style"),
    pytest.mark.parametrize("task", TASKS),
]


@pytest.fixture(autouse=True)
def _needs_libraries(task: str) -> None:
    if task in ("lora", "qlora"):
        pytest.importorskip("peft")


@pytest.mark.parametrize("name", [name for name in CASES if name != "alone"])
def test_shards_are_trained_as_whole_weights_are(task: str, name: str) -> None:
    [alone] = outcomes(task)["alone"]
    _require_same(outcomes(task)[name], alone, is_whole=not name.startswith("resumed"))


@pytest.mark.slow
def test_a_replica_of_hybrid_shards_holds_its_part_of_its_hosts_weights(task: str) -> None:
    found = outcomes(task, "more")["hybrid shards of four"]
    assert [rank["held"] for rank in found] == pytest.approx([0.5] * 4, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_shards_of_any_number_are_trained_as_whole_weights_are(task: str, name: str) -> None:
    [alone] = outcomes(task)["alone"]
    _require_same(outcomes(task, "more")[name], alone, is_whole=not name.startswith("resumed"))


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED)
def test_shards_whose_rank_was_killed_go_on_with_any_number_from_the_checkpoint(task: str, name: str) -> None:
    [alone] = outcomes(task)["alone"]
    _require_same(outcomes(task, "killed")[name], alone, is_whole=False)


def test_a_replica_holds_its_part_of_the_weights_between_steps(task: str) -> None:
    found = outcomes(task)
    assert [rank["held"] for rank in found["alone"]] == [1.0]
    for name in ("shards of two", "micro batches of two"):
        assert [rank["held"] for rank in found[name]] == pytest.approx([0.5, 0.5], abs=0.03)


def test_a_checkpoint_of_shards_has_the_arrays_of_one_without(task: str) -> None:
    [alone] = outcomes(task)["alone"]
    assert all(rank["names"] == alone["names"] for rank in outcomes(task)["shards of two"])


def _require_same(ranks: list[Finding], alone: Finding, *, is_whole: bool) -> None:
    for rank in ranks:
        if is_whole:
            assert rank["samples"] == STEPS * BATCH // len(ranks)
        losses = alone["losses"][-len(rank["losses"]) :]
        for ours, theirs in zip(rank["losses"], losses, strict=True):
            assert ours == pytest.approx(theirs, rel=TOLERANCE)
        assert rank["quality"] == pytest.approx(alone["quality"], rel=TOLERANCE)
        assert rank["state"].keys() == alone["state"].keys()
        for name, array in alone["state"].items():
            apart = np.linalg.norm(np.subtract(rank["state"][name], array)) / np.linalg.norm(array)
            assert apart < TOLERANCE, name
