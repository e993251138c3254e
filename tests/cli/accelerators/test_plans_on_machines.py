"""What the usual sweep measures on every fake machine, and why it skips the rest of what is there."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fake_machines import MACHINES, run_on

CPU = ("tensorflow", "torch_ddp", "torch_xla")
GPU = ("tensorflow", "torch_ddp")
WORDS = (
    *("plan", "--json", "+sweep=tpu_vs_gpu"),
    *("tracking=none", "data.source=synthetic", "sweep.repeats=1", "compile=off"),
)
MEASURED = {
    "one_t4": {"t4": GPU},
    "eight_l4": {"l4": GPU},
    "h100_pcie": {"h100_pcie": GPU},
    "h100_nvl": {"h100_nvl": GPU},
    "h100_sxm": {"h100": GPU},
    "a100_40": {"a100_40": GPU},
    "a100_80": {"a100_80": GPU},
    "mig": {},
    "two_kinds": {"t4": GPU, "a100_40": GPU},
    "v100": {"v100": ("tensorflow",)},
    "unknown_card": {},
    "cpu_builds": {},
    "neighbour": {"t4": GPU},
    "no_driver": {},
    "old_driver": {"l4": ("tensorflow",)},
    "v5e_1": {"tpu_v5e_1": ("torch_xla",)},
    "v5e_8": {"tpu_v5e_8": ("torch_xla",)},
    "v5e_8_without_libtpu": {},
    "v4_16": {},
}
SKIPPED = {
    "v100": ("v100", "torch_ddp is built for CUDA 13.0, which has no kernels for v100"),
    "cpu_builds": ("t4", "torch 2.13.0 is a build without CUDA; get one with: make gpu"),
    "old_driver": ("l4", "which needs NVIDIA driver 580 or later, and this host has 535.104.05"),
    "v5e_8_without_libtpu": (
        "tpu_v5e_8",
        "libtpu not installed; get it with: in the environment of torch_xla",
    ),
}


@cache
def planned(name: str) -> dict:
    with TemporaryDirectory() as folder:
        ended = run_on(MACHINES[name], Path(folder), *WORDS)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.more_except("eight_l4")
@pytest.mark.slow_cases(
    "unknown_card",
    "h100_pcie",
    "no_driver",
    "two_kinds",
    "h100_nvl",
    "h100_sxm",
    "a100_40",
    "a100_80",
    "v4_16",
    "v5e_1",
    "v100",
    "old_driver",
    "neighbour",
    "v5e_8_without",
)
@pytest.mark.parametrize("name", MEASURED)
def test_the_usual_sweep_measures_what_is_here(name):
    measured: dict[str, set[str]] = {}
    for placement in planned(name)["placements"]:
        if placement["provenance"] == "measured":
            trial = placement["trial"]
            measured.setdefault(trial["device"], set()).add(trial["trainer"])
    assert {device: tuple(sorted(names)) for device, names in measured.items()} == {
        "cpu": CPU,
        **MEASURED[name],
    }


@pytest.mark.parametrize("name", SKIPPED)
@pytest.mark.more_cases("v100", "old_driver", "v5e_8")
def test_a_device_that_a_build_cannot_use_is_skipped_with_the_reason(name):
    device, reason = SKIPPED[name]
    reasons = {
        skipped["reason"]
        for skipped in planned(name)["skipped"]
        if skipped["trial"] and skipped["trial"]["device"] == device
    }
    assert [text for text in reasons if reason in text]


def test_every_machine_is_planned_on():
    assert set(MACHINES) == {*MEASURED, "failing_driver"}


def test_a_driver_that_fails_is_refused(tmp_path):
    ended = run_on(MACHINES["failing_driver"], tmp_path, *WORDS)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: nvidia-smi ended with exit code 9: NVIDIA-SMI has failed")


@pytest.mark.more
def test_a_gpu_in_mig_mode_is_named_with_what_helps(tmp_path):
    ended = run_on(MACHINES["mig"], tmp_path, *(word for word in WORDS if word != "--json"))
    assert ended.stdout.splitlines()[-1] == (
        "this host's GPU 0 (NVIDIA A100-SXM4-40GB) is in MIG mode, and a trial needs a whole GPU: "
        "sudo nvidia-smi -i 0 -mig 0"
    )
