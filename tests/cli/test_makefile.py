"""Commands that the Makefile would run; nothing is made."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(autouse=True)
def outside_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what `make test` sets: below another make, make prints the folders that it enters."""
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)


def dry(*words: str) -> str:
    """The commands and variables of `make`."""
    asked = ["make", "--dry-run", "--print-data-base", *words]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("words", "python"),
    [((), ".venv-xla/bin/python"), (("XLA_VENV=/else",), "/else/bin/python"), (("XLA=0",), "")],
)
def test_torch_xlas_python_is_set_unless_it_is_left_out(words: tuple[str, ...], python: str) -> None:
    lines = [line.rstrip() for line in dry("sweep", *words).splitlines()]
    assert f"ORCHESTRATOR_XLA_PYTHON := {python}".rstrip() in lines


def test_tensorflow_has_its_own_python_where_its_environment_exists(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch()
    assert f"ORCHESTRATOR_TENSORFLOW_PYTHON := {python}" in dry("sweep", f"TENSORFLOW_VENV={tmp_path}")
    assert "ORCHESTRATOR_TENSORFLOW_PYTHON :=" not in dry("sweep", f"TENSORFLOW_VENV={tmp_path}/none")


@pytest.mark.parametrize(
    ("goal", "extras"), [("gpu", {"tensorflow-gpu"}), ("tpu", {"xla", "xla-tpu"}), ("xla", {"xla"})]
)
def test_an_environment_has_the_packages_of_its_extra(tmp_path: Path, goal: str, extras: set[str]) -> None:
    """A fake Python makes environments whose pip prints what it is to install."""
    python = fake_python(tmp_path, version=(3, 11))
    goals = {"gpu": ["tf/.installed"], "tpu": ["xla/.libtpu"], "xla": ["xla/.installed"]}[goal]
    names = [f"PYTHON={python}", f"XLA_VENV={tmp_path}/xla", f"TENSORFLOW_VENV={tmp_path}/tf"]
    run = ["make", *[f"{tmp_path}/{name}" for name in goals], *names]
    subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    printed = [
        line for log in sorted(tmp_path.glob("*/install.log")) for line in log.read_text().splitlines()
    ]
    wanted = [item for extra in sorted(extras) for item in PROJECT["optional-dependencies"][extra]]
    assert [line for line in printed if line.startswith(("torch", "tensorflow", "numpy", "pillow"))] == wanted


def test_the_light_environment_has_all_but_ray_mlflow_and_other_frameworks(tmp_path: Path) -> None:
    light, python = tmp_path / "light", fake_python(tmp_path, version=(3, 11))
    run = ["make", "--silent", f"{light}/.installed", f"PYTHON={python}", f"LIGHT_VENV={light}"]
    made = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == f"installing {light}: PyTorch (log: {light}/install.log)\n"
    printed = (light / "install.log").read_text().splitlines()
    needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["torch"]]
    assert printed == [item for item in needed if Requirement(item).name not in ("ray", "mlflow")]
    assert len(printed) == len(needed) - 2


def test_the_first_command_needs_only_the_light_environment() -> None:
    told = subprocess.run(
        ["make", "-n", "smoke"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert ".venv-light/bin/python -m orchestrator +sweep=smoke trainer=torch_ddp" in told
    assert ".venv-xla" not in told


def test_warnings_of_pip_are_in_a_file_and_its_failure_is_shown(tmp_path: Path) -> None:
    light, python = (
        tmp_path / "light",
        fake_python(tmp_path, version=(3, 11), pip="echo WARNING: old >&2"),
    )
    run = ["make", f"{light}/.installed", f"PYTHON={python}", f"LIGHT_VENV={light}"]
    made = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.splitlines() == [f"installing {light}: PyTorch (log: {light}/install.log)"]
    assert (light / "install.log").read_text() == "WARNING: old\n"
    shutil.rmtree(light)
    fake_python(tmp_path, version=(3, 11), pip="echo ERROR: no such package >&2; exit 1")
    failed = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    assert failed.returncode == 2
    assert failed.stderr.startswith("ERROR: no such package\n")
    assert not (light / ".installed").exists()


@pytest.mark.parametrize("goal", ["install", "gpu", "tpu", "smoke", "sweep"])
def test_an_old_python_is_refused_with_what_to_type(tmp_path: Path, goal: str) -> None:
    python = fake_python(tmp_path, version=(3, 10))
    names = [f"{name}={tmp_path}/{name}" for name in ("VENV", "XLA_VENV", "TENSORFLOW_VENV", "LIGHT_VENV")]
    run = ["make", goal, f"PYTHON={python}", *names]
    refused = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[0] == (
        f"Python 3.11 or later is needed, and {python} is older or absent. "
        "On Ubuntu, as on images of TPU VMs: sudo apt install python3.11-venv, "
        "then add PYTHON=python3.11 to the command"
    )
    assert not [path for path in tmp_path.iterdir() if path.name not in ("python", "pip")]


def fake_python(folder: Path, *, version: tuple[int, int], pip: str = 'cat "$last"') -> Path:
    """Write an interpreter of this version whose environments have a pip that runs this line of a shell.

    The pip has no uv to install, and the usual line prints the file of its requirements, `$last`.
    """
    (folder / "pip").write_text(f'#!/bin/sh\nfor last; do :; done\n[ "$last" = "uv<1" ] && exit 1\n{pip}\n')
    (folder / "pip").chmod(0o755)
    python = folder / "python"
    python.write_text(
        "#!/bin/sh\n"
        'if [ "$1 $2" = "-m venv" ]; then\n'
        f'  mkdir -p "$3/bin" && cp {folder}/pip "$3/bin/pip"\n'
        '  ln -s /bin/true "$3/bin/python"; exit\n'
        "fi\n"
        f'case "$2" in *version_info*) exec {sys.executable} -c "import sys; '
        f'sys.version_info = {version}; $(echo "$2" | sed s/^import.sys\\;//)";; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    return python


def test_uv_installs_with_the_index_and_the_folders_of_wheels_that_pip_has(tmp_path: Path) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    fakes = {
        "pip": """[ "$1" = config ] && printf "global.index-url='https://mirror/simple'\n:env:.find-links='/a'\n"\ntrue""",
        "uv": 'echo "$@" "$UV_DEFAULT_INDEX" "$UV_FIND_LINKS"',
    }
    for name, line in fakes.items():
        (binaries / name).write_text(f"#!/bin/sh\n{line}\n")
        (binaries / name).chmod(0o755)
    command = ["tools/install.sh", str(tmp_path), "torch<3"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == f"pip install --quiet --python {binaries}/python torch<3 https://mirror/simple /a\n"


def test_every_folder_of_tests_is_run():
    folders = {file.relative_to(ROOT).parts[1] for file in (ROOT / "tests").rglob("test_*.py")}
    assert {f"tests/{folder}" for folder in folders} <= set(dry("test-all").split())


@pytest.mark.parametrize(
    ("python", "is_held"), [(sys.executable, sys.version_info[:2] == (3, 11)), ("false", False)]
)
def test_only_the_python_of_the_tests_is_held_to_their_versions(python: str, is_held: bool) -> None:
    told = dry("--always-make", "install", f"PYTHON={python}", "XLA=0").splitlines()
    [installed] = [
        line for line in told if " --editable '.[torch,tensorflow,dev]'" in line and "$" not in line
    ]
    assert ("--constraint constraints.txt" in installed) == is_held
