"""Budgets on a command line: what is left out, what is asked, and what is refused."""

import io
import signal

import pytest
from cli_process import NOOP
from rich.console import Console

from orchestrator import cli
from orchestrator.cli import main
from orchestrator.commands.sweep_commands import confirm
from orchestrator.terminal.screen import Screen

RENTED = (*NOOP, "prices.this_host=n2-standard-8", "budget.confirm_usd=0")
ASKED = (
    "1 trial likely costs $0.2137 for 0.5500 node-hours (up to its deadlines: nothing like it was "
    "measured), above budget.confirm_usd=0"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, tmp_path_factory, monkeypatch):
    """An empty working directory; signals are put back to what they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    on_sigterm = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, on_sigterm)


@pytest.fixture
def terminal(monkeypatch):
    """Terminal whose user types the given answer."""

    class Keyboard(io.StringIO):
        def isatty(self):
            return True

    def somebody(typed):
        shown = io.StringIO()
        monkeypatch.setattr(cli, "console", Console(file=shown, force_terminal=True, width=200))
        monkeypatch.setattr("sys.stdin", Keyboard(typed))
        return shown

    return somebody


def told(capsys):
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.more_except("-1.0", "hours")
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("budget.usd=-1", "budget.usd=-1.0 must be 0 or more and finite, or null for no cap"),
        ("budget.hours=nan", "budget.hours=nan must be 0 or more and finite, or null for no cap"),
        ("budget.usd_per_trial=inf", "budget.usd_per_trial=inf must be 0 or more and finite"),
        ("budget.usd=much", "budget.usd='much' must be a number"),
        ("budget.usdd=5", "unknown key 'budget.usdd'; did you mean 'budget.usd'?"),
        ("budget=5", "unknown budget '5'; "),
    ],
)
def test_a_budget_that_is_wrong_is_one_line_and_exit_code_2(word, said, capsys):
    assert main([*NOOP, word]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {said}")


@pytest.mark.more
def test_what_does_not_fit_is_left_out_and_a_larger_budget_runs_it(capsys):
    """The deadlines of a trial are 0.55 h; the first one takes more than the 0.04 s that are left."""
    two, small = (*NOOP, "seed=1,2"), "budget.hours=0.55001"
    left_out = (
        "1 trial left out, the cheapest of which likely costs $0.2137 for 0.5500 node-hours (up to its "
        "deadlines: nothing like it was measured); the same command with a larger budget.hours runs the rest"
    )
    assert main(["plan", *two, small]) == 0
    planned = told(capsys)
    assert "budget: $0 and 0 of 0.55001 node-hours spent; 1 trial likely costs $0.2137 for" in planned
    assert left_out in planned
    assert main([*two, small]) == 1
    first = told(capsys)
    assert "to run: 2 to measure" in first
    assert "1 trial measured, 1 not run yet" in first
    assert "(hypothetical) and" in first
    assert left_out in first
    assert main([*two, "budget.hours=2"]) == 0
    second = told(capsys)
    assert "to run: 1 to measure, 0 to rehearse; 1 cached" in second
    assert "of 2 node-hours spent, none left out" in second


def test_a_plan_without_caps_has_no_line_of_a_budget(capsys):
    assert main(["plan", *NOOP]) == 0
    assert "budget" not in told(capsys)


def test_an_expensive_plan_is_refused_without_a_terminal_and_shows_how_to_agree(folder, capsys):
    assert main(RENTED) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line == f"error: {ASKED}; add --yes to run it, or set budget.confirm_usd=null"
    assert not (folder / "outputs").exists()
    assert main(["plan", *RENTED]) == 0
    assert f"run would ask first: {ASKED}" in told(capsys)
    assert main(["--yes", *RENTED]) == 0


def test_an_answer_of_no_starts_no_trial(terminal, folder, capsys):
    shown = terminal("n\n")
    assert main(RENTED) == 2
    assert ASKED in " ".join(shown.getvalue().split())
    assert shown.getvalue().endswith("Run it? [y/N] ")
    assert capsys.readouterr().err == "error: not confirmed, so nothing was started\n"
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize(
    ("typed", "agrees"), [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_a_yes_is_a_yes(typed, agrees, terminal):
    terminal(typed)
    assert confirm(Screen(cli.console), "it costs much") is agrees


def test_a_hypothetical_price_needs_no_confirmation(capsys):
    assert main(["plan", *NOOP, "budget.confirm_usd=0"]) == 0
    assert "ask first" not in told(capsys)


@pytest.mark.more
def test_a_plan_without_caps_shows_time_and_cost_of_a_measured_setting(capsys):
    words = (*NOOP, "sweep.repeats=1")
    assert main(["plan", *words]) == 0
    assert "time and cost: 1 trial of unknown time" in told(capsys)
    assert main(["run", *words, "executor=inline", "tracking=none"]) == 0
    assert "time and cost: 1 trial of unknown time" in told(capsys)  # told before it starts
    assert main(["plan", *NOOP, "sweep.repeats=2"]) == 0
    seen = told(capsys)
    assert "time and cost: about " in seen
    assert "one trial after the other: 1 trial " in seen
    assert " s as trials of the same setting took" in seen
