"""Completion in real shells: the words that the Tab key gives, and the functions of the scripts."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_process import ask, environment
from repository import ROOT

WORDS = (
    ("orchestrator pl", ["plan"]),
    ("orchestrator predict ad", ["advise"]),
    ("orchestrator predict split --js", ["--json"]),
    ("orchestrator plan --a", ["--all"]),
    ("orchestrator run --re", ["--rerun", "--rerun-failed", "--resolve"]),
    ("orchestrator plan --cfg j", ["job"]),
    ("orchestrator +sweep=time", ["+sweep=time_to_quality"]),
    ("orchestrator --config-dir mine +sweep=own", ["+sweep=own_sweep"]),
    ("orchestrator hydra.searchpath=[mine] +sweep=own", ["+sweep=own_sweep"]),
    ("orchestrator run precision=fp32,b", ["precision=fp32,bf16"]),
    ("orchestrator run precision=fp32,fp", ["precision=fp32,fp16", "precision=fp32,fp8"]),
    ("orchestrator device=au", ["device=auto"]),
    ("orchestrator tracki", ["tracking="]),
    ("orchestrator report.go", ["report.goal="]),
    ("orchestrator report report.goal=b", ["report.goal=balanced", "report.goal=best"]),
    ("orchestrator budget.usd", ["budget.usd=", "budget.usd_per_trial="]),
    ("orchestrator workload.uni", ["workload.units="]),
    ("orchestrator trainer.start_method=s", ["trainer.start_method=spawn"]),
    ("orchestrator report.images=t", ["report.images=true"]),
    ("orchestrator completion z", ["zsh"]),
    ("orchestrator plan 'open", []),
    ("orchestrator plan device.k", []),
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A working directory with config files in `mine`, and the program in `bin`."""
    (tmp_path / "mine/sweep").mkdir(parents=True)
    (tmp_path / "mine/sweep/own_sweep.yaml").write_text("name: own_sweep\n")
    program = tmp_path / "bin/orchestrator"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m orchestrator "$@"\n')
    program.chmod(0o755)
    return tmp_path


def shell_environment(here: Path) -> dict[str, str]:
    path = f"{here / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return environment(PATH=path, PYTHONPATH=str(ROOT), PS1="ready> ", TERM="dumb", INPUTRC=os.devnull)


@pytest.mark.more_except("predict ad", "--js")
@pytest.mark.parametrize(("line", "expected"), WORDS, ids=[line for line, _ in WORDS])
def test_words_complete_a_line(line: str, expected: list[str], here: Path) -> None:
    answer = ask("completion", "zsh", f"--line={line}", cwd=here)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == expected


def test_the_function_of_bash_gives_words_after_the_last_break(here: Path) -> None:
    script = (
        'eval "$(orchestrator completion bash)"; compopt() { echo option "$@"; }\n'
        "answer() { COMP_LINE=$1; COMP_POINT=${#1}; COMP_WORDS=($1); _orchestrator; echo ${COMPREPLY[*]}; }\n"
        'answer "orchestrator plan +sweep=smo"; answer "orchestrator run precision=fp32,b"\n'
        'answer "orchestrator tracki"; answer "orchestrator run --yes --re"; complete -p orchestrator'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=here,
        env=shell_environment(here),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "smoke",
        "fp32,bf16",
        "option -o nospace",
        "tracking=",
        "--rerun --rerun-failed --resolve",
        "complete -o default -F _orchestrator orchestrator",
    ]
    assert done.stderr == ""


@pytest.fixture
def terminal(here: Path) -> Iterator[int]:
    """Terminal of an interactive bash in that working directory."""
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=here,
        env=shell_environment(here),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield ours
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def read_until(terminal: int, text: str, *, seconds: float = 60) -> str:
    """Return what the terminal shows until the text is there."""
    shown, until = "", time.monotonic() + seconds
    while text not in shown:
        assert time.monotonic() < until, shown
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


def test_the_tab_key_completes_in_bash(terminal: int) -> None:
    read_until(terminal, "ready> ")
    os.write(terminal, b'eval "$(orchestrator completion bash)"; echo loa""ded\n')
    read_until(terminal, "loaded")
    os.write(terminal, b"orchestrator pl\t")
    read_until(terminal, "orchestrator plan ")
    os.write(terminal, b"+sweep=time_\t")
    read_until(terminal, "+sweep=time_to_quality ")
    os.write(terminal, b"precision=b\t")
    read_until(terminal, "precision=bf16 ")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_the_script_of_zsh_is_loaded(here: Path) -> None:
    script = (
        'autoload -Uz compinit; compinit -D; compadd() { print -r -- "$@"; }\n'
        'eval "$(orchestrator completion zsh)"; print ${_comps[orchestrator]}\n'
        'words=(orchestrator plan "+sweep=smo"); CURRENT=3; _orchestrator'
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", script], cwd=here, env=shell_environment(here), capture_output=True, text=True
    )
    assert done.stderr == ""
    assert "_orchestrator" in done.stdout
    assert "+sweep=smoke" in done.stdout
