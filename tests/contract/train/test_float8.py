"""Trainings in fp8 on CPUs, where products of float8 are emulated: alone, sharded, resumed, with adapters."""

import pytest
from sharded_runs import FLOAT8, Finding, outcomes
from trainer_runs import STEPS

CLOSE = 0.03
"""A replica has scales of its own, of its part of a batch."""


def list_losses(ranks: list[Finding]) -> list[float]:
    """Return the loss of each step; of several phases that of the first."""
    return [step["model"] for step in ranks[0]["losses"]]


@pytest.mark.more
@pytest.mark.slow_cases("gpt2")
@pytest.mark.parametrize("task", ["full", "gpt2"])
def test_a_model_learns_in_fp8_alone_and_in_shards_and_keeps_what_bf16_keeps(task: str) -> None:
    every = outcomes(task, "float8")
    found = {name: every[name] for name in FLOAT8}
    losses = {name: list_losses(ranks) for name, ranks in found.items()}
    for name, ranks in found.items():
        assert {rank["precision"] for rank in ranks} == {"bf16" if name == "bf16" else "fp8"}
    whole = losses["alone"]
    assert len(whole) == STEPS
    assert whole[-1] < 0.98 * whole[0]
    assert whole[0] == pytest.approx(losses["bf16"][0], rel=0.01)
    assert whole[0] != losses["bf16"][0], "products are rounded"
    assert losses["shards of two"] == pytest.approx(whole, rel=CLOSE)
    assert len({tuple(ranks[0]["names"]) for ranks in found.values()}) == 1
    assert len({tuple(ranks[0]["state"]) for ranks in found.values()}) == 1


@pytest.mark.more
def test_adapters_learn_in_fp8_and_shards_of_two_are_gone_on_with_by_one() -> None:
    found = outcomes("lora", "float8, resumed")
    whole, rest = (list_losses(found[name]) for name in ("alone", "resumed by one"))
    assert whole[-1] < 0.995 * whole[0]
    assert rest == pytest.approx(whole[-len(rest) :], rel=CLOSE)
    assert all(ranks[0]["precision"] == "fp8" for ranks in (found["alone"], found["resumed by one"]))
