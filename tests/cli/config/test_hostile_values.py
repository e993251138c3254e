"""Values that would run something or leave their folder, through the whole command: nothing of it comes."""

import pickle
from pathlib import Path

import pytest
from commands_fuzzed import BASE, planned

from orchestrator.cli import main
from orchestrator.commands.command_line import WRONG_REQUEST
from orchestrator.core.codec import from_json
from orchestrator.core.errors import RecordError
from orchestrator.core.result import TrialRecord

CODE = "import pathlib; pathlib.Path('run').touch()"


@pytest.mark.more_except("sweep._target_", "+workload")
@pytest.mark.parametrize(
    "words",
    [
        ("sweep._target_=builtins.exec",),
        ("+workload._target_=builtins.exec",),
        ("+sweep.grid._target_=builtins.exec",),
        ("+hydra.callbacks.evil._target_=builtins.exec",),
        ("hydra/launcher=evil",),
        ("sweep.common={_target_:builtins.exec,_args_:[x]}",),
        ("workload.filters=${eval:1}",),
        ("sweep.name=${oc.create:{_target_:builtins.exec}}",),
    ],
    ids=lambda words: words[0],
)
def test_no_word_runs_anything(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert planned([*BASE, *words], folder=tmp_path) == WRONG_REQUEST


@pytest.mark.more_except("apply", "name")
@pytest.mark.parametrize(
    "text",
    [
        f"name: !!python/object/apply:builtins.exec [{CODE!r}]\n",
        "name: !!python/name:builtins.exec\n",
        f"_target_: builtins.exec\n_args_: [{CODE!r}]\nname: nasty\n",
        f"name: nasty\ncommon: {{_target_: builtins.exec, _args_: [{CODE!r}]}}\n",
    ],
    ids=["apply", "name", "target", "nested"],
)
def test_no_config_file_runs_anything(tmp_path: Path, text: str) -> None:
    file = tmp_path / "conf/sweep/nasty.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"# @package sweep\ndefaults: [schema, _self_]\n{text}")
    assert planned(["+sweep=nasty", *BASE[1:]], folder=tmp_path) == WRONG_REQUEST
    assert not (tmp_path / "run").exists()


@pytest.mark.more_except(".-plan", ".-run")
@pytest.mark.parametrize("verb", ["plan", "run", "report", "sync"])
@pytest.mark.parametrize("name", ["../../x", "..", "/x", "a/../../x", ".x", "x\n", "x/"])
def test_no_sweep_leaves_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    here = tmp_path / "one" / "two" / "three"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    assert main([verb, *BASE, f"sweep.name='{name}'"]) == WRONG_REQUEST
    assert " cannot name a folder; " in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["one", "two", "three"]


@pytest.mark.parametrize("option", ["../sweep/smoke", "/etc/passwd", "../../x"])
def test_no_option_is_a_path(tmp_path: Path, option: str) -> None:
    for group in ("+sweep", "prices", "pools", "workload", "device"):
        assert planned([*BASE[1:], "+sweep=smoke", f"{group}={option}"], folder=tmp_path) == WRONG_REQUEST


class Evil:
    """Writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (exec, (CODE,))


def test_a_pickle_in_the_place_of_a_record_is_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordError, match=r"^not JSON: "):
        from_json(TrialRecord, pickle.dumps(Evil()))
    ledger = tmp_path / "outputs/smoke/records.jsonl"
    ledger.parent.mkdir(parents=True)
    ledger.write_bytes(pickle.dumps(Evil()))
    assert planned(BASE, folder=tmp_path) == 0  # which leaves the line out, and says so
    assert not (tmp_path / "run").exists()
