"""Hydra's own words: the composed config, and the places of config files, with a user's folder of them."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

import hydra.version
import pytest
from cli_process import NOOP, Answer, ask
from repository import ROOT

from orchestrator.config.hydra_cli import show_config
from orchestrator.core.errors import ConfigError

Asked = Callable[..., Answer]
OWN = NOOP[1:]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A working directory, and in `mine` a sweep, a device and a primary file."""
    folder = tmp_path / "mine"
    for group, shipped, name in (("sweep", "smoke", "own_sweep"), ("device", "t4", "own_gpu")):
        text = (
            (ROOT / "conf" / group / f"{shipped}.yaml")
            .read_text()
            .replace(f"name: {shipped}", f"name: {name}")
        )
        (folder / group).mkdir(parents=True)
        (folder / group / f"{name}.yaml").write_text(text)
    (folder / "primary.yaml").write_text(
        "defaults:\n  - config\n  - sweep: own_sweep\n  - override precision: bf16\n  - _self_\nseed: 77\n"
    )
    return tmp_path


@pytest.fixture
def asked(own: Path) -> Asked:
    """Return what runs a command in the working directory."""

    def asked(*words: str) -> Answer:
        return ask(*words, cwd=own)

    return asked


@pytest.mark.more_except("dir mine", "dir=mine")
@pytest.mark.parametrize(
    "place",
    [
        ("--config-dir", "mine"),
        ("--config-dir=mine",),
        ("-cd", "mine"),
        ("hydra.searchpath=[mine]",),
        ("@file",),
    ],
    ids=" ".join,
)
def test_a_folder_of_config_files_adds_a_sweep_and_a_device(
    asked: Asked, own: Path, place: tuple[str, ...]
) -> None:
    words = (f"hydra.searchpath=[file://{own}/mine]",) if place == ("@file",) else place
    answer = asked("plan", *words, "+sweep=own_sweep", "device=cpu,own_gpu", *OWN)
    assert answer.code == 0, answer.err
    assert "to run: 1 to measure, 1 to rehearse" in answer.out
    assert "own_gpu" in answer.out


def test_a_package_may_hold_config_files(own: Path) -> None:
    (own / "mine/__init__.py").touch()
    words = ("plan", "hydra.searchpath=[pkg://mine]", "+sweep=own_sweep", *OWN)
    answer = ask(*words, cwd=own, variables={"PYTHONPATH": f"{ROOT}:{own}"})
    assert (answer.code, "1 to measure" in answer.out) == (0, True), answer.err


@pytest.mark.more
def test_a_primary_file_of_its_own_chooses_sweep_and_values(asked: Asked) -> None:
    answer = asked("--config-dir", "mine", "--config-name", "primary", "--cfg", "job")
    assert (answer.code, answer.err) == (0, "")
    assert "  name: own_sweep\n" in answer.out
    assert "\nseed: 77\n" in answer.out
    planned = asked("plan", "-cd", "mine", "-cn", "primary", *OWN)
    assert "to run: 1 to measure" in planned.out
    replaced = asked("plan", "-cd", "mine", "-cn", "primary", "+sweep=smoke", *OWN, "--json")
    assert '"sweep": "smoke"' in replaced.out


@pytest.mark.more
def test_a_folder_that_is_added_comes_before_the_shipped_one_and_after_ones_own(
    asked: Asked, own: Path
) -> None:
    for folder, seed in (("mine", 5), ("conf", 6)):
        (own / folder).mkdir(exist_ok=True)
        (own / folder / "other.yaml").write_text(f"defaults:\n  - config\n  - _self_\nseed: {seed}\n")
    words = ("--cfg", "job", "--config-dir", "mine", "-cn", "other", "-p", "seed")
    assert asked(*words).out == "6\n"
    (own / "conf/other.yaml").unlink()
    assert asked(*words).out == "5\n"


@pytest.mark.more_except("words0", "words1")
@pytest.mark.parametrize("words", [("plan",), ("predict", "advise"), ()])
def test_the_composed_config_is_that_of_a_command(asked: Asked, words: tuple[str, ...]) -> None:
    answer = asked(*words, "--cfg", "job", "+sweep=smoke", "trainer=tensorflow", "-p", "trainer")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("# @package trainer\nname: tensorflow\n")


@pytest.mark.more
def test_interpolations_are_resolved_when_that_is_asked(asked: Asked) -> None:
    words = ("--cfg", "job", "+sweep=smoke", "seed=${steps}", "steps=9")
    assert "\nseed: ${steps}\n" in asked(*words).out
    assert "\nseed: 9\n" in asked(*words, "--resolve").out


