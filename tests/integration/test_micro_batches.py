"""A sweep over micro batches, from the command line to the records and tables."""

from pathlib import Path

import pytest
from cli_process import ask, records_in

WORDS = (
    "+sweep=single",
    "workload=mnist_cnn",
    "trainer=torch_ddp,noop",
    "executor=inline",
    "tracking=none",
    "data.source=synthetic",
    "micro_batch_size=0,16",
    "steps=4",
    "measure.warmup_steps=1",
    "measure.max_warmup_steps=1",
    "measure.steps_per_block=2",
    "measure.min_blocks=1",
    "measure.max_blocks=1",
)


@pytest.mark.more
def test_micro_batches_are_an_axis_of_a_sweep_that_only_torch_ddp_has(tmp_path: Path) -> None:
    answer = ask(*WORDS, cwd=tmp_path)
    assert answer.code == 0, answer.err
    reason = "noop has no micro_batch_size; choose trainer=torch_ddp, or leave it out"
    assert reason in ask("plan", *WORDS, cwd=tmp_path).out
    found = {
        (record["spec"]["trainer"], record["spec"]["memory_settings"]["micro_batch_size"])
        for record in records_in(tmp_path, "single-mnist_cnn")
    }
    assert found == {("torch_ddp", 0), ("torch_ddp", 16), ("noop", 0)}
    assert "micro_batch_size=16" in next(tmp_path.glob("outputs/*/results.csv")).read_text()


def test_micro_batches_that_do_not_divide_are_one_line_with_exit_code_2(tmp_path: Path) -> None:
    answer = ask("plan", *WORDS, "micro_batch_size=24", cwd=tmp_path)
    assert answer.code == 2
    assert answer.err == "error: micro_batch_size=24 does not divide the 64 samples of a replica; 16 would\n"
