"""What `doctor` says on every machine, beside a file of what it said before."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fake_driver import FakeGpu
from fake_machines import CUDA_12, CUDA_13, LIBTPU, Machine, run_on

FOLDER = Path(__file__).with_name("doctor")
DRIVER = "580.65.06"
BUILDS = {"torch_ddp": CUDA_13, "tensorflow": CUDA_12}


def with_gpus(*gpus: FakeGpu, **changes: object) -> Machine:
    return replace(Machine(gpus=gpus, builds=BUILDS, driver=DRIVER), **changes)


def card(name: str, watts: float, **changes: str) -> FakeGpu:
    return FakeGpu(name=name, power_limit=f"{watts:.2f}", **changes)


T4 = card("Tesla T4", 70, most_clock="1590", memory_total="15360")
OLD = "535.104.05"
MACHINES = {
    "one_t4": with_gpus(T4),
    "eight_l4": with_gpus(*[card("NVIDIA L4", 72, most_clock="2040", memory_total="23034")] * 8),
    "h100_pcie": with_gpus(card("NVIDIA H100 PCIe", 350)),
    "h100_nvl": with_gpus(card("NVIDIA H100 NVL", 400)),
    "h100_sxm": with_gpus(card("NVIDIA H100 80GB HBM3", 700)),
    "a100_40": with_gpus(card("NVIDIA A100-SXM4-40GB", 400)),
    "a100_80": with_gpus(card("NVIDIA A100-SXM4-80GB", 400)),
    "mig": with_gpus(card("NVIDIA A100-SXM4-40GB", 400, mig_mode="Enabled")),
    "two_kinds": with_gpus(T4, card("NVIDIA A100-SXM4-40GB", 400)),
    "v100": with_gpus(card("Tesla V100-SXM2-16GB", 300)),
    "unknown_card": with_gpus(card("NVIDIA Future 1", 1000)),
    "cpu_builds": with_gpus(T4, builds={}),
    "neighbour": with_gpus(
        card("Tesla T4", 50, utilization="97", memory_used="9000", persistence_mode="Disabled")
    ),
    "no_driver": Machine(),
    "failing_driver": Machine(failure=("NVIDIA-SMI has failed because it couldn't communicate", 9)),
    "old_driver": with_gpus(card("NVIDIA L4", 72, driver_version=OLD), driver=OLD),
    "v5e_1": Machine(slice_type="v5litepod-1", builds={"torch_xla": LIBTPU}),
    "v5e_8": Machine(slice_type="v5litepod-8", builds={"torch_xla": LIBTPU}),
    "v5e_8_without_libtpu": Machine(slice_type="v5litepod-8"),
    "v4_16": Machine(slice_type="v4-16", builds={"torch_xla": LIBTPU}),
}


def stable(text: str, folder: Path) -> str:
    """Replace what differs from host to host and from day to day."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"^host .*$", "host         HOST", text, flags=re.MULTILINE)
    text = re.sub(r"[\d,]+ GB free", "N GB free", text)
    of_this_host = r"^warning: (?:other processes keep|outputs: |data cache: ).*\n"
    text = re.sub(of_this_host, "", text, flags=re.MULTILINE)
    return re.sub(r"^(Ray|MLflow)( +)\S+$", r"\1\2VERSION", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", MACHINES)
def test_doctor_says_what_it_said(name, tmp_path):
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


@pytest.mark.parametrize(
    ("pools", "programs", "has_token"),
    [("gcp", ("gcloud", "ray"), True), ("gcp", (), False), ("gke", ("gcloud", "kubectl"), False)],
)
def test_doctor_says_of_a_cluster_what_it_said(pools, programs, has_token, tmp_path):
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
