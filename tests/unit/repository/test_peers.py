"""Figures of `benchmarks/peers.py`: what a trial costs, what a kill costs, ratios and the table."""

import json

import pytest
from peer_tools import BERT_SHELL, SHELL, Grid, Tool, Trial, tools_of
from peers import (
    Found,
    Pair,
    Resumed,
    Run,
    collect_rows,
    format_markdown,
    next_step_seconds,
    ratio_to_bare,
    resumed_of,
    seconds_per_trial,
)


def read_run(tool: str, turn: int, seconds: float, *, job: str = "noop") -> Run:
    return Run(
        tool=tool,
        job=job,
        turn=turn,
        seconds=10 * seconds,
        cpu_seconds=4 * seconds,
        trials=4,
        seconds_per_trial=seconds,
        first_step_seconds=3.0,
        next_step_seconds=0.5,
        load=1.0,
    )


def tool_of(name: str, *, bare: str = SHELL) -> Tool:
    return Tool(name=name, command=lambda *_: (), trials=lambda _: [], bare=bare)


def test_a_trial_costs_what_lies_between_two_ends() -> None:
    trials = [Trial(name=str(end), ended=end) for end in (104.0, 100.0, 101.0)]
    assert seconds_per_trial(trials) == 2.0


def test_the_wait_for_a_first_step_begins_with_the_end_of_the_trial_before() -> None:
    ends_and_steps = ((10.0, 9.0), (20.0, 13.0), (30.0, 21.0), (40.0, 35.0))
    trials = [Trial(name=str(end), ended=end, first_step=step) for end, step in ends_and_steps]
    assert next_step_seconds(trials) == 3.0


def test_no_wait_is_shown_where_a_tool_shows_no_first_step() -> None:
    assert next_step_seconds([Trial(name="a", ended=1.0), Trial(name="b", ended=2.0)]) is None


@pytest.mark.parametrize(
    ("before", "after", "executed", "twice", "finished"),
    [
        (["a", "b"], ["c", "d"], 2, 0, 4),
        (["a", "b"], ["a", "b", "c", "d"], 4, 2, 4),
        (["a", "b", "b"], ["b", "c"], 2, 1, 3),
        (["a", "b"], [], 0, 0, 2),
    ],
)
def test_jobs_after_a_kill_are_counted_by_their_names(before, after, executed, twice, finished) -> None:
    found = resumed_of("tool", before, after, jobs=4)
    assert (found.executed, found.executed_twice, found.finished) == (executed, twice, finished)
    assert found.finished_before == 2


def test_a_ratio_is_of_one_round_and_of_the_shell_loop_of_the_tool() -> None:
    tool = tool_of("tool")
    runs = [
        *(read_run(SHELL, 0, 1.0), read_run("tool", 0, 2.0)),
        *(read_run(SHELL, 1, 10.0), read_run("tool", 1, 40.0), read_run("other", 1, 1000.0)),
        read_run("tool", 2, 9.0),  # no shell loop in this round
    ]
    assert ratio_to_bare(runs, tool, lambda run: run.seconds_per_trial) == 3.0
    assert ratio_to_bare(runs, tool_of("tool", bare="other"), lambda run: run.seconds) == 0.04
    assert ratio_to_bare([], tool, lambda run: run.seconds) is None


def test_the_table_has_what_was_measured_and_why_the_rest_was_not() -> None:
    tools = [tool_of(SHELL), tool_of("tool"), tool_of("absent")]
    runs = [read_run(SHELL, 0, 1.0), read_run("tool", 0, 2.0), read_run("tool", 0, 5.0, job="train")]
    kill = Resumed(tool="tool", jobs=4, finished_before=2, executed=3, executed_twice=1, finished=4)
    pairs = [Pair(tool="tool", reported=reported, bare=100.0) for reported in (90.0, 100.0, 120.0)]
    bare, tool, absent = collect_rows(
        tools, runs=runs, kills=[kill], pairs=pairs, refusals={"absent": "does not import: torch"}
    )
    assert (bare["noop, s a trial"], tool["noop, s a trial"]) == ("1 (1.00)", "2 (2.00)")
    assert tool["noop, CPU s a trial"] == "2 (2.00)"
    assert tool["train, s a trial"] == ""  # no shell loop beside it
    assert tool["executed again after a kill"] == "3 of 4, 1 of 2 finished"
    assert tool["rate over the bare script"] == "1.000 [0.900, 1.200]"
    assert absent["not run"] == "does not import: torch"
    assert set(absent.values()) == {"", "absent", "does not import: torch"}
    assert format_markdown([bare, tool]).count("\n") == 3


def test_figures_are_kept_in_the_file_and_further_ones_are_added(tmp_path) -> None:
    file, tools = tmp_path / "peers.json", [tool_of(SHELL), tool_of("tool")]
    first = Found(file, tools)
    first.refuse(tools[1], "noop: exit code 1")
    first.add(read_run(SHELL, 0, 1.0))
    again = Found(file, tools)
    assert (again.runs, again.next_turn, again.refusals) == (first.runs, 1, {"tool": "noop: exit code 1"})
    again.add(Pair(tool="tool", reported=1.0, bare=2.0))
    assert again.refusals == {}
    assert "0.500 [0.500, 0.500]" in (tmp_path / "peers.csv").read_text()


def test_every_tool_is_compared_with_a_shell_loop_that_is_compared_with_itself() -> None:
    tools = tools_of("python")
    assert {tools[tool.bare].bare for tool in tools.values()} == {SHELL, BERT_SHELL}


def test_an_event_that_is_half_written_is_no_trial(tmp_path) -> None:
    event = {"trial": "64-0", "ended": 2.0, "first_step": 1.0, "rate": 0.0}
    (tmp_path / "events").write_text(json.dumps(event) + "\n" + json.dumps(event)[:-4])
    (trial,) = tools_of("python")[SHELL].trials(tmp_path)
    assert (trial.name, trial.rate) == ("64-0", None)


@pytest.mark.parametrize("name", [name for name, tool in tools_of("python").items() if "noop" in tool.jobs])
def test_the_command_of_every_tool_names_each_point_of_the_grid(name: str, tmp_path) -> None:
    tool = tools_of("python")[name]
    for job in tool.jobs:
        words = " ".join(tool.command(Grid(job=job, batch_sizes=(32, 64), num_seeds=7), tmp_path))
        assert "7" in words or "seq 0 6" in words
        assert job == "noop" or ("32" in words and "64" in words)
