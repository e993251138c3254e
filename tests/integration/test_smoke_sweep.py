"""The smoke sweep for real, on Ray with MLflow: run, look, type again; and a driver killed in the middle."""

import contextlib
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_process import Answer, ask, records_in, start
from mlflow import MlflowClient
from mlflow.entities import Run
from process_tracking import family

pytestmark = [
    pytest.mark.slow_cases("fp32,bf16"),
    pytest.mark.filterwarnings(
        "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"  # mlflow 3.17
    ),
]


@pytest.fixture(scope="module", params=["fp32", "fp32,bf16"])
def precisions(request: pytest.FixtureRequest) -> str:
    """Precisions of the sweep: `make test-slow` has bf16 too, in which a CPU takes long."""
    return str(request.param)


@pytest.fixture(scope="module")
def words(precisions: str) -> tuple[str, ...]:
    """The smoke sweep on the stand-in, with fewer steps."""
    return "+sweep=smoke", "data=standin", f"precision={precisions}", "steps=150"


@pytest.fixture(scope="module")
def smoke(words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """A working directory in which it was run once."""
    folder = tmp_path_factory.mktemp("smoke")
    return folder, ask(*words, cwd=folder)


def find_runs(folder: Path, sweep: str) -> list[Run]:
    """Load the runs of a sweep, of which predictions are runs of their own, left out here."""
    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name(sweep)
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    return [run for run in runs if run.data.tags.get("outcome") != "predicted"]


def children(runs: list[Run]) -> list[Run]:
    return [run for run in runs if "mlflow.parentRunId" in run.data.tags]


def test_the_smoke_sweep_measures_three_trainers_and_rehearses_what_is_not_here(
    smoke: tuple[Path, Answer], precisions: str
) -> None:
    folder, told = smoke
    assert told.code == 0, told.out + told.err
    records, count = records_in(folder), 2 * len(precisions.split(","))
    kinds = Counter(
        (record["spec"]["trainer"], record["spec"]["device"], record["provenance"]) for record in records
    )
    assert kinds == {
        ("tensorflow", "cpu", "measured"): count,
        ("torch_ddp", "cpu", "measured"): count,
        ("torch_xla", "cpu", "measured"): count,
        ("torch_ddp", "t4", "rehearsed"): 1,
    }
    for item in records:
        assert item["result"] is not None
        assert item["spec"]["data"].startswith("standin:")
        if item["provenance"] == "measured":
            assert item["result"]["quality"]["accuracy"] >= 0.93, item["spec"]
    assert (folder / "outputs/smoke/report.html").stat().st_size > 50_000


def test_the_workers_ran_what_was_asked_for(smoke: tuple[Path, Answer]) -> None:
    measured = [record for record in records_in(smoke[0]) if record["provenance"] == "measured"]
    for item in measured:
        devices = item["result"]["devices"]
        assert {device["kind"] for device in devices} == {"cpu"}
        assert {device["precision"] for device in devices} == {item["spec"]["precision"]}
        assert sum(device["count"] for device in devices) == item["spec"]["num_workers"]


def test_mlflow_holds_a_parent_and_a_child_for_each_trial(smoke: tuple[Path, Answer]) -> None:
    folder, _ = smoke
    runs = find_runs(folder, "smoke")
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert len(runs) - len(children(runs)) == 1
    by_trial = {run.data.tags["trial_id"]: run for run in children(runs)}
    for record in records_in(folder):
        run = by_trial.pop(record["trial_id"])
        asked: Mapping[str, Any] = record["spec"]
        for tag in ("device", "trainer", "precision", "workload"):
            assert run.data.tags[tag] == asked[tag]
        assert run.data.tags["provenance"] == record["provenance"]
        is_timed = "time/samples_per_second" in run.data.metrics
        assert is_timed == (record["provenance"] == "measured")
    assert by_trial == {}


def test_the_same_command_again_repeats_no_trial_and_the_other_verbs_agree(
    smoke: tuple[Path, Answer], words: tuple[str, ...], precisions: str
) -> None:
    folder, _ = smoke
    ledger = folder / "outputs/smoke/records.jsonl"
    kept, count = ledger.read_bytes(), len(records_in(folder))
    again = ask(*words, cwd=folder)
    assert (again.code, again.err) == (0, "")
    skipped = int("bf16" in precisions)  # a T4 has none
    cached = f"{count} cached ({count - 1} measured, 1 rehearsed), {skipped} skipped"
    assert f"to run: 0 to measure, 0 to rehearse; {cached}" in again.out
    assert ledger.read_bytes() == kept
    assert len(find_runs(folder, "smoke")) == count + 1
    assert "to run: 0 to measure" in ask("plan", *words, cwd=folder).out
    assert ask("report", *words, cwd=folder).code == 0
    assert ask("sync", *words, cwd=folder).out.startswith("0 records sent")


@contextlib.contextmanager
def driving(words: tuple[str, ...], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    driver = start(*words, cwd=folder)
    try:
        yield driver
    finally:
        driver.kill()
        driver.wait()
        assert driver.stdout is not None
        driver.stdout.close()


@pytest.mark.slow
def test_a_killed_driver_leaves_no_process_and_the_same_command_runs_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("+sweep=smoke", "trainer=noop", "precision=fp32", "sweep.include=[]", "data=synthetic")
    words = (*words, "sweep.repeats=60")
    with family(monkeypatch) as started:
        with driving(words, tmp_path) as driver:
            assert driver.stdout is not None
            measured = (line for line in driver.stdout if line.startswith("measured"))
            next(measured), next(measured)
            os.kill(driver.pid, signal.SIGKILL)
        started.wait_until_gone(seconds=90)  # an agent of Ray that was just starting takes its time
        kept = records_in(tmp_path)
        assert 2 <= len(kept) < 60
        again = ask(*words, cwd=tmp_path)
    assert again.code == 0
    records = records_in(tmp_path)
    assert list(records[: len(kept)]) == list(kept)
    assert len({record["trial_id"] for record in records}) == len(records) == 60
    runs = find_runs(tmp_path, "smoke")
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert Counter(run.data.tags["trial_id"] for run in children(runs)) == Counter(
        record["trial_id"] for record in records
    )
