"""The jobs of docs/tutorials/own_job.md: it shows what is there, and the installed wheel trains them."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from own_jobs import keras_job, torch_job
from repository import ROOT
from warm_commands import WarmCommands

PAGE = (ROOT / "docs/tutorials/own_job.md").read_text()
JOBS = ROOT / "docs/examples/jobs"
RUNS = [
    words
    for line in PAGE.splitlines()
    if line.startswith("python -m ") and (words := shlex.split(line)[3:])[0] not in ("plan", "predict")
]
SHORT = ("executor=inline", "tracking=none")


_WARM = WarmCommands("torch", "keras")


def ask(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the wheel's command: the repository, which is installed too, is not what is imported."""
    told = _WARM.run(words, cwd=cwd, variables={**os.environ, "PYTHONPATH": str(installed)}, seconds=600)
    assert told is not None, "another command runs, or a variable has changed"
    return subprocess.CompletedProcess([*words], *told)


def records_in(folder: Path) -> list[Mapping[str, Any]]:
    """All records of the jobs."""
    ledgers = sorted((folder / "outputs").glob("single-*/records.jsonl"))
    return [json.loads(line) for ledger in ledgers for line in ledger.read_text().splitlines()]


@pytest.fixture(scope="module")
def elsewhere(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the repository in which the page's trials are run, with 150 steps each."""
    folder = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(JOBS, folder / "docs/examples/jobs")
    for words in RUNS:
        told = ask(installed, *words, "steps=150", *SHORT, cwd=folder)
        assert (told.returncode, told.stderr) == (0, ""), told.stdout
    return folder


def test_the_page_shows_every_file_of_the_jobs_as_it_is() -> None:
    shown = dict(re.findall(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
    assert shown == {str(file.relative_to(JOBS)): file.read_text() for file in JOBS.rglob("*.py")}


def test_the_common_case_takes_twenty_lines() -> None:
    lines = (JOBS / "digits/torch_job.py").read_text().partition("def build")[2].splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 20


@pytest.mark.slow
def test_the_jobs_of_the_page_learn(elsewhere: Path) -> None:
    measured = [record for record in records_in(elsewhere) if record["provenance"] == "measured"]
    tried = {(record["spec"]["workload"], record["spec"]["trainer"]) for record in measured}
    assert tried == {("digits", "torch_ddp"), ("digits", "tensorflow"), ("tiny_bert", "torch_ddp")}
    for record in measured:
        assert record["failure"] is None
        assert record["result"]["quality"]["accuracy"] > 0.7, record["spec"]


@pytest.mark.slow
def test_options_are_axes_and_workers_train_what_one_does(elsewhere: Path) -> None:
    found = {
        (record["spec"]["workload_options"].get("units", 64), record["spec"]["num_workers"]): record["result"]
        for record in records_in(elsewhere)
        if (record["spec"]["workload"], record["spec"]["trainer"]) == ("digits", "torch_ddp")
    }
    assert {(32, 1), (32, 2), (64, 1), (64, 2)} <= found.keys()
    for units in (32, 64):
        assert found[units, 1]["losses"][-1][1] == pytest.approx(found[units, 2]["losses"][-1][1], rel=1e-3)
    assert found[64, 1]["flops_per_step"] > found[32, 1]["flops_per_step"] > 0


@pytest.mark.slow
def test_records_name_what_was_not_checked_and_the_jobs_own_data(elsewhere: Path) -> None:
    for record in records_in(elsewhere):
        assert record["spec"]["data"].startswith(f"own:{record['spec']['workload']}:")
        assert any("initial weights" in text for text in record["result"]["unchecked"])
    bert = [record for record in records_in(elsewhere) if record["spec"]["workload"] == "tiny_bert"]
    assert any("dropout" in text for text in bert[0]["result"]["unchecked"])


@pytest.mark.slow
def test_typed_again_it_is_cached_while_its_code_is_the_same(installed: Path, elsewhere: Path) -> None:
    job = elsewhere / "docs/examples/jobs/tiny_bert/torch_job.py"
    job.write_text(f"# a comment\n{job.read_text()}")
    told = ask(installed, "plan", *RUNS[-1], "steps=150", *SHORT, cwd=elsewhere)
    assert "0 to measure" in told.stdout


@pytest.mark.slow
def test_it_is_trained_to_its_target(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(JOBS, tmp_path / "docs/examples/jobs", ignore=shutil.ignore_patterns("keras_job.py"))
    words = (*RUNS[0][:3], "measure.target=workload", "trainer=torch_ddp", "steps=2000")
    told = ask(installed, *words, *SHORT, cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, ""), told.stdout
    [record] = records_in(tmp_path)
    assert record["result"]["pursuit"]["curve"][-1]["quality"] >= 0.9


@pytest.mark.slow
def test_a_prediction_and_the_memory_of_a_gpu_need_no_more_information(
    installed: Path, elsewhere: Path
) -> None:
    words = ("workload_path=docs/examples/jobs", "workload=tiny_bert", "device=t4")
    told = ask(installed, "predict", *words, cwd=elsewhere)
    assert (told.returncode, told.stderr) == (0, "")
    assert "tiny_bert" in told.stdout
    planned = ask(installed, "plan", *words, "+sweep=single", "trainer=torch_ddp", *SHORT, cwd=elsewhere)
    assert "(predicted by counting)" in " ".join(planned.stdout.split())


REFUSED = {
    "raises": ({"model": "1 / 0"}, (), "torch_job.py, line 12: ZeroDivisionError: division by zero"),
    "short": ({}, ("global_batch_size=101",), "global_batch_size=101 is above the 100 training samples"),
    "uneven": ({}, ("global_batch_size=64", "num_workers=3"), "global_batch_size=64 does not divide over 3"),
    "parts": ({"more": ", accumulation_steps=3"}, (), "global_batch_size=64 does not divide into 1 x 3"),
    "aimless": ({}, ("measure.target=workload",), "aimless declares no target"),
}


@pytest.mark.more
@pytest.mark.slow_cases("uneven", "raises")
@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_is_one_line_before_anything_starts(name: str, installed: Path, tmp_path: Path) -> None:
    parts, words, reason = REFUSED[name]
    torch_job(tmp_path / "jobs" / name, **parts)
    asked = ("+sweep=single", f"workload={name}", "workload_path=jobs", "trainer=torch_ddp", *words)
    told = ask(installed, *asked, *SHORT, cwd=tmp_path)
    assert told.returncode == 2
    assert reason in told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert not (tmp_path / "outputs").exists()


@pytest.mark.more
def test_a_loss_that_is_not_a_number_is_a_failed_trial(installed: Path, tmp_path: Path) -> None:
    loss = "lambda model, batch: model(batch[0]).sum() * float('nan')"
    torch_job(tmp_path / "jobs/endless", loss=loss)
    asked = ("+sweep=single", "workload=endless", "workload_path=jobs", "trainer=torch_ddp")
    assert ask(installed, *asked, *SHORT, cwd=tmp_path).returncode == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "diverged"


@pytest.mark.more
def test_a_job_in_one_framework_is_not_given_to_a_trainer_of_the_other(
    installed: Path, tmp_path: Path
) -> None:
    keras_job(tmp_path / "jobs/kerasic")
    asked = ("+sweep=single", "workload=kerasic", "workload_path=jobs", "trainer=torch_ddp,noop")
    told = ask(installed, "plan", *asked, *SHORT, cwd=tmp_path)
    said = " ".join(told.stdout.split())
    assert "torch_ddp cannot train kerasic, which is a keras job; choose tensorflow" in said
    assert "noop cannot train kerasic" in said


@pytest.mark.more
def test_two_jobs_of_one_folder_must_be_the_same_task(installed: Path, tmp_path: Path) -> None:
    torch_job(
        keras_job(tmp_path / "jobs/twins"), data="TensorDataset(inputs[:90], (inputs[:90].sum(1) > 0).long())"
    )
    told = ask(installed, "plan", "+sweep=single", "workload=twins", "workload_path=jobs", cwd=tmp_path)
    assert told.returncode == 2
    assert "its jobs differ in train_samples: 90 and 100" in told.stderr


@pytest.mark.more  # the first test of the wheel, which it builds
def test_a_folder_with_a_job_and_a_spec_is_refused(installed: Path, tmp_path: Path) -> None:
    (torch_job(tmp_path / "jobs/mixed") / "spec.py").write_text("")
    told = ask(installed, "plan", "+sweep=single", "workload=mixed", "workload_path=jobs", cwd=tmp_path)
    assert told.returncode == 2
    assert "has spec.py and torch_job.py; keep one of them" in told.stderr
