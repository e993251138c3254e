"""The commands of docs/tutorials/fine_tune.md as written, and trainings of their model on the CPU."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

PAGE = (ROOT / "docs/tutorials/fine_tune.md").read_text()
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
METHODS = ("full", "lora", "qlora")
ON_CPU = ("executor=inline", "tracking=none", "device=cpu", "trainer=torch_ddp")
RUNS = [
    shlex.split(line)[3:] for block in BLOCKS for line in block.splitlines() if line.startswith("python -m ")
]


def ask(folder: Path, *words: str) -> str:
    """Run a command where the page's model is, and return what it prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "orchestrator", *words, "workload_seconds=600"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's model."""
    place = tmp_path_factory.mktemp("page")
    made = "\n".join(line for line in BLOCKS[0].splitlines() if not line.startswith("pip "))
    subprocess.run(["bash", "-ec", made], cwd=place, check=True)
    return place


def read_records(folder: Path) -> list[Mapping[str, Any]]:
    ledgers = sorted((folder / "outputs").glob("*/records.jsonl"))
    return [json.loads(line) for ledger in ledgers for line in ledger.read_text().splitlines()]


def find_results(folder: Path) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Find (method, workers) -> result of each measured trial, in all of which the loss falls."""
    results = {
        (record["spec"]["workload_options"].get("method", "full"), record["spec"]["num_workers"]): record[
            "result"
        ]
        for record in read_records(folder)
        if record["provenance"] == "measured"
    }
    for result in results.values():
        assert result["losses"][-1][1] < result["losses"][0][1]
        assert result["tokens_per_sample"] == 64
    return results


@pytest.mark.more
def test_the_page_predicts_and_trains_every_method(folder: Path) -> None:
    predict, _, train = RUNS
    shown = ask(folder, *predict)
    devices = ["rtx_4090", "l40s", "a100_80", "h100", "h200"]
    rows = [line for line in shown.splitlines() if line.startswith("causal_lm ")]
    assert [word for line in rows for word in line.split() if word in devices] == devices * 3
    methods = [re.search(r"method=(\w+)", line) for line in rows]
    assert [found and found[1] for found in methods] == [None] * 5 + ["lora"] * 5 + ["qlora"] * 5
    ask(folder, *train, *ON_CPU)
    assert set(find_results(folder)) == {(method, 1) for method in METHODS}


@pytest.mark.slow
def test_the_page_counts_the_memory_of_every_method(folder: Path) -> None:
    planned = ask(folder, *RUNS[1])
    assert planned.count("; fits: ") == 15
    assert "not checked" not in planned


@pytest.mark.slow
def test_two_workers_train_the_adapters_of_the_page_as_one_does(folder: Path) -> None:
    *words, _ = RUNS[2]
    for num_workers in (1, 2):
        ask(folder, *words, "workload.method=qlora", f"num_workers={num_workers}", *ON_CPU)
    results = find_results(folder)
    last = [results["qlora", workers]["losses"][-1][1] for workers in (1, 2)]
    assert last[0] == pytest.approx(last[1], rel=1e-3)
