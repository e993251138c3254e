"""What a host has, asked of a driver that answers as the real one does."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.core.device import Device
from orchestrator.execute.inventory import local_node

_T4 = Device(
    name="t4",
    kind="gpu",
    chips=1,
    replicas=1,
    native_precisions=("fp32", "fp16"),
    peak_flops_per_second={"fp32": 8.1e12},
    memory_bytes=16 * 10**9,
    memory_bytes_per_second=3.2e11,
    driver_names=("Tesla T4",),
    ray_accelerator_type="T4",
    source="a table",
)
_A100 = replace(_T4, name="a100_40", driver_names=("NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB"))


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Puts a program `nvidia-smi` of the lines given to it on an otherwise empty PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TPU_ACCELERATOR_TYPE", raising=False)

    def install(*lines: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        program.chmod(0o755)

    return install


def devices_here() -> dict[str, int]:
    return dict(local_node([_T4, _A100]).devices)


def test_a_host_without_a_driver_has_no_accelerator(driver):
    assert devices_here() == {}


def test_accelerators_are_counted_by_the_names_of_their_device_files(driver):
    driver("echo 'Tesla T4'", "echo 'NVIDIA A100-PCIE-40GB'", "echo 'Tesla T4'")
    assert devices_here() == {"t4": 2, "a100_40": 1}


def test_the_driver_is_asked_for_names_alone(driver):
    driver('[ "$*" = "--query-gpu=name --format=csv,noheader" ] && echo "Tesla T4"')
    assert devices_here() == {"t4": 1}


def test_an_accelerator_that_no_device_file_names_is_not_counted(driver):
    driver("echo 'Tesla T4'", "echo 'Tesla T40'", "echo 'Quadro'")
    assert devices_here() == {"t4": 1}


def test_a_driver_that_does_not_answer_has_no_accelerator(driver):
    driver("echo 'Failed to initialize NVML: Driver/library version mismatch'", "exit 18")
    assert devices_here() == {}


@pytest.mark.skipif(
    Path("/dev/accel0").exists() or Path("/dev/vfio/0").exists(),
    reason="this host has chips that look like TPUs",
)
def test_a_host_without_chips_has_no_slice_whatever_its_environment_says(driver, monkeypatch):
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v3-8")
    assert local_node([replace(_T4, driver_names=("v3-8",))]).devices == {}


def test_the_processor_and_memory_are_those_of_this_process(driver):
    node = local_node([])
    assert node.cpus == len(os.sched_getaffinity(0))
    assert node.memory_bytes > 10**8
    assert node.host_cpu == f"{node.cpu_model} x{node.cpus}"
