"""The words of a script's command, and what is refused before anything starts."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from workloads.registry import workload
from workloads.script.command import (
    EXAMPLES,
    OBSERVER,
    compute_version,
    find_observed_words,
    format_words,
    list_arguments,
    name_command,
    version_with,
)
from workloads.spec import ScriptSpec

VALUES = {name: name.upper() for name in EXAMPLES}


def test_a_command_is_split_as_a_shell_does_and_filled_in() -> None:
    words = format_words("python train.py --name 'a b' --size={batch_size_per_worker} {{x}}", VALUES)
    assert words == ["python", "train.py", "--name", "a b", "--size=BATCH_SIZE_PER_WORKER", "{x}"]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "script.command is missing"),
        ("python 'train.py", "cannot be split into words: No closing quotation"),
        ("python train.py {batch}", "unknown placeholder {batch}; known: {batch_size_per_worker}"),
        ("python train.py {0}", "unknown placeholder {0}"),
        ("python train.py '{\"lr\": 0.1}'", "; a brace itself is {{ or }}"),
        (
            "FOO=1 python train.py",
            "begins with FOO=1, which a shell would set, and none is started; write: env",
        ),
        (
            "cd sub && python train.py",
            "has 'cd', which needs a shell, and none is started; write: bash -c '…'",
        ),
        ("python train.py > log", "has '>', which needs a shell"),
        ("python train.py 2>&1", "has '2>&1', which needs a shell"),
        ("python train.py | tee log", "has '|', which needs a shell"),
        ("python a.py; python b.py", "has 'a.py;', which needs a shell"),
        ("python train.py {", "a brace itself is {{ or }}"),
        ("python train.py {seed:04d}", "'{seed:04d}', which cannot be filled in: Unknown format code 'd'"),
        ("python train.py {seed:{x}}", "which cannot be filled in: 'x'"),
    ],
)
def test_a_command_that_cannot_be_read_is_refused(command: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"script\.command") as refused:
        format_words(command, VALUES)
    assert reason in str(refused.value)


def test_a_script_is_named_by_its_file_and_the_arguments_of_all_its_trials() -> None:
    command = "python train.py --batch-size {batch_size_per_worker} --epochs 10 --lr=0.1 --seed {seed}"
    first = name_command({"command": command, "folder": "here"})
    assert re.fullmatch("train-[0-9a-f]{6}", first)
    assert first != name_command({"command": command, "folder": "there"})
    assert list_arguments(command) == "--epochs 10 --lr=0.1"
    assert len(list_arguments(f"python train.py {'x' * 100}")) == 61


@pytest.mark.parametrize(
    "command",
    [
        "python train.py '>' log",
        "bash -c 'cd sub && FOO=1 python train.py > log'",
        "env FOO=1 python train.py",
    ],
)
def test_what_a_quote_or_another_program_holds_needs_no_shell(command: str) -> None:
    assert len(format_words(command, VALUES)) in (3, 4)


def test_an_escaped_quote_is_no_mistake() -> None:
    assert format_words(r"python -c it\'s", VALUES) == ["python", "-c", "it's"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"command": "python there.py"}, "names there.py, which is not in"),
        ({"command": "python train.py", "folder": "/nowhere"}, "script.folder=/nowhere is not a folder"),
        ({"command": "python train.py", "python": "/nowhere/python"}, "script.python=/nowhere/python"),
        ({"command": "no_such_program train.py"}, "begins with 'no_such_program', which is no executable on"),
        ({"command": "./train.py"}, "begins with './train.py', which is no executable in"),
        ({"command": "python train.py", "steps_total": -1}, "script.steps_total=-1 must not be negative"),
        ({"command": "python train.py", "samples_total": -1}, "script.samples_total=-1 must not be negative"),
        ({"command": "python train.py", "steps_total": 1, "samples_total": 9}, "leave one out"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, object], reason: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    with pytest.raises(ValueError) as refused:  # noqa: PT011  the reason is looked at
        workload("script", {"folder": str(tmp_path), **options})
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        "python train_{precision}.py --seed={seed:04d}",
        "python -m train --config=there/other.py",
        f"python -c '{300 * 'x'}'",
    ],
)
def test_words_that_name_no_script_are_not_looked_for(command: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    assert workload("script", {"command": command, "folder": str(tmp_path)}).name == "script"


def test_a_relative_interpreter_is_that_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("train.py", "python"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    spec = workload("script", {"command": "python train.py", "folder": ".", "python": "python"})
    assert isinstance(spec, ScriptSpec)
    assert spec.python == str(tmp_path / "python")


@pytest.mark.parametrize("command", ["python train.py", "bash -c 'cd . && python train.py --seed {seed}'"])
def test_a_changed_script_is_another_version(command: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("one")
    options = {"command": command, "folder": str(tmp_path)}
    first = workload("script", options)
    script.write_text("two")
    second = workload("script", options)
    assert first.version != second.version
    assert isinstance(second, ScriptSpec)
    assert second.data == f"own:script:{second.version:x}"


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("python train.py --config=c.yaml", "c.yaml"),
        ("python train.py --config c.yaml", "c.yaml"),
        ("python train.py config=c.yaml", "c.yaml"),
        ("python train.py @c.yaml", "c.yaml"),
        ("bash run.sh", "train.py"),
        ("bash -c 'python train.py --epochs 1 '", "train.py"),
        ("env A=1 bash -ec 'true && python train.py'", "train.py"),
        ("./run.sh", "c.yaml"),
        ("bash run.sh", "tool/go.py"),
    ],
)
def test_a_changed_file_that_a_command_or_its_shell_script_names_is_another_version(
    command: str, changed: str, tmp_path: Path
) -> None:
    (tmp_path / "tool").mkdir()
    for name in ("train.py", "c.yaml", "tool/go.py"):
        (tmp_path / name).write_text("one")
    (tmp_path / "run.sh").write_text("# it's a comment\npython train.py --config=c.yaml; python -m tool.go\n")
    first = compute_version(shlex.split(command), tmp_path)
    (tmp_path / changed).write_text("two")
    assert compute_version(shlex.split(command), tmp_path) != first


@pytest.mark.parametrize("position", [0, 2**26 + 4095])
def test_another_byte_at_either_end_of_a_large_file_is_another_version(position: int, tmp_path: Path) -> None:
    data = tmp_path / "data.bin"
    with data.open("wb") as file:
        file.truncate(2**26 + 4096)
    first = compute_version(["train.py", "--data=data.bin"], tmp_path)
    with data.open("r+b") as file:
        file.seek(position)
        file.write(b"x")
    assert compute_version(["train.py", "--data=data.bin"], tmp_path) != first


def test_a_file_that_a_placeholder_names_changes_the_trials_of_its_value_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    for precision in ("fp32", "bf16"):
        (tmp_path / f"{precision}.yaml").write_text("one")

    def versions() -> list[int]:
        command = "python train.py --batch {global_batch_size} --config={precision}.yaml"
        return [
            version_with(3, command, tmp_path, {**EXAMPLES, "precision": precision})
            for precision in ("fp32", "bf16", "fp16")
        ]

    fp32, bf16, fp16 = versions()
    (tmp_path / "bf16.yaml").write_text("two")
    assert versions()[0] == fp32
    assert versions()[1] != bf16
    assert versions()[2] == fp16 == 3


def test_words_that_name_no_file_do_not_change_the_version(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("one")
    assert compute_version(["python", "train.py", "1"], tmp_path) == compute_version(
        ["train.py", "2"], tmp_path
    )


@pytest.mark.parametrize(
    ("code", "reports"), [("from orchestrator_callback import steps", True), ("", False)]
)
def test_a_script_with_files_that_name_the_callback_reports_steps(
    code: str, reports: bool, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(code)
    spec = workload("script", {"command": "python train.py", "folder": str(tmp_path)})
    assert isinstance(spec, ScriptSpec)
    assert spec.reports == reports


@pytest.mark.parametrize(
    ("words", "observed"),
    [
        (["python", "train.py", "-m", "1"], ["python", "-m", OBSERVER, "train.py", "-m", "1"]),
        (["env", "A=1", "python3.11", "-u", "-X", "dev", "-m", "pack.train"], 6),
        (["{folder}/tool", "train"], ["/usr/bin/python3", "-m", OBSERVER, "{folder}/tool", "train"]),
    ],
)
def test_an_observed_command_runs_the_observer(words: list[str], observed: Any, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/usr/bin/python3\n")
    tool.chmod(0o755)
    words = [word.replace("{folder}", str(tmp_path)) for word in words]
    if isinstance(observed, int):
        observed = [*words[:observed], "-m", OBSERVER, *words[observed:]]
    expected = [word.replace("{folder}", str(tmp_path)) for word in observed]
    assert find_observed_words(words, "") == expected


@pytest.mark.parametrize("command", ["bash run.sh", "python -c 1", "python", "python -u -X dev"])
def test_a_command_that_cannot_be_observed_is_refused(command: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"script\.observe=true"):
        workload("script", {"command": command, "folder": str(tmp_path), "observe": True})


def test_a_script_that_is_observed_reports_steps_and_has_no_callback(tmp_path: Path) -> None:
    options = {"command": "python train.py", "folder": str(tmp_path), "observe": True}
    (tmp_path / "train.py").write_text("")
    spec = workload("script", options)
    assert isinstance(spec, ScriptSpec)
    assert (spec.is_observed, spec.reports) == (True, True)
    (tmp_path / "train.py").write_text("import orchestrator_callback")
    with pytest.raises(ValueError, match="without orchestrator_callback"):
        workload("script", options)
