"""Help in real processes: what it lists, how long it is, how fast it comes, and a reader that goes away."""

import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest
from cli_process import NOOP, ask, command, environment
from repository import ROOT

from orchestrator.commands.catalogue.catalogue import list_commands

NAMES = [command_.name for command_ in list_commands()]
HEAVY = ("hydra", "pandas", "numpy", "ray", "mlflow", "sklearn", "plotly", "torch", "yaml")


def test_no_words_show_commands_and_sweeps(tmp_path: Path) -> None:
    (tmp_path / "conf/sweep").mkdir(parents=True)
    (tmp_path / "conf/sweep/mine.yaml").write_text("name: mine\n")
    answer = ask(cwd=tmp_path)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert len(lines) <= 40
    groups = [line for line in lines if line in ("Run a sweep", "Look at results", "Predict", "Machines")]
    assert len(groups) == 4
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in NAMES)
    named = {name for line in lines for name in line.split()}
    assert {"mine", "smoke", "tpu_vs_gpu"} <= named


def test_help_fits_a_terminal(tmp_path: Path) -> None:
    answer = ask("--help", cwd=tmp_path)
    lines = answer.out.splitlines()
    assert len(lines) <= 62
    assert max(map(len, lines)) < 80
    assert "Examples" in lines
    assert "  --config-dir DIR " in answer.out
    assert ask("-h", cwd=tmp_path).out == answer.out


@pytest.mark.more_except("run", "plan")
@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_a_help_that_fits_a_terminal(name: str, tmp_path: Path) -> None:
    answer = ask(*name.split(), "--help", cwd=tmp_path)
    (of_name,) = (command_ for command_ in list_commands() if command_.name == name)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) < 80
    assert all(f"  {flag.usage} " in answer.out for flag in of_name.flags)
    assert all(f"  {key.usage} " in answer.out for key in of_name.keys)
    assert "Examples" in lines


def test_help_of_an_unknown_command_names_the_nearest(tmp_path: Path) -> None:
    answer = ask("reprt", "--help", cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: unknown command 'reprt'; did you mean 'report'? ")


def test_help_imports_no_heavy_module(tmp_path: Path) -> None:
    program = (
        "import sys; from orchestrator.cli import main; main(['--help']); main([]); main(['run', '--help']); "
        f"sys.exit(', '.join(sorted(sys.modules.keys() & set({HEAVY!r}))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.stderr.strip() == ""


@pytest.mark.slow_cases("report", "--info", "--json", "status")
@pytest.mark.more_except("plan --help", "plan +sweep")
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--help",),
        ("plan", "--help"),
        ("plan", *NOOP),
        ("plan", "--json", *NOOP),
        ("--cfg", "job", "+sweep=smoke"),
        ("--info", "defaults", "+sweep=smoke"),
        ("predict", "device=t4,v100,h100"),
        ("status", *NOOP),
        ("report", *NOOP),
        ("cluster", "pools=gcp", "pools.project=mine"),
    ],
    ids=" ".join,
)
def test_a_reader_that_goes_away_is_no_error(words: tuple[str, ...], tmp_path: Path) -> None:
    whole = ask(*words, cwd=tmp_path)
    running = subprocess.Popen(
        command(*words),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(1)
    running.stdout.close()
    assert running.stderr.read() == whole.err
    running.stderr.close()
    assert running.wait() == whole.code


def test_the_console_script_is_the_same_program(tmp_path: Path) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert list(scripts) == ["orchestrator"]
    module, _, function = scripts["orchestrator"].partition(":")
    assert callable(resolve_name(scripts["orchestrator"]))
    for words in ([], ["--version"], ["plan", "+sweep=smok"]):
        program = f"import sys; from {module} import {function}; sys.exit({function}())"
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
        )
        answer = ask(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (answer.code, answer.out)
