"""GPUs available to a trial, by the driver's answer and the environment variable."""

import pytest

from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.execute.machine.inventory import Gpu, gpus_of, usable_gpus, visible_of

_TWO = "0, GPU-8932f937-d72c, Tesla T4\n1, GPU-89aa0000-1111, NVIDIA A100-SXM4-40GB\n"


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Puts a program `nvidia-smi` of the lines given to it on an otherwise empty PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def install(*lines: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        program.chmod(0o755)

    return install


def visible(setting: str | None) -> list[str]:
    return [gpu.index for gpu in visible_of(gpus_of(_TWO), setting=setting)]


def test_the_driver_tells_of_each_gpu_its_index_uuid_and_name():
    assert gpus_of(_TWO)[1] == Gpu(index="1", uuid="GPU-89aa0000-1111", name="NVIDIA A100-SXM4-40GB")


def test_a_name_may_have_commas():
    (gpu,) = gpus_of("0, GPU-1, Quadro, of some make")
    assert gpu.name == "Quadro, of some make"


def test_an_answer_that_is_no_table_is_told_as_it_is():
    with pytest.raises(PlacementError) as caught:
        gpus_of("No devices were found\n")
    assert str(caught.value) == (
        "nvidia-smi --query-gpu=index,uuid,name --format=csv,noheader answers 'No devices were found', which "
        "is not an index, UUID and name; repair the driver, or leave GPUs out of the sweep"
    )


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, ["0", "1"]),
        ("", []),
        (" ", []),
        ("-1", []),
        ("1", ["1"]),
        ("1, 0", ["1", "0"]),
        ("0,-1,1", ["0"]),
        ("0,0", ["0"]),
        ("GPU-89aa0000-1111,0", ["1", "0"]),
        ("GPU-893", ["0"]),
    ],
)
def test_the_variable_chooses_gpus_as_cuda_reads_it(setting, expected):
    assert visible(setting) == expected


@pytest.mark.parametrize(
    ("setting", "entry", "number"),
    [("0,2", "2", 0), ("one", "one", 0), ("0,", "", 0), ("GPU-89", "GPU-89", 2), ("MIG-1", "MIG-1", 0)],
)
def test_an_entry_that_names_no_single_gpu_is_told_with_those_that_are_here(setting, entry, number):
    with pytest.raises(ConfigError) as caught:
        visible(setting)
    assert str(caught.value) == (
        f"CUDA_VISIBLE_DEVICES={setting!r}: {entry!r} names {number} of the GPUs here; an entry may be one "
        "of 0, 1, or a UUID as nvidia-smi -L tells it; -1 is none"
    )


def test_the_variable_is_of_no_account_where_there_is_no_gpu():
    assert visible_of((), setting="0,1") == ()


def test_a_host_without_a_driver_has_no_gpu(driver):
    assert usable_gpus() == ()


def test_a_driver_that_does_not_answer_has_no_gpu(driver):
    driver("echo 'Failed to initialize NVML: Driver/library version mismatch'", "exit 18")
    assert usable_gpus() == ()


def test_the_driver_is_asked_and_the_variable_heeded(driver, monkeypatch):
    driver(
        '[ "$*" = "--query-gpu=index,uuid,name --format=csv,noheader" ] || exit 2',
        "echo '0, GPU-a, Tesla T4'",
        "echo '1, GPU-b, Tesla T4'",
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [gpu.uuid for gpu in usable_gpus()] == ["GPU-b"]
