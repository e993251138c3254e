"""A sweep with sharded weights, from the command line to the records and tables."""

from pathlib import Path

import pytest
from cli_process import ask, records_in

WORDS = (
    "+sweep=single",
    "workload=gpt2",
    "executor=inline",
    "tracking=none",
    "data.source=synthetic",
    "global_batch_size=8",
    "steps=4",
    "measure.warmup_steps=1",
    "measure.max_warmup_steps=1",
    "measure.steps_per_block=2",
    "measure.min_blocks=1",
    "measure.max_blocks=1",
)


@pytest.mark.more
def test_sharding_is_an_axis_of_a_sweep_and_trains_the_same(tmp_path: Path) -> None:
    answer = ask(*WORDS, "num_workers=2", "sharding=none,full", cwd=tmp_path)
    assert answer.code == 0, answer.err
    whole, sharded = sorted(
        records_in(tmp_path, "single-gpt2"),
        key=lambda record: record["spec"]["memory_settings"]["sharding"] == "full",
    )
    assert sharded["spec"]["memory_settings"]["sharding"] == "full"
    assert sharded["trial_id"] != whole["trial_id"]
    found = [record["result"]["quality"] for record in (whole, sharded)]
    assert found[1] == pytest.approx(found[0], rel=1e-3)
    assert "sharding=full" in next(tmp_path.glob("outputs/*/results.csv")).read_text()


def test_shards_of_a_single_replica_are_planned_with_a_note(tmp_path: Path) -> None:
    answer = ask("plan", *WORDS, "num_workers=1", "sharding=full", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "a single replica holds all weights: sharding changes nothing" in answer.out
