"""MLflow's variable sets where sweeps are tracked, unless a command says otherwise."""

from pathlib import Path

import pytest
from cli_process import NOOP, ask

VARIABLE = "MLFLOW_TRACKING_URI"
TRACKED = [word for word in NOOP if word != "tracking=none"]


@pytest.mark.more_cases("report", "sync")
@pytest.mark.parametrize(
    "verb", [[], ["plan"], ["report"], ["sync"]], ids=lambda verb: "".join(verb) or "run"
)
def test_the_tracking_variable_is_used_and_shown(verb: list[str], tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/store/mine.db"
    if verb in (["report"], ["sync"]):
        assert ask(*NOOP, cwd=tmp_path).code == 0
    told = ask(*verb, *TRACKED, cwd=tmp_path, variables={VARIABLE: place})
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines().count(f"MLflow: {place}, set by {VARIABLE}") == 1
    assert (tmp_path / "store/mine.db").exists() == (verb != ["plan"])
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.more_cases("tracking=none")
@pytest.mark.parametrize("word", ["tracking=none", "tracking.uri=sqlite:///own.db"])
def test_a_command_that_shows_where_decides(word: str, tmp_path: Path) -> None:
    told = ask(*TRACKED, word, cwd=tmp_path, variables={VARIABLE: "http://127.0.0.1:1"})
    assert (told.code, told.err) == (0, "")
    assert VARIABLE not in told.out
    assert (tmp_path / "own.db").exists() == (word != "tracking=none")


@pytest.mark.more_cases("mlruns", "99999")
@pytest.mark.parametrize("value", ["databricks", "./mlruns", "http://127.0.0.1:99999", ""])
def test_a_value_that_is_not_followed_is_refused_by_the_name_of_the_variable(
    value: str, tmp_path: Path
) -> None:
    told = ask("plan", *TRACKED, cwd=tmp_path, variables={VARIABLE: value})
    assert told.code == 2
    [line] = told.err.splitlines()
    assert line.startswith(f"error: {VARIABLE}=")
    assert "possible: sqlite:///<file>" in line


def test_a_password_in_the_variable_is_not_shown(tmp_path: Path) -> None:
    told = ask("plan", *TRACKED, cwd=tmp_path, variables={VARIABLE: "http://someone:hunter2@127.0.0.1:1"})
    assert told.code == 0
    assert f"MLflow: http://127.0.0.1:1, set by {VARIABLE}" in told.out
    assert "hunter2" not in told.out + told.err
