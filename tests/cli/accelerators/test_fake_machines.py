"""Commands on hosts whose GPU driver is scripted: what the sweep uses, and what it says of the rest."""

import os
import sys
from pathlib import Path

import pytest
from fake_driver import FakeGpu, install_driver

from orchestrator.cli import main
from orchestrator.config.cluster import load_cluster
from orchestrator.execute.machine import inventory

PLAN = [
    "plan",
    "--all",
    "+sweep=tpu_vs_gpu",
    "tracking=none",
    "data.source=synthetic",
    "trainer=noop",
    "precision=fp32",
]
T4, L4 = FakeGpu(name="Tesla T4"), FakeGpu(name="NVIDIA L4")
NEW = FakeGpu(name="NVIDIA Future 1")


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A function that installs a driver of some GPUs, and an empty working directory."""
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("TPU_ACCELERATOR_TYPE", raising=False)

    def install(*gpus: FakeGpu, **changes: object) -> None:
        install_driver(tmp_path / "bin", *gpus, **changes)

    return install


def list_lines(capsys, *words: str) -> list[str]:
    assert main([*PLAN, "precision=fp32", *words]) == 0
    return capsys.readouterr().out.splitlines()


def measured(lines: list[str]) -> set[str]:
    """Return the devices of the points that run on this host."""
    return {line.split()[2] for line in lines if line.startswith(("measure", "run"))}


def test_the_usual_sweep_measures_the_gpus_of_this_host(host, capsys):
    host(*[L4] * 8)
    assert measured(list_lines(capsys)) == {"cpu", "l4"}


def test_a_host_without_a_driver_measures_its_cpu(host, capsys):
    lines = list_lines(capsys)
    assert measured(lines) == {"cpu"}
    assert not [line for line in lines if line.startswith("this host's")]


def test_gpus_in_no_point_are_named_with_the_word_that_adds_them(host, capsys):
    host(*[L4] * 8, T4)
    assert list_lines(capsys, "device=cpu,v100")[-1] == (
        "this host's 8 x l4, 1 x t4: in no point of the sweep; add device=l4,t4"
    )


@pytest.mark.more
def test_gpus_of_an_unknown_name_are_named(host, capsys):
    host(NEW, NEW)
    lines = list_lines(capsys)
    assert measured(lines) == {"cpu"}
    assert lines[-1] == (
        "this host's 2 x NVIDIA Future 1: unknown, because no file of conf/device has this name in "
        "driver_names or slice_type; add a file, or the name to one"
    )


@pytest.mark.more_except("H100 PCIe", "a100_80")
@pytest.mark.slow_cases(
    "40GB",
    "NVIDIA A100 80GB PCIe-a100_pcie_80",
    "NVIDIA H100 80GB HBM3-h100",
    "NVIDIA H100 NVL-h100_nvl",
    "NVIDIA A10G-a10g",
    "NVIDIA L40S-l40s",
)
@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("NVIDIA H100 PCIe", "h100_pcie"),
        ("NVIDIA H100 NVL", "h100_nvl"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-40GB", "a100_40"),
        ("NVIDIA A100-SXM4-80GB", "a100_80"),
        ("NVIDIA A100-PCIE-40GB", "a100_pcie_40"),
        ("NVIDIA A100 80GB PCIe", "a100_pcie_80"),
        ("Tesla V100-PCIE-16GB", "v100_pcie"),
        ("NVIDIA GeForce RTX 4090", "rtx_4090"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA A10G", "a10g"),
    ],
)
def test_a_card_is_recognised_by_the_name_of_its_own_make(host, capsys, name, device):
    host(FakeGpu(name=name))
    assert measured(list_lines(capsys)) == {"cpu", device}


def test_a_driver_that_fails_stops_a_sweep_of_what_is_here(host, capsys):
    host(failure="Failed to initialize NVML: Driver/library version mismatch", exit_code=18)
    assert main(PLAN) == 2
    assert capsys.readouterr().err == (
        "error: nvidia-smi ended with exit code 18: "
        "Failed to initialize NVML: Driver/library version mismatch; "
        "repair the driver, or leave the GPUs out: CUDA_VISIBLE_DEVICES=-1\n"
    )


def test_a_driver_that_fails_is_named_by_a_sweep_of_the_cpu(host, capsys):
    host(failure="NVIDIA-SMI has failed", exit_code=9)
    assert list_lines(capsys, "device=cpu")[-1] == (
        "this host's GPUs are not used: nvidia-smi ended with exit code 9: NVIDIA-SMI has failed; "
        "repair the driver, or leave the GPUs out: CUDA_VISIBLE_DEVICES=-1"
    )


@pytest.mark.more_except("tpu_v5e_1")
@pytest.mark.parametrize(
    ("slice_type", "device"),
    [("v5litepod-1", "tpu_v5e_1"), ("v5litepod-8", "tpu_v5e_8"), ("v3-8", "tpu_v3_8")],
)
def test_the_usual_sweep_measures_the_tpu_of_this_host(host, capsys, monkeypatch, slice_type, device):
    monkeypatch.setattr(inventory, "find_slice_type", lambda: slice_type)
    assert measured(list_lines(capsys)) == {"cpu", device}


def test_a_host_of_a_larger_slice_shows_how_the_slice_is_used(host, capsys, monkeypatch):
    monkeypatch.setattr(inventory, "find_slice_type", lambda: "v4-16")
    assert list_lines(capsys)[-1] == (
        "this host is one of several of the TPU slice v4-16; a sweep uses the slice as a pool with its "
        "topology: pools=gke, as conf/pools/gke.yaml declares some"
    )


@pytest.mark.more
def test_auto_is_a_device_among_others(host, capsys):
    host(T4)
    assert measured(list_lines(capsys, "device=auto")) == {"cpu", "t4"}
    assert measured(list_lines(capsys, "device=t4,auto")) == {"cpu", "t4"}


@pytest.mark.more
def test_auto_on_a_cluster_is_the_devices_of_its_pools(capsys, host, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")  # in a narrow terminal a name of a CPU may break the notes
    lines = list_lines(capsys, "device=auto", "cluster=fake")
    assert any(line.startswith("to run: 0 to measure") for line in lines)
    cluster, _ = load_cluster(["pools=fake"], working_directory=Path.cwd())
    devices = {pool.device.name for pool in cluster.available_pools}
    placed = (line.partition("a fake node for ")[2].split() for line in lines)
    assert {words[0].rstrip(";") for words in placed if words} == devices
