"""Extensions are found by entry points, and the program works without any."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from plan_builders import TPU, planned, point
from repository import ROOT

from orchestrator import api, extension
from orchestrator.analysis.predictions.forecasts import PREDICTED
from orchestrator.analysis.section import build_sections
from orchestrator.analysis.tables.plan import memory_lines, plan_table
from orchestrator.cli import main
from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.compile.step import StepProgram
from orchestrator.config.loader import load
from orchestrator.core.errors import ConfigError
from orchestrator.core.memory_fit import NoFit
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.extension import GROUP, VARIABLE, export_extensions, find_extensions
from orchestrator.pipeline.compilation import find_compilers
from orchestrator.plan.memory import memory_key
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.registry import trainer_info, trainers

NAMES = "from orchestrator.extension import find_extensions as f; print([one.name for one in f()])"
SHIPPED = [
    "adaptive_search",
    "cluster_files",
    "kernel_split",
    "mlflow_tracking",
    "predictions",
    "price_catalogues",
    "profile_transfer",
    "scripts",
    "tpu_compiler",
]
STEP = StepProgram(
    trainer="torch_xla",
    options={},
    environment=TrainerEnvironment(python="python", versions={}, missing=None),
    request=CaptureRequest(workload="lenet5", workload_options={}, precision="bf16", global_batch_size=128),
    device=TPU,
    num_workers=1,
)
OTHER = """
from orchestrator.commands.command_line import Command
from orchestrator.extension import Extension

EXTENSION = Extension(name="other", commands="other:COMMANDS")
COMMANDS = (
    Command(name="greet", group="Machines", arguments="", summary="Print a greeting.", run="other:greet"),
)


def greet(line, screen):
    screen.line("hello")
    return 0
"""


def run(*words: str, path: Path, **variables: str) -> str:
    """Return what a Python process prints that finds distributions in `path` first."""
    kept = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, *words],
        env={**kept, **variables, "PYTHONPATH": os.pathsep.join([str(ROOT), str(path)])},
        cwd=path,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def write_distribution(path: Path, name: str, entry_points: str) -> None:
    """Write the metadata of an installed distribution, in place of that of an installed one of this name."""
    folder = path / f"{name}-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Find extensions anew within a test and after it."""
    yield
    for found in (find_extensions, trainers, list_commands):
        found.cache_clear()


@pytest.fixture
def without_extensions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, "")
    monkeypatch.chdir(tmp_path)


def use(monkeypatch: pytest.MonkeyPatch, *places: str) -> None:
    """Have these extensions, by their `module:name`, and no others."""
    monkeypatch.setenv(VARIABLE, " ".join(places))
    for found in (find_extensions, trainers, list_commands):
        found.cache_clear()


def test_every_extension_of_this_package_is_an_entry_point() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    folders = (ROOT / "orchestrator/extensions").iterdir()
    assert sorted(points) == sorted(one.name for one in folders if (one / "extension.py").exists()) == SHIPPED
    assert [extension._import_extension(place).name for place in points.values()] == sorted(points)


def test_without_entry_points_there_are_no_extensions(tmp_path: Path) -> None:
    write_distribution(tmp_path, "orchestrator", "")
    assert run("-c", NAMES, path=tmp_path) == "[]\n"


def test_source_tree_that_is_not_installed_has_its_extensions(tmp_path: Path) -> None:
    assert run("-S", "-c", NAMES, path=tmp_path) == f"{SHIPPED}\n"


def test_extension_that_an_older_installation_lacks_is_named(tmp_path: Path) -> None:
    write_distribution(tmp_path, "orchestrator", "")
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "predict", "workload=vgg16", "device=t4"],
        env={name: value for name, value in os.environ.items() if name != VARIABLE}
        | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    warning, error = done.stderr.splitlines()
    assert warning.startswith("WARNING: extensions that are not registered: adaptive_search, cluster_files, ")
    assert warning.endswith("; to register them: make install, or pip install this package")
    assert error.startswith("error: unknown command 'predict'")


def test_processes_of_environments_without_entry_points_find_those_of_the_driver(tmp_path: Path) -> None:
    write_distribution(tmp_path, "orchestrator", "")
    assert run("-c", NAMES, path=tmp_path, **export_extensions()) == f"{SHIPPED}\n"


def test_command_of_another_distribution_is_listed_and_runs(tmp_path: Path) -> None:
    write_distribution(tmp_path, "other", f"[{GROUP}]\nother = other:EXTENSION\n")
    (tmp_path / "other.py").write_text(OTHER)
    listed = run("-m", "orchestrator", "--help", path=tmp_path)
    machines = listed[listed.index("Machines") : listed.index("Shell\n")]
    assert "  greet              Print a greeting.\n" in machines
    assert run("-m", "orchestrator", "greet", path=tmp_path) == "hello\n"


