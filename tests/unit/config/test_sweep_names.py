"""Names of sweeps that their file does not name: a folder for every job."""

from pathlib import Path

import pytest
from plan_builders import point

from orchestrator.config.grid import name_of_jobs
from orchestrator.config.loader import load


def name_of_script(command: str, **options: str) -> str:
    return name_of_jobs(
        "single", [point(workload="script", workload_options={"command": command, **options})]
    )


def test_the_name_is_that_of_the_workloads_alone() -> None:
    one = [point(workload="mine", precision=precision) for precision in ("fp32", "bf16")]
    assert name_of_jobs("single", one) == "single-mine"
    assert name_of_jobs("single", [*one, point(workload="yours")]) == "single-mine-yours"


def test_many_jobs_and_long_names_are_a_hash_of_them() -> None:
    many = [point(workload=f"job{number}") for number in range(5)]
    name = name_of_jobs("single", many)
    assert name.startswith("single-5-jobs-")
    assert name != name_of_jobs("single", [*many[:4], point(workload="job9")])
    assert len(name_of_jobs("single", [point(workload="a" * 150)])) <= 100


@pytest.mark.parametrize(
    ("command", "stem"),
    [
        ("python train.py --lr=1", "train"),
        ("python -m package.train", "package-train"),
        ("torchrun src/fit.py a", "fit"),
        ("env -u RANK python train.py", "train"),
        ("./run.sh", "run-sh"),
    ],
)
def test_a_script_is_named_after_its_file(command: str, stem: str) -> None:
    assert name_of_script(command).rpartition("-")[0] == f"single-{stem}"


def test_scripts_with_other_arguments_or_folders_are_other_jobs_and_other_steps_are_not() -> None:
    name = name_of_script("python train.py")
    assert name != name_of_script("python train.py --model=b")
    assert name != name_of_script("python train.py", folder="elsewhere")
    assert name == name_of_script("python train.py", python="/opt/python")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["+sweep=single"], "single-mnist_cnn"),
        (["+sweep=single", "workload=lenet5", "precision=fp32,bf16"], "single-lenet5"),
        (["+sweep=single", "workload=lenet5", "sweep.name=single"], "single"),
        (["+sweep=smoke", "workload=lenet5"], "smoke"),
    ],
)
def test_the_folder_is_that_of_the_job_unless_the_sweep_has_a_name(
    words: list[str], name: str, tmp_path: Path
) -> None:
    settings = load([*words, "tracking=none"], working_directory=tmp_path)
    assert settings.sweep.name == name
    assert settings.checkpointing
    assert Path(settings.checkpointing.url).parent == tmp_path / "outputs" / name
