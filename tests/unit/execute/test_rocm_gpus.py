"""AMD GPUs of a host, as a HIP build of torch lists them."""

from pathlib import Path

import pytest

from orchestrator.execute.machine import gpus
from orchestrator.execute.machine.gpus import Gpu, usable_gpus

TORCH = """
import os
class version:
    hip = {hip!r}
class cuda:
    device_count = staticmethod(lambda: 1 if "CUDA_VISIBLE_DEVICES" in os.environ else 2)
    get_device_name = staticmethod(lambda index: "AMD Instinct MI300X")
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Install a torch of that build on a host with AMD's driver, and none of NVIDIA."""

    def install(hip: str | None, *, has_driver: bool = True) -> None:
        (tmp_path / "torch.py").write_text(TORCH.format(hip=hip))
        if has_driver:
            (tmp_path / "kfd").touch()

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv(gpus.VARIABLE, raising=False)
    monkeypatch.setitem(gpus.list_rocm_gpus.__kwdefaults__, "kfd", tmp_path / "kfd")
    gpus._ask_torch.cache_clear()
    yield install
    gpus._ask_torch.cache_clear()


def name_indices() -> list[tuple[str, str]]:
    return [(gpu.index, gpu.name) for gpu in usable_gpus()]


def test_gpus_of_a_hip_build_have_index_and_name(host) -> None:
    host("6.4.43482")
    assert usable_gpus()[1] == Gpu(index="1", uuid="1", name="AMD Instinct MI300X")


def test_the_variable_of_cuda_chooses_among_them(host, monkeypatch) -> None:
    host("6.4.43482")
    monkeypatch.setenv(gpus.VARIABLE, "1")
    assert name_indices() == [("1", "AMD Instinct MI300X")]


@pytest.mark.parametrize(("hip", "has_driver"), [(None, True), ("6.4.43482", False)])
def test_another_build_or_no_driver_means_no_gpu(host, hip: str | None, has_driver: bool) -> None:
    host(hip, has_driver=has_driver)
    assert usable_gpus() == ()


def test_a_torch_that_cannot_be_imported_means_no_gpu(host, tmp_path: Path) -> None:
    host("6.4.43482")
    (tmp_path / "torch.py").write_text("raise ImportError")
    assert usable_gpus() == ()
