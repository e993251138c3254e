"""The memory of a host at the start of a training with sharded weights."""

import pytest

pytest.importorskip("peft")

from shard_memory_runs import outcomes


@pytest.mark.slow
@pytest.mark.parametrize("task", ["gpt2", "causal_lm"])
def test_a_process_starts_with_its_shards_and_one_part_of_the_rest(task: str) -> None:
    found = outcomes()
    for rank in found[f"{task}, none"]:
        assert rank["grown"] > rank["weights"]
    for rank in found[f"{task}, full"]:
        # The largest weight, an embedding of a third of all, is drawn in float64 beside its shard.
        assert rank["grown"] < {"gpt2": 1.6, "causal_lm": 0.9}[task] * rank["weights"]
