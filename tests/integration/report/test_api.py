"""`orchestrator.api` in a real Jupyter kernel: values, plain lines, one-line errors, and interruption."""

import pytest
from cli_process import NOOP, records_in
from jupyter_kernel import kernel_in
from process_tracking import family

WORDS = ", ".join(repr(word) for word in NOOP if not word.startswith("executor="))


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A kernel with the names of the interface, and its folder; nothing that it started is left."""
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch, family(patch) as started, kernel_in(folder) as kernel:
        kernel.run("from orchestrator.api import plan, report, run")
        yield kernel, folder, started


@pytest.mark.more
def test_a_plan_is_a_value_and_starts_no_trial(notebook):
    kernel, folder, _ = notebook
    shown = kernel.run(f"planned = plan({WORDS}); planned")
    totals, expected = shown.splitlines()
    assert totals == "to run: 1 to measure, 0 to rehearse; 0 cached, 0 skipped"
    assert expected.startswith("time and cost: 1 trial of unknown time")
    assert kernel.run("planned.points[['state', 'trainer', 'num_workers']].values.tolist()") == (
        "[['measure', 'noop', 1]]"
    )
    assert not (folder / "outputs").exists()


@pytest.mark.more
@pytest.mark.parametrize(("num_repeats", "executor"), [(1, "inline"), (2, "ray"), (3, "ray")])
def test_sweeps_run_in_sequence_in_one_process_and_print_plain_lines(notebook, num_repeats, executor):
    kernel, folder, _ = notebook
    words = f"{WORDS}, 'executor={executor}', 'sweep.repeats={num_repeats}'"
    kernel.said = ""
    shown = kernel.run(f"found = run({words}); found")
    assert shown.splitlines()[-1] == "report: outputs/smoke/report.html"
    lines = [line for line in kernel.said.splitlines() if not line.startswith("busy host: ")]
    records, data, expected, totals, *ended = lines
    assert records == "records: outputs/smoke/records.jsonl"
    assert data.startswith("data: synthetic")
    known = "1 trial of unknown time" if num_repeats == 1 else "about "
    assert expected.startswith(f"time and cost: {known}")
    assert totals == f"to run: 1 to measure, 0 to rehearse; {num_repeats - 1} cached, 0 skipped"
    assert [item[:30] for item in ended] == ["measured   mnist_cnn cpu noop "]
    assert kernel.run("len(found.results), found.is_complete") == f"({num_repeats}, True)"
    assert len(records_in(folder)) == num_repeats


@pytest.mark.more  # of the sweeps above
def test_a_report_is_made_of_the_records(notebook):
    kernel, *_ = notebook
    kernel.run(f"told = report({WORDS})")
    # all repeats that the ledger has count, of a command that asks for one too
    assert kernel.run("list(told.results['repeat'])") == "[0, 1, 2]"
    assert kernel.run("told.page.stat().st_size > 50_000") == "True"
    assert "<caption>Measured</caption>" in kernel.run("told._repr_html_()")


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("run('+sweep=smok')", "UnknownNameError: unknown sweep 'smok'; did you mean 'smoke'?"),
        (
            "plan('+sweep=smoke', '--all')",
            "ConfigError: '--all' is not KEY=VALUE; commands and flags are for",
        ),
        ("report('report', '+sweep=smoke')", "ConfigError: 'report' is not KEY=VALUE"),
    ],
)
def test_a_mistake_is_one_line_and_no_traceback(notebook, call, line):
    kernel, _, _ = notebook
    shown = kernel.run(call)
    assert shown.startswith(line)
    assert len(shown.splitlines()) == 1


@pytest.mark.more
def test_a_cluster_that_the_notebook_uses_is_left_alone(notebook):
    kernel, _, _ = notebook
    kernel.run("import ray")
    kernel.run("ray.init(address='local', num_cpus=1, include_dashboard=False, log_to_driver=False); None")
    shown = kernel.run(f"run({WORDS}, 'seed=7')")
    assert shown == (
        "PlacementError: this process is connected to a Ray cluster already; call ray.shutdown() first, "
        "or set executor=inline"
    )
    assert kernel.run("ray.is_initialized(), ray.shutdown()") == "(True, None)"


@pytest.mark.more_except("inline")
@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_an_interrupted_cell_leaves_no_process_and_the_next_one_resumes(notebook, executor):
    kernel, folder, started = notebook
    before = started.pids()
    seed = {"inline": 1, "ray": 2}[executor]
    words = f"{WORDS}, 'seed={seed}', 'executor={executor}'"
    kernel.said = ""
    hangs = "'trainer.fault=none,hang', 'checkpoint.grace_seconds=1'"
    shown = kernel.run(f"run({words}, {hangs})", interrupt_at="measured ")
    assert "KeyboardInterrupt" in shown
    told = "interrupted; finished trials are kept, and the same call runs the rest"
    assert kernel.said.splitlines()[-1] == told
    started.wait_until_gone(but=before)
    finished, *left = (record for record in records_in(folder) if record["spec"]["seed"] == seed)
    assert finished["result"] is not None
    assert [item["failure"]["kind"] for item in left] in ([], ["preempted"])  # it may not have begun
    kernel.said = ""
    kernel.run(f"run({words})")
    assert "to run: 0 to measure, 0 to rehearse; 1 cached, 0 skipped" in kernel.said