@pytest.mark.more_except("mine")
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ((), "Config search path"),
        (("searchpath",), "/mine "),
        (("defaults",), "device/own_gpu"),
        (("defaults-tree",), "own_gpu"),
        (("config",), "name: own_gpu"),
        (("plugins",), "Installed Hydra Plugins"),
    ],
)
def test_how_a_config_is_composed_is_shown_once(asked: Asked, what: tuple[str, ...], expected: str) -> None:
    answer = asked("plan", "--config-dir", "mine", "+sweep=own_sweep", "device=own_gpu", "--info", *what)
    assert (answer.code, answer.err) == (0, "")
    assert expected in answer.out


@pytest.mark.more
def test_hydras_help_lists_its_flags(asked: Asked) -> None:
    answer = asked("--hydra-help")
    assert (answer.code, answer.err) == (0, "")
    assert "--config-dir" in answer.out


@pytest.mark.more_except("cpu,t4")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cfg", "job", "device=t5"), "unknown device in conf/config.yaml: 't5'; did you mean 't4'"),
        (("--cfg", "job", "device=cpu,t4"), "'device=cpu,t4' is a grid, and --cfg and --info show one"),
        (("--cfg", "jobs"), "unknown value of --cfg: 'jobs'; did you mean 'job'? known: all, hydra, job"),
        (("--cfg",), "--cfg needs a value: --cfg PART "),
        (("--info", "search"), "unknown value of --info: 'search'; did you mean 'searchpath'?"),
        (
            ("--cfg", "job", "-cn", "primry", "-cd", "mine"),
            "unknown config 'primry'; did you mean 'primary'?",
        ),
        (("plan", "-cn", "primry", "-cd", "mine"), "unknown config 'primry'; did you mean 'primary'?"),
        (("--cfg", "job", "--package", "nothing"), "package 'nothing' not found in config"),
        (("--resolve",), "--resolve is about a composed config; add --cfg job"),
        (("--cfg", "job", "--vers"), "unknown flag of 'run': '--vers'; "),
        (("plan", "--config-dir", "min", "+sweep=smoke"), "no folder 'min' to search for config files; "),
        (("plan", "hydra.searchpath=[pkg://no.such]"), "no package 'no.such' to search for config files; "),
        (("plan", "hydra.searchpath=[s3://b]"), "config files cannot be read from 's3://b'; possible: "),
        (
            ("--config-path", "x"),
            "--config-path would replace the shipped files; --config-dir DIR adds those",
        ),
        (("-sc", "install=bash"), "-sc is Hydra's completion and knows no commands; type: eval "),
        (("--experimental-rerun", "x"), "--experimental-rerun has no effect: a finished trial is kept; "),
        (("+sweep=smoke", "hydra.run.dir=x"), "'hydra.run.dir' has no effect; outputs=DIR is the folder"),
        (("+sweep=smoke", "hydra/launcher=ray"), "'hydra.launcher' has no effect; executor=ray runs trials"),
        (("+sweep=smoke", "hydra.verbose=true"), "'hydra.verbose' has no effect; of Hydra's own settings"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_answered_is_one_line_that_shows_what_to_type(
    asked: Asked, words: tuple[str, ...], message: str
) -> None:
    answer = asked(*words)
    assert (answer.code, answer.out) == (2, "")
    (told,) = answer.err.splitlines()
    assert told.startswith(f"error: {message}")


@pytest.mark.more
def test_many_values_need_no_syntax_of_hydra(asked: Asked) -> None:
    for word in ("-m", "--multirun"):
        answer = asked("plan", word, "--json", *NOOP, "seed=1,2")
        assert len(re.findall('"repeat": 0', answer.out)) >= 2, answer.err


def test_logging_and_hydras_version_base_are_left_as_they_were(tmp_path: Path, capsys) -> None:
    hydra.version.setbase("1.2")
    handlers = logging.root.handlers[:]
    show_config(
        "job", ["sweep=smoke", "device=t4"], package="device.name", resolve=False, working_directory=tmp_path
    )
    assert capsys.readouterr().out == "t4\n"
    assert str(hydra.version.getbase()) == "1.2"
    assert logging.root.handlers == handlers
    assert not list(tmp_path.iterdir())


def test_an_axis_is_no_composed_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give seed one value, or list the points"):
        show_config("job", ["seed=1,2"], package=None, resolve=False, working_directory=tmp_path)
