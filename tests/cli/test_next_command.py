"""`next`: what the last report proposes, run or printed."""

import json
import shlex
from pathlib import Path

import pytest

from orchestrator.cli import main
from orchestrator.commands.command_line import DONE, NO_RESULT, WRONG_REQUEST
from orchestrator.commands.stored_words import list_stored_words
from orchestrator.core.errors import UnknownNameError
from orchestrator.core.placement import Plan
from orchestrator.record.running_plan import published

HERE = ("trainer=noop", "data.source=synthetic", "executor=inline", "tracking=none", "outputs=my results")
ASKED = ("+sweep=single", *HERE, "compile=off")
NEXT = ("next", "+sweep=single-mnist_cnn", "outputs=my results")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def records_in(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "my results/single-mnist_cnn/records.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.more
def test_what_is_left_of_the_stored_plan_is_printed_and_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *ASKED]) == DONE
    assert main(["report", *ASKED, "num_workers=1,2"]) == NO_RESULT
    told = capsys.readouterr().out
    assert f"run what is left, 1 trial: {shlex.join(['python', '-m', 'orchestrator', *NEXT])}\n" in told
    assert main([*NEXT, "--print"]) == DONE
    printed = capsys.readouterr().out.splitlines()[-1]
    assert shlex.split(printed)[3:] == [*ASKED, "num_workers=1,2"]
    assert len(records_in(tmp_path)) == 1

    assert main(list(NEXT)) == DONE
    assert len(records_in(tmp_path)) == 2
    told = capsys.readouterr().out
    assert "2 trials measured" in told
    assert f"{len(records_in(tmp_path)) + 1} trials" not in told

    assert main(["report", *NEXT[1:], "--json"]) == DONE, "by the name of its folder, as `next`"
    assert json.loads(capsys.readouterr().out)["counts"]["measured"] == 2
    assert main(["status", *NEXT[1:], "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["sweep"] == "single-mnist_cnn"
    assert main(["report", "+sweep=nowhere"]) == WRONG_REQUEST
    assert "unknown sweep 'nowhere'" in capsys.readouterr().err


@pytest.mark.more
def test_a_report_without_the_cap_does_not_take_it_from_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    priced = [*ASKED, "prices.own={cpu:10}"]
    assert main(["run", *priced]) == DONE
    repeated = [*ASKED, "sweep.repeats=2"]
    assert main(["run", *repeated, "prices.own={cpu:10}", "budget.usd=1e-9"]) == NO_RESULT
    assert "next: raise budget.usd=1e-09, which leaves out 1 trial\n" in capsys.readouterr().out
    assert main(["report", *repeated]) == NO_RESULT
    capsys.readouterr()
    for words in (NEXT, (*NEXT, "--print")):
        assert main(list(words)) == WRONG_REQUEST
        assert capsys.readouterr().err.endswith("error: raise budget.usd=1e-09, which leaves out 1 trial\n")
    assert len(records_in(tmp_path)) == 1
    assert main(["report", *repeated, "budget.usd=1000"]) == NO_RESULT
    assert main([*NEXT, "--print"]) == DONE
    printed = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert printed[-2:] == ["budget.usd=1000", "prices.own={cpu:10}"]


def test_a_sweep_that_runs_for_the_first_time_is_named_by_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my results/single-mnist_cnn"
    folder.mkdir(parents=True)
    plan = Plan(sweep=folder.name, placements=(), cached=(), skipped=(), words=tuple(ASKED))
    with pytest.raises(UnknownNameError, match="unknown sweep"):
        list_stored_words(NEXT[1:])
    with published(folder, plan):
        assert list_stored_words(NEXT[1:]) == tuple(ASKED)


@pytest.mark.more
def test_with_json_the_step_and_what_it_ran_are_one_document_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *ASKED]) == DONE
    assert main(["report", *ASKED, "num_workers=1,2"]) == NO_RESULT
    capsys.readouterr()
    assert main([*NEXT, "--print", "--json"]) == DONE
    told = json.loads(capsys.readouterr().out)
    assert told["sweep"] == "single-mnist_cnn"
    assert shlex.split(told["next_step"]["command"])[3:] == [*ASKED, "num_workers=1,2"]

    assert main([*NEXT, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["counts"]["measured"] == 2
    assert main([*NEXT, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out) == {"sweep": "single-mnist_cnn", "next_step": None}


@pytest.mark.more
def test_a_trial_that_failed_is_run_again_though_its_failure_is_remembered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fail.py").write_text("raise SystemExit(3)")
    asked = ("+sweep=single", "workload=script", "script.command=python fail.py", *HERE[2:])
    assert main(["run", *asked]) == NO_RESULT
    told = capsys.readouterr().out
    assert (
        "next: mend what made cpu, script, fp32 fail (error; the report has its log), and run it again"
        in told
    )
    (ledger,) = tmp_path.glob("my results/single-fail-*/records.jsonl")
    assert main(["run", *asked]) == NO_RESULT
    assert len(ledger.read_text().splitlines()) == 1
    assert main(["next", f"+sweep={ledger.parent.name}", "outputs=my results"]) == NO_RESULT
    assert len(ledger.read_text().splitlines()) == 2


@pytest.mark.more
def test_further_repeats_of_a_point_count_in_the_report_of_the_stored_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", *ASKED, "sweep.repeats=3"]) == DONE
    capsys.readouterr()
    assert main(["report", *ASKED]) == DONE
    assert "3 trials measured" in capsys.readouterr().out


def test_a_settled_sweep_has_no_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *ASKED]) == DONE
    capsys.readouterr()
    code = main(list(NEXT))
    assert (code, capsys.readouterr().out.splitlines()[-1]) == (
        DONE,
        "single-mnist_cnn: no measurement is known to help; `report` has the answer",
    )


def test_without_a_stored_plan_it_shows_it_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", *ASKED]) == WRONG_REQUEST
    told = capsys.readouterr().err
    assert told == "error: no plan is stored in my results/single-mnist_cnn; run the sweep first\n"
    assert main(["next", "+sweep=unheard_of"]) == WRONG_REQUEST
    assert "unknown sweep 'unheard_of'" in capsys.readouterr().err


def test_too_few_steps_are_refused_with_the_command_that_has_enough(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", *ASKED, "steps=50"]) == WRONG_REQUEST
    told = capsys.readouterr().err
    assert told.startswith(
        "error: steps=50 is below the 64 that the measurement protocol needs; this has enough: "
    )
    words = shlex.split(told.partition("enough: ")[2])[3:]
    assert words == [*ASKED, "steps=64"]
    assert main(["plan", *words]) == DONE


@pytest.mark.more
def test_a_step_on_a_device_that_is_not_here_is_refused_with_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("+sweep=single", "trainer=torch_ddp", "device=t4", *HERE[1:], "compile=off", "steps=64")
    assert main(["run", *asked]) == DONE  # a rehearsal
    told = capsys.readouterr().out
    assert "next: rent " in told
    assert "python -m orchestrator next +sweep=" in told
    assert main(list(NEXT)) == WRONG_REQUEST
    told = capsys.readouterr()
    assert (
        told.err == "error: the device of the next measurement is not here: rent it, then type that there\n"
    )
    command = shlex.split(told.out.splitlines()[-1].partition("run: ")[2])
    assert command[:4] == ["python", "-m", "orchestrator", "+sweep=single"]
    assert "device=t4" in command
    assert main(["plan", *command[3:]]) == DONE
