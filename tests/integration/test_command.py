"""Answers of the command line: verbs, refusals, exit codes; with trials that compute nothing."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_process import NOOP, ask, command, environment, records_in, start, wait_for_stage

from orchestrator.cli import main


def test_a_sweep_runs_once_and_the_same_command_repeats_no_trial(tmp_path: Path) -> None:
    first = ask(*NOOP, "sweep.repeats=3", cwd=tmp_path)
    assert (first.code, first.err) == (0, "")
    ledger = tmp_path / "outputs/smoke/records.jsonl"
    kept = ledger.read_bytes()
    assert [record["result"] is not None for record in records_in(tmp_path)] == [True] * 3
    again = ask(*NOOP, "sweep.repeats=3", cwd=tmp_path)
    assert again.code == 0
    assert "3 cached" in again.out
    assert ledger.read_bytes() == kept
    wider = ask(*NOOP, "sweep.repeats=4", cwd=tmp_path)
    assert wider.code == 0
    assert len(records_in(tmp_path)) == 4


def test_a_failed_trial_is_shown_with_class_cause_and_log_and_the_exit_code_is_one(tmp_path: Path) -> None:
    told = ask(*NOOP, "trainer.fault=raise,none", cwd=tmp_path)
    assert told.code == 1
    [failed] = [record for record in records_in(tmp_path) if record["failure"]]
    assert failed["failure"]["kind"] == "error"
    assert failed["failure"]["message"] in told.out
    assert failed["log_path"] in told.out
    log = tmp_path / "outputs/smoke" / failed["log_path"] / "rank0.log"
    assert "Traceback" in log.read_text()
    repaired = ask("report", *NOOP, "trainer.fault=raise,none", cwd=tmp_path)
    assert repaired.code == 1, "a report of a failure is no success either"


@pytest.mark.more
def test_a_result_of_another_sweep_is_adopted_and_not_run_again(tmp_path: Path) -> None:
    assert ask(*NOOP, cwd=tmp_path).code == 0
    other = ask(*NOOP, "sweep.name=other", cwd=tmp_path)
    assert "1 cached" in other.out
    [adopted] = records_in(tmp_path, "other")
    assert (adopted["sweep"], adopted["reused_from"]) == ("other", "smoke")
    assert adopted["result"] == records_in(tmp_path)[0]["result"]


@pytest.mark.more
def test_plan_writes_no_file_and_imports_no_framework(tmp_path: Path) -> None:
    script = (
        "import sys; from orchestrator.cli import main\n"
        "code = main(['plan', '+sweep=tpu_vs_gpu', 'data=synthetic'])\n"
        "heavy = {'ray', 'torch', 'torch_xla', 'tensorflow', 'keras', 'mlflow'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "to run: " in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.more
def test_a_plan_is_json_for_programs_and_counts_for_people_when_it_is_long(tmp_path: Path) -> None:
    told = ask("plan", "--json", *NOOP, cwd=tmp_path)
    plan = json.loads(told.out)
    assert [len(plan[name]) for name in ("placements", "cached", "skipped")] == [1, 0, 0]
    seeds = ",".join(str(seed) for seed in range(250))
    short = ask("plan", *NOOP, f"+sweep.grid.seed=[{seeds}]", cwd=tmp_path)
    assert "250  localhost" in short.out
    assert len(short.out.splitlines()) < 20
    full = ask("plan", "--all", *NOOP, f"+sweep.grid.seed=[{seeds}]", cwd=tmp_path)
    assert full.out.count("measure  ") == 250


@pytest.mark.more
def test_an_absent_environment_skips_its_trials_with_the_line_that_gets_it(tmp_path: Path) -> None:
    told = ask(
        "plan",
        "+sweep=smoke",
        "data=synthetic",
        cwd=tmp_path,
        variables={"ORCHESTRATOR_XLA_PYTHON": "/nowhere/python"},
    )
    assert told.code == 0
    assert "no Python at /nowhere/python; get it with: in an environment .venv-xla: " in " ".join(
        told.out.split()
    )


@pytest.mark.more
def test_a_sweep_goes_on_without_what_an_absent_environment_would_have_run(tmp_path: Path) -> None:
    words = (*NOOP, "trainer=noop,torch_xla")
    told = ask(*words, cwd=tmp_path, variables={"ORCHESTRATOR_XLA_PYTHON": "/nowhere/python"})
    assert (told.code, told.err) == (0, "")
    assert "no Python at /nowhere/python; get it with: in an environment .venv-xla: " in told.out
    assert [record["spec"]["trainer"] for record in records_in(tmp_path)] == ["noop"]


@pytest.mark.more_except("command", "words2-did you mean '--all'?")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("plann", "+sweep=smoke"), "unknown command 'plann'; did you mean 'plan'?"),
        (("run", "plan", "+sweep=smoke"), "one command at a time"),
        (("plan", "--al", "+sweep=smoke"), "did you mean '--all'?"),
        (("run",), "no sweep is named"),
        (("+sweep=smok",), "unknown sweep 'smok'; did you mean 'smoke'?"),
        (("+sweep=smoke", "device=t44"), "unknown device 't44'"),
        (("+sweep=smoke", "stepps=3"), "unknown key 'stepps'; did you mean 'steps'?"),
        (("+sweep=smoke", "steps=-1"), "steps=-1 must be at least 1"),
        (("+sweep=smoke", "steps=10"), "below the"),
        (("+sweep=smoke", "global_batch_size=63", "num_workers=2"), "does not divide over 2 replicas"),
        (("+sweep=smoke", "sweep.grid.device=[]"), "has no values"),
        (("+sweep=smoke", "sweep.repeats=x"), "sweep.repeats"),
        (("+sweep=tpu_vs_gpu", "device=t4"), "sweep.baseline: device='cpu' is not a point of this sweep"),
        (("+sweep=smoke", "sweep.name=../up"), "cannot name a folder"),
        (("+sweep=smoke", "tracking.uri=ftp://x", "data=synthetic"), "ftp://"),
        (("report", "+sweep=smoke", "report.source=mlflow", "tracking=none"), "tracking=none sets none"),
        (("report", "+sweep=smoke", "report.source=mlflow"), "no MLflow database exists at"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_two(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert line in errors
    assert len(errors.strip().splitlines()) == 1
    assert not (tmp_path / "outputs").exists()


def test_yaml_that_is_none_is_shown_with_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "conf/sweep"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text("name: [unclosed\n")
    told = ask("+sweep=broken", cwd=tmp_path)
    assert told.code == 2
    assert "broken.yaml" in told.err
    assert len(told.err.strip().splitlines()) == 1


def test_a_conf_folder_in_the_working_directory_is_searched_first(tmp_path: Path) -> None:
    folder = tmp_path / "conf/sweep"
    folder.mkdir(parents=True)
    (folder / "smoke.yaml").write_text("defaults: [schema, _self_]\nname: mine\ngrid: {seed: [7]}\n")
    told = ask("plan", "--json", *(word for word in NOOP if word != "sweep.include=[]"), cwd=tmp_path)
    plan = json.loads(told.out)
    assert plan["sweep"] == "mine"
    assert [item["trial"]["seed"] for item in plan["placements"]] == [7]


def test_outputs_that_cannot_be_written_are_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("a file")
    told = ask(*NOOP, cwd=tmp_path)
    assert told.code == 2
    assert "cannot be kept in" in told.err
    assert len(told.err.strip().splitlines()) == 1


@pytest.mark.more
def test_a_second_driver_is_refused_and_an_interrupt_keeps_finished_trials(
    tmp_path: Path,
) -> None:
    words = (*NOOP, "trainer.fault=none,hang", "checkpoint.grace_seconds=1")
    driver = subprocess.Popen(
        command(*words),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_stage(tmp_path, "running", trials=2)
    second = ask(*words, cwd=tmp_path)
    assert second.code == 2
    assert f"is run by process {driver.pid}" in second.err
    driver.send_signal(signal.SIGTERM)
    _, err = driver.communicate(timeout=30)
    assert driver.returncode == 130
    assert err.strip() == "error: interrupted; finished trials are kept, and the same command runs the rest"
    assert [record["failure"] and record["failure"]["kind"] for record in records_in(tmp_path)] == [
        None,
        "preempted",
    ]


@pytest.mark.more
def test_a_second_sweep_waits_for_its_turn_on_the_host_and_gets_it_when_the_first_is_killed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = start(*NOOP, "trainer.fault=none,hang", "sweep.name=first", cwd=tmp_path)
    request.addfinalizer(first.kill)  # else every later sweep of this host waits for its turn
    assert first.stdout is not None
    assert any(line.startswith("measured") for line in first.stdout), "the first trial finishes"
    second = start(*NOOP, "seed=1", "sweep.name=second", cwd=tmp_path)
    assert second.stdout is not None
    others = ("records:", "data:", "time and", "busy host:")
    waiting = next(line for line in second.stdout if not line.startswith(others))
    assert waiting == (
        f"waiting for sweep 'first', run by process {first.pid}: "
        "on one host two sweeps would disturb each other's measurements\n"
    )
    finished = ask(*NOOP, "sweep.name=third", cwd=tmp_path)
    assert finished.code == 0, "a sweep whose trials are all done waits for nobody"
    first.kill()
    first.communicate()
    out, _ = second.communicate(timeout=60)
    assert (second.returncode, out.count("measured  ")) == (0, 1)
    assert len(records_in(tmp_path, "second")) == 1


@pytest.mark.more
def test_the_attempt_of_a_driver_that_was_killed_keeps_its_log_and_the_next_one_has_the_next_number(
    tmp_path: Path,
) -> None:
    words = (*NOOP, "trainer.fault=hang")
    with start(*words, "executor.run_seconds=600", cwd=tmp_path) as driver:
        while not list(tmp_path.glob("outputs/smoke/logs/*/rank0.log")):
            assert driver.poll() is None
            time.sleep(0.05)
        driver.kill()
    assert ask(*words, "executor.run_seconds=1", cwd=tmp_path).code == 1
    (record,) = records_in(tmp_path)
    assert record["attempt"] == 2
    logs = sorted(path.name for path in tmp_path.glob("outputs/smoke/logs/*"))
    assert logs == [f"{record['trial_id']}-{number}" for number in (1, 2)]


BLOCKER = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("ray", "mlflow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
"""


