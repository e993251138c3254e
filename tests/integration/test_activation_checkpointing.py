"""A sweep over activation checkpointing, from the command line to the records and the page."""

from pathlib import Path

import pytest
from cli_process import ask, records_in

WORDS = (
    "+sweep=single",
    "workload=gpt2",
    "workload.sequence_length=8",
    "trainer=torch_ddp,noop",
    "executor=inline",
    "tracking=none",
    "data.source=synthetic",
    "activation_checkpointing=none,full",
    "global_batch_size=8",
    "steps=4",
    "measure.warmup_steps=1",
    "measure.max_warmup_steps=1",
    "measure.steps_per_block=2",
    "measure.min_blocks=1",
    "measure.max_blocks=1",
)


@pytest.mark.slow
def test_checkpointing_is_an_axis_of_a_sweep_that_only_torch_ddp_has(tmp_path: Path) -> None:
    answer = ask(*WORDS, cwd=tmp_path)
    assert answer.code == 0, answer.err
    reason = "noop has no activation_checkpointing; choose trainer=torch_ddp, or leave it out"
    assert reason in ask("plan", *WORDS, cwd=tmp_path).out
    records = records_in(tmp_path, "single-gpt2")
    found = {
        (record["spec"]["trainer"], record["spec"]["memory_settings"]["activation_checkpointing"])
        for record in records
    }
    assert found == {("torch_ddp", "none"), ("torch_ddp", "full"), ("noop", "none")}
    assert "activation_checkpointing=full" in next(tmp_path.glob("outputs/*/results.csv")).read_text()
    curves = [record["result"]["losses"] for record in records if record["spec"]["trainer"] == "torch_ddp"]
    assert curves[0] == curves[1]
    assert {record["result"]["tokens_per_sample"] for record in records} == {8}


def test_a_network_without_blocks_is_left_out_with_the_reason(tmp_path: Path) -> None:
    words = ("workload=mnist_cnn", "trainer=torch_ddp", "activation_checkpointing=full")
    answer = ask("plan", "+sweep=single", "executor=inline", "tracking=none", *words, cwd=tmp_path)
    assert "0 to measure" in answer.out
    assert "mnist_cnn repeats no block without batch normalisation" in " ".join(answer.out.split())
