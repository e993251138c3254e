"""Versions between a framework and its accelerator, and the builds that cannot use a GPU."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.train.accelerator_versions import accelerator_versions, nvidia_driver, reason_without_gpu
from orchestrator.train.registry import trainer_info

NVML_SOURCE = """
#include <string.h>
int nvmlInit_v2(void) { return %d; }
int nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    strncpy(version, "%s", length);
    return 0;
}
"""


def nvml(folder: Path, driver: str, *, init: int = 0) -> str:
    """Compile an NVML that reports this driver."""
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(NVML_SOURCE % (init, driver))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a package of the name and files given, before all others of that name."""

    def install(name: str, **files: str) -> None:
        for file, text in {"__init__": "raise ImportError", **files}.items():
            path = tmp_path / "site" / name / f"{file.replace('__', '/') if file != '__init__' else file}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in ("torch", "tensorflow"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return install


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("cuda: Optional[str] = '13.0'", "13.0"),
        ("cuda = '12.6'", "12.6"),
        ("cuda: Optional[str] = None", "none"),
    ],
)
def test_the_cuda_of_torch_is_read_without_importing_it(package, text, cuda):
    package("torch", version=f"from typing import Optional\n{text}\n")
    assert accelerator_versions("gpu", ["torch"], nvml="absent.so")["cuda"] == cuda


def test_a_hip_build_of_torch_has_rocm_and_no_cuda_and_may_use_a_gpu(package):
    package("torch", version="cuda: str | None = None\nhip: str | None = '6.4.43482'\n")
    versions = accelerator_versions("gpu", ["torch"], nvml="absent.so")
    assert versions == {"rocm": "6.4.43482"}
    assert reason_without_gpu(trainer_info("torch_ddp"), {"torch": "2.13.0"}, versions) is None


@pytest.mark.parametrize(
    ("pairs", "cuda"),
    [
        ("('cuda_version', '12.5.1'), ('is_cuda_build', True)", "12.5.1"),
        ("('is_cuda_build', False), ('is_rocm_build', False)", "none"),
    ],
)
def test_the_cuda_of_tensorflow_is_read_without_importing_it(package, pairs, cuda):
    text = f"import collections\nbuild_info = collections.OrderedDict([{pairs}])\n"
    package("tensorflow", python__platform__build_info=text)
    assert accelerator_versions("gpu", ["tensorflow", "keras"], nvml="absent.so")["cuda"] == cuda


def test_a_package_without_a_build_file_has_no_cuda(package):
    package("torch")
    assert "cuda" not in accelerator_versions("gpu", ["torch"], nvml="absent.so")


def test_the_driver_is_the_one_that_nvml_reports(tmp_path):
    assert nvidia_driver(nvml(tmp_path, "580.65.06")) == "580.65.06"


@pytest.mark.parametrize("init", [9, 999])
def test_a_driver_that_does_not_start_has_no_version(tmp_path, init):
    assert nvidia_driver(nvml(tmp_path, "580.65.06", init=init)) is None


def test_a_host_without_nvml_has_no_driver():
    assert nvidia_driver("absent.so") is None


def test_a_cpu_has_no_accelerator_versions():
    assert accelerator_versions("cpu", ["torch"]) == {}


@pytest.mark.parametrize(
    ("of_gpu", "reason"),
    [
        ({"cuda": "13.0", "nvidia_driver": "580.65.06"}, None),
        ({"cuda": "13.0"}, None),
        ({"cuda": "13.0", "nvidia_driver": "N/A"}, None),
        ({"cuda": "12.6", "nvidia_driver": "535.104.05"}, None),
        ({}, None),
        (
            {"cuda": "none", "nvidia_driver": "580.65.06"},
            "torch 2.13.0 is a build without CUDA; get one with: "
            "make gpu, or pip install 'torch>=2.11,<2.14' from PyPI",
        ),
        (
            {"cuda": "13.0", "nvidia_driver": "535.104.05"},
            "torch 2.13.0 is built for CUDA 13.0, which needs NVIDIA driver 580 or later, and this host has "
            "535.104.05; update the driver, or get a build for an older CUDA",
        ),
    ],
)
def test_a_build_that_cannot_use_the_gpus_is_explained(of_gpu, reason):
    assert reason_without_gpu(trainer_info("torch_ddp"), {"torch": "2.13.0"}, of_gpu) == reason