@pytest.mark.usefixtures("without_extensions")
@pytest.mark.parametrize(
    "words", [("+sweep=paper_kernel_split_mini",), ("+sweep=smoke", "trainer=kernel_split")]
)
def test_sweep_of_an_absent_extension_is_refused_in_one_line(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "extensions that are not registered: adaptive_search, cluster_files" in err


@pytest.mark.usefixtures("without_extensions")
def test_sweep_without_parts_of_extensions_is_planned_without_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "+sweep=smoke", "device=cpu", "trainer=noop", "tracking=none"]) == 0
    assert main(["predict", "split", "+sweep=smoke"]) == 2
    assert "unknown command 'predict'" in capsys.readouterr().err
    assert build_sections((), ()) == ()


@pytest.mark.usefixtures("without_extensions")
def test_plan_without_a_predictor_has_no_times(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        ConfigError, match=r"^predict\(\) needs an extension that is not here; plan\(\) needs none"
    ):
        api.predict("workload=vgg16", "device=t4")
    words = ["+sweep=gpt2_devices", "device=h100", "trainer=torch_ddp", "compile=off", "tracking=none"]
    assert main(["plan", *words]) == 0
    out = capsys.readouterr().out
    assert "rehearse" in out
    assert PREDICTED not in out


@pytest.mark.usefixtures("without_extensions")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["search=adaptive", "tracking=none"],
            "an adaptive search needs an extension that is not here; search=grid needs none",
        ),
        (
            [],
            "tracking needs an extension that is not here; tracking=none needs none",
        ),
    ],
    ids=["search", "tracking"],
)
def test_absent_part_is_refused_in_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "+sweep=smoke", "device=cpu", "trainer=noop", *words]) == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .startswith(f"error: {message}; extensions that are not registered: adaptive_search, ")
    )


@pytest.mark.usefixtures("without_extensions")
@pytest.mark.parametrize("stage", ["memory", "full"])
def test_memory_of_a_tpu_step_without_a_compiler_is_unknown(stage: str, tmp_path: Path) -> None:
    settings = load(["+sweep=smoke", f"compile={stage}"], working_directory=tmp_path)
    compilers = find_compilers(settings, "code", compiles=True)
    assert not compilers.time
    assert compilers.memory["tpu"].knows(STEP)
    fit = compilers.memory["tpu"].find_fit(STEP)
    assert isinstance(fit, NoFit)
    on_tpu = point(trainer="tensorflow", device=TPU, precision="bf16")
    (placed,) = planned(on_tpu).placements
    plan = planned(on_tpu, memory_fits={memory_key(placed.trial): fit})
    assert memory_lines(plan.memory.values()) == (
        "memory of 1 step not checked: it is unknown: no registered extension has a compiler for tpu_v3_8",
    )
    (row,) = plan_table(plan).rows
    assert "a step takes" not in row[2]


@pytest.mark.usefixtures("without_extensions")
def test_misspelt_trainer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown trainer 'torch_dpp'; known: noop, tensorflow"):
        trainer_info("torch_dpp")


def test_part_of_another_distribution_takes_the_place_of_the_shipped_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("mine", "yours"):
        (tmp_path / f"{name}_server.py").write_text(
            "from orchestrator.extension import Extension\n"
            f"EXTENSION = Extension(name='{name}', tracking_server='{name}_server:open_server')\n"
            f"def open_server(uri): return '{name}'\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    shipped = "orchestrator.extensions.mlflow_tracking.extension:EXTENSION"
    use(monkeypatch, shipped, "mine_server:EXTENSION")
    assert extension.find_part("tracking_server")("") == "mine"
    use(monkeypatch, shipped, "mine_server:EXTENSION", "yours_server:EXTENSION")
    with pytest.raises(
        ConfigError, match="one extension may have a tracking_server, and several do: mine, yo"
    ):
        extension.find_part("tracking_server")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("absent_package:EXTENSION", "absent_package:EXTENSION of an extension cannot be imported"),
        ("orchestrator.extension:GROUP", "is no orchestrator.extension.Extension"),
    ],
)
def test_broken_entry_point_is_refused_in_one_line(
    place: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, place)
    assert main(["--help"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert message in err


def test_two_trainers_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(
        "from orchestrator.extension import Extension\n"
        "from orchestrator.train.registry import trainer_info\n"
        "EXTENSION = Extension(name='twice', trainers='twice:TRAINERS')\n"
        "TRAINERS = (trainer_info('noop'),)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    use(monkeypatch, "twice:EXTENSION")
    with pytest.raises(ConfigError, match="trainers of extensions must have names of their own: noop exist"):
        trainers()
