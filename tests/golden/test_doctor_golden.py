"""What `doctor` says on every machine, beside a file of what it said before."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_machines import MACHINES, Machine, run_on

FOLDER = Path(__file__).with_name("doctor")


def stable(text: str, folder: Path) -> str:
    """Replace what differs from host to host and from day to day."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"^host .*$", "host         HOST", text, flags=re.MULTILINE)
    text = re.sub(r"[\d,]+ GB free", "N GB free", text)
    of_this_host = r"^warning: (?:other processes keep|outputs: |data cache: ).*\n|^temporary .*\n"
    text = re.sub(of_this_host, "", text, flags=re.MULTILINE)
    return re.sub(r"^(Ray|MLflow)( +)\S+$", r"\1\2VERSION", text, flags=re.MULTILINE)


@pytest.mark.more_except("eight_l4")
@pytest.mark.slow_cases("h100_pcie", "two_kinds", "h100_nvl", "h100_sxm", "a100_40", "a100_80")
@pytest.mark.parametrize("name", MACHINES)
def test_output_of_doctor_is_unchanged(name, tmp_path):
    compare(name, MACHINES[name], tmp_path, ("doctor",))


def compare(name: str, machine: Machine, folder: Path, words: Sequence[str]) -> None:
    """Compare a command's output with a golden file, or write that file."""
    ended = run_on(machine, folder, *words)
    assert ended.stderr == ""
    output = f"{stable(ended.stdout, folder)}exit code {ended.returncode}\n"
    file = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(output)
    assert output == file.read_text()


@pytest.mark.more_except("True")
@pytest.mark.parametrize(
    ("pools", "programs", "has_token"),
    [("gcp", ("gcloud", "ray"), True), ("gcp", (), False), ("gke", ("gcloud", "kubectl"), False)],
)
def test_output_of_doctor_cluster_is_unchanged(pools, programs, has_token, tmp_path):
    if has_token:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").touch()
    words = ("doctor", "cluster", f"pools={pools}", "pools.project=my-project")
    name = f"cluster_{pools}" if programs else f"cluster_{pools}_without_tools"
    compare(name, Machine(programs=programs), tmp_path, words)


def test_json_has_the_same_checks(tmp_path):
    ended = run_on(MACHINES["mig"], tmp_path, "doctor", "--json")
    diagnosis = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert diagnosis["checks"][0]["status"] == "missing"
    assert diagnosis["host"]["gpus"][0]["is_split"] is True
