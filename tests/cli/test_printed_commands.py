"""Every command that an output prints is one that runs, in the folder where it was printed."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import user_workload
from builders import setting

from orchestrator.analysis.recommendation.answer.next_step import command_for
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.cli import main
from orchestrator.config.loader import load
from orchestrator.extensions.predictions.advised_jobs import list_overrides

HERE = ("trainer=noop", "executor=inline", "tracking=none", "outputs=my results", "compile=off")
_COMMAND = re.compile(r"python -m orchestrator (?:'[^']*'|[^\s'`<]+| )+")


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the words of the commands of an output; two are joined by `&&`."""
    for found in _COMMAND.findall(text):
        for command in found.split(" && "):
            yield shlex.split(command.rstrip(" .;"))[3:]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workload in `jobs`, which no variable names."""
    folder = tmp_path_factory.mktemp("project")
    user_workload.write(folder, {"jobs/mine/__init__.py": "", "jobs/mine/spec.py": user_workload.SPEC})
    return folder


@pytest.mark.more
def test_the_commands_of_an_own_job_run_where_they_were_printed(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(job)
    asked = ("+sweep=single", "workload_path=jobs", "workload=mine", "data.source=synthetic", *HERE)
    assert main(["report", *asked]) == 1
    assert main(["run", *asked]) == 0
    assert main(["report", *asked, "num_workers=1,2", "report.goal=cheapest"]) == 1
    assert (
        main(["predict", "workload_path=jobs", "workload=mine", "device=cpu,t4", "outputs=my results"]) == 0
    )
    assert main(["predict", "advise", *asked, "trainer=torch_ddp", "device=cpu,t4"]) == 0
    told = capsys.readouterr().out
    pages = "".join(unescape(page.read_text()) for page in job.glob("my results/*/report.html"))
    printed = {tuple(words) for words in commands_in(told + pages)}
    assert len(printed) > 4
    for words in printed - {("predict", "calibrate", "device=cpu")}:  # it takes minutes
        assert "outputs=my results" in words
        if words[0] == "next":  # the stored plan has the other words
            assert main([*words, "--print"]) == 0, words
            assert "workload_path=jobs" in capsys.readouterr().out
            continue
        assert "workload_path=jobs" in words
        assert main(["plan", *words]) == 0, words
        assert "to measure" in capsys.readouterr().out
        assert {folder.name for folder in job.iterdir()} == {"jobs", "my results"}


def test_the_remaining_trials_are_asked_for_with_every_word_of_the_command(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(job)
    asked = ["+sweep=single", "workload=mine", "data.source=synthetic", *HERE, "sweep.name=left", "seed=0,1"]
    assert main(["report", "workload_path=jobs", *asked]) == 1
    (words,) = commands_in(capsys.readouterr().out)
    assert words == [*asked, "workload_path=jobs"]
    assert main(words) == 0


CASES = (
    ("tpu_vs_gpu", "t4"),  # its baseline is another device
    ("paper_profet_mini", "lenet5"),  # options at their defaults are an axis of it
    ("workloads", "lenet5"),  # it adds points with options that others do not have
)


@pytest.mark.parametrize(("sweep", "of"), CASES, ids=[sweep for sweep, _ in CASES])
def test_the_command_of_a_point_of_a_sweep_asks_for_it_alone(sweep: str, of: str, tmp_path: Path) -> None:
    points = load([f"+sweep={sweep}"], working_directory=tmp_path).sweep.points
    wanted = next(point for point in points if of in (point.device.name, point.workload))
    words_of_it = list_overrides(wanted)
    candidate = CandidateSetting(setting=setting(), steps=1, words=words_of_it)
    job = Job(where="", sweep=sweep, aim=None, target=None, samples=1, length="", candidates=())
    words = shlex.split(command_for([candidate], job, more=["sweep.repeats=1"]))[3:]
    asked = load(words, working_directory=tmp_path).sweep
    assert [replace(point, label={}) for point in asked.points] == [
        replace(wanted, label={}, is_baseline=False)
    ]
    assert asked.name == sweep
