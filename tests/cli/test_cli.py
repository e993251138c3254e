"""Command lines taken apart, and the exit code and the one line that each kind of mistake gives."""

import json
import logging
import signal
import subprocess
import sys
from importlib import metadata

import pytest
from repository import ROOT

from orchestrator import api
from orchestrator.cli import choose_pipe_width, main
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.catalogue.shared_flags import SHARED_FLAGS
from orchestrator.commands.command_line import CommandLine, parse
from orchestrator.core.errors import ConfigError, UnknownNameError

NOOP = (
    "+sweep=smoke",
    "trainer=noop",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "executor=inline",
    "tracking=none",
)


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty one; signals and logging are put back to what they were."""
    monkeypatch.chdir(tmp_path)
    on_sigterm, handlers = signal.getsignal(signal.SIGTERM), logging.root.handlers[:]
    yield tmp_path
    signal.signal(signal.SIGTERM, on_sigterm)
    logging.root.handlers[:] = handlers


def line(command="run", *overrides, **flags):
    given = {f"--{name.replace('_', '-')}": values for name, values in flags.items()}
    return CommandLine(command=command, flags=given, overrides=overrides)


GIVEN = ("",)  # a flag without a value


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], line()),
        (["+sweep=smoke"], line("run", "+sweep=smoke")),
        (["run", "+sweep=smoke"], line("run", "+sweep=smoke")),
        (["+sweep=smoke", "plan", "--all"], line("plan", "+sweep=smoke", all=GIVEN)),
        (["--rerun-failed", "+sweep=smoke"], line("run", "+sweep=smoke", rerun_failed=GIVEN)),
        (["--rerun", "a1", "plan", "--rerun=b2"], line("plan", rerun=("a1", "b2"))),
        (["plan", "--json", "--all"], line("plan", json=GIVEN, all=GIVEN)),
        (["~sweep.grid.seed", "a=b=c", "++steps=3"], line("run", "~sweep.grid.seed", "a=b=c", "++steps=3")),
        (["predict", "+sweep=smoke", "advise"], line("predict advise", "+sweep=smoke")),
        (["cluster", "--check", "pools=gcp"], line("cluster", "pools=gcp", check=GIVEN)),
        (["cluster", "--check", "file.yaml"], line("cluster", check=("file.yaml",))),
        (["--check", "cluster"], line("cluster", check=GIVEN)),
        (["cluster", "--diff=a=b"], line("cluster", diff=("a=b",))),
    ],
)
def test_a_command_line_is_a_command_flags_and_overrides(words, expected):
    assert parse(words, list_commands(), shared=SHARED_FLAGS) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["pln"],
            r"^unknown command 'pln'; did you mean 'plan'\? known: cancel, cluster, completion bash, "
            r"completion zsh, doctor, doctor cluster, next, "
            r"pause, plan, predict, predict advise, predict calibrate, predict evaluate, predict explain, "
            r"predict split, predict transfer, prices import, prices list, prices refresh, "
            r"report, run, status, sync$",
        ),
        (["plan", "report"], r"^one command at a time: 'plan' and 'report' were given$"),
        (
            ["predict", "advice"],
            r"^unknown command 'predict advice'; did you mean 'predict advise'\? ",
        ),
        (["predict", "plan"], r"^unknown command 'predict plan'; "),
        (
            ["--all"],
            r"^unknown flag of 'run': '--all'; did you mean '--full'\? known: --full, --json, --plain, ",
        ),
        (
            ["-x"],
            r"^unknown flag of 'run': '-x'; known: --full, --json, --plain, --quiet, --rerun, ",
        ),
        (["plan", "--all=yes"], r"^unknown flag of 'plan': '--all=yes'; did you mean '--all'\? "),
        (["report", "--rerun", "a1"], r"^unknown flag of 'report': '--rerun'; known: --full, --json$"),
        (["--rerun"], r"^--rerun needs a value: --rerun TRIAL_ID \(run one trial again; plan --all lists"),
        (["--rerun", "seed=1"], r"^--rerun needs a value: --rerun TRIAL_ID "),
        (["cluster", "--diff", "--check"], r"^--diff needs a value: --diff FILE "),
        (
            ["plan", "--jsn"],
            r"^unknown flag of 'plan': '--jsn'; did you mean '--json'\? "
            r"known: --all, --json, --rerun, --rerun-failed$",
        ),
    ],
)
def test_an_unknown_word_is_refused_with_the_possible_ones(words, message):
    with pytest.raises(ConfigError, match=message):
        parse(words, list_commands(), shared=SHARED_FLAGS)
    assert issubclass(UnknownNameError, ConfigError)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run",), "no sweep is named; add +sweep=NAME with one of: finetune_devices, "),
        (("plan", "+sweep=smok"), "unknown sweep 'smok'; did you mean 'smoke'?"),
        (("--silent", "+sweep=smoke"), "unknown flag of 'run': '--silent'"),
        (("plan", "+sweep=smoke", "batch_size=64"), "did you mean 'global_batch_size'?"),
        (
            ("report", "+sweep=single", "workload=mine"),
            "your own: workload_path=FOLDER workload=NAME, as docs/",
        ),
        (
            ("predict", "workload=causal_lm", "workload.model='~nobody_x/m'", "device=h100"),
            "workload.model=~nobody_x/m is no folder",
        ),
    ],
)
def test_a_mistake_is_one_line_on_standard_error_and_exit_code_2(
    words, said, working_directory, monkeypatch, capsys
):
    monkeypatch.setenv("HOME", str(working_directory))  # where the usual cache of real data is
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    assert main(words) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("error: ")
    assert said in told


def test_a_cache_that_cannot_be_written_is_shown_with_the_variable_that_moves_it(
    working_directory, monkeypatch, capsys
):
    (working_directory / "file").touch()
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "file" / "cache"))
    assert main(NOOP) == 2
    assert capsys.readouterr().err.rstrip().endswith("set ORCHESTRATOR_CACHE")


def test_an_unknown_option_of_hydra_s_words_is_one_line(capsys):
    assert main(["--cfg", "jobb", "+sweep=smoke"]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("error: ")


def test_hydras_word_for_many_values_is_left_out(working_directory, monkeypatch, capsys):
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    assert main(["-m", "plan", "--json", *NOOP, "seed=1,2", "--multirun"]) == 0
    assert len(json.loads(capsys.readouterr().out)["placements"]) == 2


@pytest.mark.parametrize(
    ("columns", "width"), [("80", 80), ("200", 200), ("", 160), ("0", 160), ("wide", 160), ("-1", 160)]
)
def test_a_pipe_has_the_width_of_columns(columns, width):
    assert choose_pipe_width(columns) == width


def test_the_version_is_our_own(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"orchestrator {metadata.version('orchestrator')}\n"


def test_a_trial_that_has_no_record_is_shown_and_exit_code_1(working_directory, monkeypatch, capsys):
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    assert main(["report", *NOOP]) == 1
    assert "0 trials measured, 1 not run yet" in (capsys.readouterr().out)


@pytest.mark.parametrize("source", ["real", "auto"])
def test_a_plan_shows_what_a_run_would_download(source, working_directory, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(working_directory))  # where the usual caches of real data are
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    monkeypatch.delenv("ORCHESTRATOR_DATA", raising=False)
    assert main(["plan", *NOOP, f"data.source={source}"]) == 0
    *_, totals, expected, last = capsys.readouterr().out.splitlines()
    assert expected.startswith("time and cost: 1 trial of unknown time")
    assert totals.startswith("to run: 1 to measure")
    assert last == ("run would first try to download: MNIST, 60,000 digits to train on and 10,000 to test")


@pytest.mark.more
def test_a_trial_that_failed_by_its_own_doing_is_run_again_only_when_that_is_asked_for(
    working_directory, monkeypatch, capsys
):
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    diverges = (*NOOP, "trainer.fault=nan")
    ledger = working_directory / "outputs" / "smoke" / "records.jsonl"
    told = []
    for flags in ((), (), ("--rerun-failed",)):
        assert main([*flags, *diverges]) == 1
        told.append(capsys.readouterr().out)
    attempts = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [attempt["failure"]["kind"] for attempt in attempts] == ["diverged", "diverged"]
    assert "to run: 0 to measure, 0 to rehearse; 0 cached, 1 failed before" in told[1]
    assert "failed: diverged: the loss is nan" in told[1]
    assert main(["--rerun", attempts[0]["trial_id"], *diverges]) == 1
    assert len(ledger.read_text().splitlines()) == 3


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_a_sweep_that_does_not_run_cannot_be_stopped(verb, capsys):
    assert main([verb, *NOOP]) == 2
    assert capsys.readouterr().err == (
        f"error: sweep 'smoke' is not being run here; there is nothing to {verb}\n"
    )


@pytest.mark.more
def test_each_trial_has_its_life_in_the_journal(working_directory, monkeypatch):
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    assert main([*NOOP, "trainer.fault=none,nan", "sweep.shuffle_seed=null"]) == 1
    lines = (working_directory / "outputs" / "smoke" / "journal.jsonl").read_text().splitlines()
    stages = [json.loads(line)["stage"] for line in lines]
    assert stages == ["queued"] * 2 + ["starting", "running", "finished"] + ["starting", "running", "failed"]


def test_plan_with_json_prints_only_json(working_directory, monkeypatch, capsys):
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(working_directory / "cache"))
    assert main(["plan", "--json", *NOOP]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["sweep"] == "smoke"
    assert [line.partition(":")[0] for line in err.splitlines()] == ["data"]


def test_a_notebook_may_name_one_trial_to_run_again_alone():
    with pytest.raises(ConfigError, match=r"^--rerun 00000000deadbeef: sweep 'smoke' has no such trial"):
        api.plan("+sweep=smoke", "trainer=noop", "data=synthetic", rerun="00000000deadbeef")


def test_an_interpreter_without_the_packages_is_one_line_with_what_to_type():
    command = [sys.executable, "-S", "-m", "orchestrator", "--help"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"error: {sys.executable} has no package '")
    assert "source .venv/bin/activate" in line
