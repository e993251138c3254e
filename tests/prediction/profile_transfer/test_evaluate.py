"""The command `predict evaluate`: what it prints of a small world, for people and for programs."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest
from latency_builders import FAST, SLOW, both_ways, published_frame
from repository import ROOT

from orchestrator.cli import main
from orchestrator.extensions.profile_transfer.evaluation.evaluate import evaluate
from orchestrator.extensions.profile_transfer.evaluation.held_out import SPLITS
from orchestrator.extensions.profile_transfer.evaluation.tables import (
    build_tables,
    convert_to_plain,
    format_sentences,
)

MEMBERS = {
    "orchestrator": ("trees", "composition", "process"),
    "profet": ("linear", "forest", "network"),
}
METHODS = [
    *(name for method, each in MEMBERS.items() for name in (method, *(f"{method}_{part}" for part in each))),
    "ratio",
    "log_quadratic",
]
ROWS = 2 * 6 * 2 * 2  # repeats x models x batches x sizes


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def found(tmp_path_factory, told):
    return evaluate(both_ways(tmp_path_factory.mktemp("world")), on_progress=told.append)


@pytest.mark.more
def test_every_method_is_judged_under_both_splits(found, told):
    plain = convert_to_plain(found)
    assert list(plain) == METHODS
    assert all(tuple(item) == SPLITS for item in plain.values())
    assert {item["n"] for method in plain.values() for item in method.values()} == {2 * ROWS}
    assert [line.partition(";")[0] for line in told] == [
        f"1 of 2: {SLOW} -> {FAST}, 48 measurements",
        f"2 of 2: {FAST} -> {SLOW}, 48 measurements",
    ]


def test_the_json_figures_are_given_per_model_pair_and_quartile_too(found):
    for splits in convert_to_plain(found).values():
        for whole in splits.values():
            assert list(whole["pairs"]) == [f"{SLOW} -> {FAST}", f"{FAST} -> {SLOW}"]
            assert list(whole["quartiles"]) == ["1", "2", "3", "4"]
            assert len(whole["models"]) == 6
            for kind in ("models", "pairs", "quartiles"):
                parts = whole[kind].values()
                assert sum(part["n"] for part in parts) == whole["n"]
                for figure in ("mape_percent", "coverage_90"):
                    mean = sum(part["n"] * part[figure] for part in parts) / whole["n"]
                    assert mean == pytest.approx(whole[figure])
                widths = [part["median_width"] for part in parts]
                assert min(widths) <= whole["median_width"] <= max(widths)
                assert min(widths) > 0


def test_a_world_of_sums_is_predicted_well_by_who_takes_steps_apart(found):
    errors = {
        method: each["leave_one_model_out"]["mape_percent"]
        for method, each in convert_to_plain(found).items()
    }
    assert errors["orchestrator"] < 10 < errors["ratio"]
    assert errors["orchestrator_composition"] < errors["log_quadratic"]


def test_the_tables_have_a_row_for_each_method_pair_and_family(found):
    scores, _, pairs, _, families, _ = build_tables(found)
    assert [row[0] for row in scores.rows] == METHODS
    assert {len(row) for row in scores.rows} == {len(scores.columns)}
    assert [row[0] for row in pairs.rows] == [f"{SLOW} -> {FAST}", f"{FAST} -> {SLOW}"]
    assert [row[0] for row in families.rows] == ["alexnet", "resnet", "toy", "vgg"]
    assert [column.header for column in pairs.columns[1:]] == [
        "orchestrator",
        "profet",
        "ratio",
        "log_quadratic",
    ]


def test_both_errors_and_the_hold_of_our_intervals_are_said_of_each_split(found):
    models, families = format_sentences(found)
    assert re.fullmatch(
        r"New models: orchestrator is [\d.]+% off on average, PROFET [\d.]+%, "
        r"-?[\d.]+ to [\d.]+ points more; \d+% of orchestrator's 90% intervals hold the measurement\.",
        models,
    )
    assert families.startswith("New families: orchestrator is ")


def test_no_sentence_has_more_than_25_words(found):
    notes = [table.note for table in build_tables(found)]
    for sentence in re.split(r"[.;:] ", " ".join([*format_sentences(found), *notes])):
        assert len(sentence.split()) <= 25


def test_two_devices_have_no_rank(found):
    (row,) = [row for row in build_tables(found)[0].rows if row[0] == "profet"]
    assert row[7:9] == ("\N{EN DASH}", "\N{EN DASH}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "evaluate"], "predict evaluate needs data=PATH and takes no other override"),
        (
            ["predict", "evaluate", "data=x", "--all"],
            "unknown flag of 'predict evaluate': '--all'",
        ),
        (["predict", "evaluate", "folder=x"], "predict evaluate needs data=PATH and takes no other override"),
        (["predict", "evaluate", "data=nowhere"], "data='nowhere' is neither a file nor a folder"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_2(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


@pytest.fixture
def every_core():
    """Lift the limit of this test process to one core: on one core the command starts no process."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count()))
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.slow_cases("9")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.usefixtures("every_core")
@pytest.mark.more
def test_its_processes_end_with_a_killed_command(tmp_path, number):
    both_ways(tmp_path)
    command = subprocess.Popen(
        [sys.executable, "-m", "orchestrator", "predict", "evaluate", f"data={tmp_path}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with command:
        until = time.monotonic() + 60
        while len(workers := psutil.Process(command.pid).children(recursive=True)) < 2:
            assert command.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        command.send_signal(number)
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


def test_intervals_without_an_end_are_null_for_programs(tmp_path, capsys):
    """Fit on one model, which leaves nothing to hold out for an interval."""
    table = published_frame(FAST)
    names = sorted(table["model"].unique())[:2]
    table[table["model"].isin(names)].to_csv(tmp_path / "anchor.csv", index=False)

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    assert main(["predict", "evaluate", f"data={tmp_path}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["orchestrator"]["leave_one_model_out"]["median_width"] is None


def test_the_answer_for_programs_is_json_alone_and_needs_no_ray_and_no_framework(tmp_path):
    folder = tmp_path / "world"
    folder.mkdir()
    both_ways(folder)
    (folder / f"anchor_{FAST}.csv").unlink()
    code = (
        "import sys; from orchestrator.cli import main; code = main(sys.argv[1:]); "
        "sys.exit(code or bool({'ray', 'torch', 'tensorflow', 'torch_xla', 'keras'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "predict", "evaluate", f"data={folder}", "--json"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert list(json.loads(ran.stdout)) == METHODS
    assert ran.stderr == "", "progress is for terminals"
