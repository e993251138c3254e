"""Files that a script opens by itself: a change of one makes its cached results out of date."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_process import ask
from script_runs import PATIENT, PLAIN, SHORT, records_in, run

from orchestrator.cli import main
from orchestrator.pipeline import run as pipeline_run

REPORTS = f"""
{PLAIN}
import model
settings = open("c.yaml").read()
open("log.txt", "w").write(settings)
open("log.txt").read()
for i in steps(range(900), samples=64): report(loss=1 / (i + 1))
open("state.bin", "wb").write(b"")
"""
OBSERVED = """
import torch, model
from torch import nn
settings = open("c.yaml").read()
data = torch.utils.data.TensorDataset(torch.rand(6400, 8), torch.rand(6400, 1))
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(9):
    for x, y in torch.utils.data.DataLoader(data, 64):
        optimizer.zero_grad()
        (net(x) - y).square().mean().backward()
        optimizer.step()
"""


@pytest.mark.slow_cases("script1")
@pytest.mark.parametrize(("script", "words"), [(REPORTS, ()), (OBSERVED, ("script.observe=true",))])
@pytest.mark.more
def test_a_changed_module_is_measured_again_and_plan_names_it(
    script: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "model.py").write_text("width = 64")
    (tmp_path / "c.yaml").write_text("one")
    (tmp_path / "unread.txt").write_text("")
    told = run(tmp_path, "python train.py", "global_batch_size=64", *words, *PATIENT)
    assert told.code == 0, told.out + told.err
    [record] = records_in(tmp_path)
    assert set(record["result"]["read_files"]) == {"train.py", "model.py", "c.yaml"}

    planned = ("plan", *SHORT, "script.command=python train.py", "global_batch_size=64", *words)
    same = ask(*planned, cwd=tmp_path).out
    assert "0 to measure" in same
    assert "files that count: train.py, c.yaml, model.py" in " ".join(same.split())
    (tmp_path / "unread.txt").write_text("another")
    (tmp_path / "log.txt").write_text("another")
    assert "0 to measure" in ask(*planned, cwd=tmp_path).out

    (tmp_path / "model.py").write_text("width = 32")
    changed = " ".join(ask(*planned, cwd=tmp_path).out.split())
    assert "1 to measure" in changed
    assert "measured again: 1 trial, because model.py has changed" in changed
    (tmp_path / "c.yaml").unlink()
    assert "c.yaml is gone" in ask(*planned, cwd=tmp_path).out
    (tmp_path / "c.yaml").write_text("one")

    assert run(tmp_path, "python train.py", "global_batch_size=64", *words, *PATIENT).code == 0
    first, second = records_in(tmp_path)
    assert (first["trial_id"], first["result"]) == (record["trial_id"], record["result"])
    assert second["trial_id"] == first["trial_id"]
    assert "0 to measure" in ask(*planned, cwd=tmp_path).out


@pytest.mark.more
def test_a_module_that_changes_while_its_sweep_waits_for_its_turn_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(REPORTS)
    (tmp_path / "model.py").write_text("width = 64")
    (tmp_path / "c.yaml").write_text("one")
    words = (*SHORT, "script.command=python train.py", "global_batch_size=64", *PATIENT)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    wait_for_turn = pipeline_run._turn

    @contextmanager
    def edit_first(*arguments: Any, **named: Any) -> Iterator[bool]:
        with wait_for_turn(*arguments, **named) as has_turn:
            (tmp_path / "model.py").write_text("width = 32")
            yield has_turn

    monkeypatch.setattr(pipeline_run, "_turn", edit_first)
    assert main(words) == 0
    assert len(records_in(tmp_path)) == 2
    assert main(words) == 0, "it writes the same again"
    assert len(records_in(tmp_path)) == 2


@pytest.mark.more
def test_a_result_of_before_the_change_is_not_reported_where_the_new_attempt_fails(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(REPORTS)
    (tmp_path / "model.py").write_text("width = 64")
    (tmp_path / "c.yaml").write_text("one")
    assert run(tmp_path, "python train.py", "global_batch_size=64", *PATIENT).code == 0
    (tmp_path / "model.py").write_text("raise RuntimeError('no such width')")
    told = run(tmp_path, "python train.py", "global_batch_size=64", *PATIENT)
    assert told.code != 0
    assert "no such width" in told.out
    assert "samples/s" not in told.out
    assert len(records_in(tmp_path)) == 2
