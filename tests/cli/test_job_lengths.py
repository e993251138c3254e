"""The length of the job that a report is about, on the command line of every verb that heeds it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from user_workload import SPEC, searched, write

from orchestrator.cli import main

WORDS = (
    "+sweep=smoke",
    "trainer=noop",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "executor=inline",
    "tracking=none",
)
UNKNOWN_SIZE = """\
from dataclasses import replace
from workloads.data.mnist import MNIST
UNSIZED = replace(MNIST, train_samples=None)
"""
VERBS = pytest.mark.parametrize("verb", [[], ["plan"], ["report"]], ids=["run", "plan", "report"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory beside a workload of whose data set nobody knows the size."""
    spec = SPEC.replace('"mine"', '"unsized"').replace("workloads.data.mnist:MNIST", "unsized.data:UNSIZED")
    files = {"own/unsized/spec.py": spec, "own/unsized/data.py": UNKNOWN_SIZE, "here/notes.md": ""}
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    with searched(tmp_path / "own"):
        yield tmp_path / "here"


@VERBS
def test_epochs_of_a_data_set_of_unknown_size_are_refused_before_anything_runs(
    verb: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, *WORDS, "workload=unsized", "report.epochs=3"]) == 2
    assert capsys.readouterr().err == (
        "error: workload 'unsized': report.epochs=3 needs the number of training samples, and the data set "
        "declares no train_samples; give report.samples=N\n"
    )
    assert [path.name for path in folder.iterdir()] == ["notes.md"]


@VERBS
def test_two_lengths_of_one_job_are_refused(
    verb: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, *WORDS, "workload=mnist_cnn", "report.epochs=3", "report.samples=10"]) == 2
    assert capsys.readouterr().err == (
        "error: report.samples=10 and report.epochs=3.0 are two lengths of one job; give one\n"
    )
    assert [path.name for path in folder.iterdir()] == ["notes.md"]


@pytest.mark.more
def test_the_plan_file_of_a_report_has_every_full_training(folder: Path) -> None:
    words = [*WORDS, "workload=mnist_cnn,unsized", "report.samples=200000"]
    assert [main([*verb, *words]) for verb in (["plan"], [], ["report"])] == [0, 0, 0]
    told = json.loads((folder / "outputs/smoke/plan.json").read_text())
    assert told["trainings"] == {
        "mnist_cnn": {"epochs": 15, "train_samples": 60_000, "samples": None, "tokens_per_sample": None},
        "unsized": {"epochs": None, "train_samples": None, "samples": None, "tokens_per_sample": None},
    }
