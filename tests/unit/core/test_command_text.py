"""Command lines as text, and texts as values of Hydra's grammar."""

import os
import shlex
import sys
from pathlib import Path

import pytest
from plan_builders import point

from orchestrator.analysis.recommendation.jobs.command import list_words
from orchestrator.config.loader import load
from orchestrator.config.overrides import read
from orchestrator.core.printable import command_text, find_program, quoted_value
from orchestrator.core.trial_spec import Option, TimingSpec


def test_a_command_is_read_by_a_shell_as_its_words() -> None:
    words = ["+sweep=smoke", "outputs=my results", "script.command=python t.py 'a b'"]
    assert shlex.split(command_text(words)) == ["python", "-m", "orchestrator", *words]
    assert command_text(["device=cpu"], verb="predict calibrate").endswith(
        "orchestrator predict calibrate device=cpu"
    )


@pytest.mark.parametrize("name", ["python", "mlflow"])
def test_a_program_of_an_environment_that_is_not_activated_is_named_by_its_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, elsewhere = tmp_path / ".venv/bin", tmp_path / "usr/bin"
    for folder in (environment, elsewhere):
        folder.mkdir(parents=True)
        (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(environment.parent))
    monkeypatch.setenv("PATH", str(elsewhere))
    monkeypatch.chdir(tmp_path)
    assert find_program(name) == f".venv/bin/{name}"
    monkeypatch.chdir(elsewhere)
    assert find_program(name) == str(environment / name)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_program(name) == str(environment / name)
    monkeypatch.setenv("PATH", f"{environment}{os.pathsep}{elsewhere}")
    assert find_program(name) == name
    assert find_program("absent") == "absent", "nothing of the environment has that name"


@pytest.mark.parametrize(
    "text", ["", "it's", "a\\d", "end\\", "\\'", 'say "x"', "a,b [c]", "true", "1e3", " x "]
)
def test_a_quoted_value_is_read_as_it_was(text: str) -> None:
    (word,) = read([f"workload.text={quoted_value(text)}"], options=lambda _: ())
    assert word.values == (text,)


@pytest.mark.parametrize(
    ("text", "value"),
    [("8b", "8b"), ("tiny", "tiny"), ("1e3", "'1e3'"), ("12", "'12'"), ("1_0", "'1_0'"), ("true", "'true'")],
)
def test_an_option_is_quoted_only_where_it_would_be_read_as_no_text(text: str, value: str) -> None:
    words = build_words("gpt2", size=text)
    assert f"workload.size={value}" in words
    (word,) = read([f"workload.size={value}"], options=lambda _: ())
    assert word.values == (text,)


def words_of_script(command: str) -> tuple[str, ...]:
    return build_words("script", command=command, steps_total=9)


def build_words(workload: str, **options: Option) -> tuple[str, ...]:
    asked = point(
        workload=workload,
        workload_options=options,
        trainer="script",
        num_workers=2,
        steps=100,
        timing=TimingSpec(),
        num_hosts=2,
    )
    return list_words(asked, data_source="own", devices=("cpu", "cpu"))


@pytest.mark.parametrize(
    "command",
    ["python t.py --d=\\d+ {{a}}", "python it's", '"my python" t.py', "['a', 'b']", "python ${HOME} \\${x}"],
)
def test_the_words_of_a_script_ask_for_the_same_command(command: str, tmp_path: Path) -> None:
    (loaded,) = load(["+sweep=single", *words_of_script(command)], working_directory=tmp_path).sweep.points
    assert loaded.workload_options == {"command": command, "steps_total": 9}
    assert (loaded.num_workers, loaded.num_hosts) == (2, 2)


def test_a_scripts_command_is_quoted_for_the_shell_alone() -> None:
    assert "script.command=python t.py" in words_of_script("python t.py")