@pytest.mark.more
def test_without_ray_and_mlflow_trials_run_inline_and_untracked(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    variables = {"PYTHONPATH": str(tmp_path)}
    work = tmp_path / "work"
    work.mkdir()
    assert ask(*NOOP, cwd=work, variables=variables).code == 0
    on_ray = ask(*NOOP, "executor=ray", "seed=1", cwd=work, variables=variables)
    assert on_ray.code == 2
    assert (
        on_ray.err.strip()
        == "error: executor=ray needs the package 'ray'; install it, or set executor=inline"
    )


def test_help_lists_verbs_and_the_words_of_a_sweep(tmp_path: Path) -> None:
    told = ask("--help", cwd=tmp_path)
    assert told.code == 0
    for word in ("run ", "plan ", "report ", "sync ", "+sweep=", "sweep.repeats="):
        assert word in told.out


@pytest.mark.more
def test_a_measurement_of_another_sweep_is_adopted_though_a_rehearsal_of_it_comes_first(
    tmp_path: Path,
) -> None:
    assert ask(*NOOP, "sweep.name=measured", cwd=tmp_path).code == 0
    [measured] = records_in(tmp_path, "measured")
    rehearsal = tmp_path / "outputs/a_rehearsal/records.jsonl"
    rehearsal.parent.mkdir()
    rehearsed = {**measured, "provenance": "rehearsed", "sweep": "a_rehearsal"}
    rehearsal.write_text(json.dumps(rehearsed) + "\n")
    assert ask(*NOOP, "sweep.name=third", cwd=tmp_path).code == 0
    [adopted] = records_in(tmp_path, "third")
    assert (adopted["provenance"], adopted["reused_from"]) == ("measured", "measured")


def test_two_names_of_the_same_data_are_one_trial(tmp_path: Path) -> None:
    words = [word for word in NOOP if not word.startswith("data.")]
    both = ask("plan", "--json", *words, "data=auto,standin", cwd=tmp_path)
    ids = [item["trial_id"] for item in json.loads(both.out)["placements"]]
    assert len(ids) == len(set(ids))


def test_a_place_for_checkpoints_that_cannot_be_used_is_refused_before_anything_is_made(tmp_path):
    told = ask(*NOOP, "checkpoint.path=nothing://here", cwd=tmp_path)
    assert (told.code, told.err) == (
        2,
        "error: checkpoint.path=nothing://here/smoke cannot be used: Protocol not known: nothing\n",
    )
    assert not (tmp_path / "outputs").exists()


@pytest.mark.more
@pytest.mark.parametrize(
    ("order", "steps"), [("longest_first", [600, 300, 120]), ("cheapest_first", [120, 300, 600])]
)
def test_trials_are_started_in_the_order_that_was_asked_for(order, steps, tmp_path):
    assert ask(*NOOP, "steps=300,120,600", f"sweep.order={order}", cwd=tmp_path).code == 0
    started = sorted(records_in(tmp_path), key=lambda record: record["started_at"])
    assert [item["spec"]["steps"] for item in started] == steps
