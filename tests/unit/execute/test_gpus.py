"""GPUs available to a trial, by the driver's answer and the environment variable."""

from functools import partial

import pytest
from fake_driver import FakeGpu, install_driver

from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.execute.machine import gpus
from orchestrator.execute.machine.gpus import Gpu, find_visible, read_gpus, usable_gpus

_TWO = "0, GPU-8932f937-d72c, [N/A], Tesla T4\n1, GPU-89aa0000-1111, Disabled, NVIDIA A100-SXM4-40GB\n"


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Puts a scripted `nvidia-smi` on an otherwise empty PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return partial(install_driver, tmp_path)


def visible(setting: str | None) -> list[str]:
    return [gpu.index for gpu in find_visible(read_gpus(_TWO), setting=setting)]


def test_the_driver_lists_index_uuid_and_name_of_each_gpu():
    assert read_gpus(_TWO)[1] == Gpu(index="1", uuid="GPU-89aa0000-1111", name="NVIDIA A100-SXM4-40GB")


def test_a_name_may_have_commas():
    (gpu,) = read_gpus("0, GPU-1, [N/A], Quadro, of some make")
    assert gpu.name == "Quadro, of some make"


def test_an_answer_that_is_no_table_is_shown_unchanged():
    with pytest.raises(PlacementError) as caught:
        read_gpus("No devices were found\n")
    assert str(caught.value) == (
        "nvidia-smi --query-gpu=index,uuid,mig.mode.current,name --format=csv,noheader answers "
        "'No devices were found', which is not an index, UUID, mode and name; "
        "repair the driver, or leave the GPUs out: CUDA_VISIBLE_DEVICES=-1"
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
def test_an_entry_that_names_no_single_gpu_is_shown_with_those_that_are_here(setting, entry, number):
    with pytest.raises(ConfigError) as caught:
        visible(setting)
    assert str(caught.value) == (
        f"CUDA_VISIBLE_DEVICES={setting!r}: {entry!r} names {number} of the GPUs here; an entry may be one "
        "of 0, 1, or a UUID as nvidia-smi -L tells it; -1 is none"
    )


def test_the_variable_is_of_no_account_where_there_is_no_gpu():
    assert find_visible((), setting="0,1") == ()


def test_a_host_without_a_driver_has_no_gpu(driver):
    assert usable_gpus() == ()


@pytest.mark.parametrize(
    ("failure", "exit_code"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", 18),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9),
    ],
)
def test_a_driver_that_fails_is_refused_with_its_own_words(driver, failure, exit_code):
    driver(failure=failure, exit_code=exit_code)
    with pytest.raises(PlacementError) as caught:
        usable_gpus()
    assert str(caught.value) == (
        f"nvidia-smi ended with exit code {exit_code}: {failure}; "
        "repair the driver, or leave the GPUs out: CUDA_VISIBLE_DEVICES=-1"
    )


@pytest.mark.parametrize("setting", ["-1", "", " "])
def test_a_driver_that_fails_is_not_asked_when_no_gpu_is_wanted(driver, monkeypatch, setting):
    driver(failure="NVIDIA-SMI has failed", exit_code=9)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
    assert usable_gpus() == ()


def test_a_driver_without_a_gpu_is_no_failure(driver):
    driver(failure="No devices were found", exit_code=6)
    assert usable_gpus() == ()


def test_a_driver_that_warns_of_an_inforom_lists_its_gpus(driver, tmp_path):
    program = driver(FakeGpu(name="Tesla T4"))
    program.write_text(program.read_text() + "sys.exit(14)\n")
    assert [gpu.name for gpu in usable_gpus()] == ["Tesla T4"]


def test_a_driver_that_is_slow_is_waited_for_and_asked_once(driver, monkeypatch):
    program = driver(FakeGpu(name="Tesla T4"), delay_seconds=1.0)
    assert [gpu.name for gpu in usable_gpus()] == ["Tesla T4"]
    program.unlink()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert [gpu.name for gpu in usable_gpus()] == ["Tesla T4"]


def test_a_driver_that_gives_no_answer_is_refused(driver, monkeypatch):
    monkeypatch.setattr(gpus, "_DRIVER_SECONDS", 0.2)
    driver(FakeGpu(name="Tesla T4"), delay_seconds=20.0)
    with pytest.raises(
        PlacementError, match=r"^nvidia-smi gave no answer within 0\.2 s; repair the driver, or"
    ):
        usable_gpus()


def test_a_program_that_does_not_start_is_refused(driver):
    driver().write_text("")
    with pytest.raises(PlacementError, match=r"nvidia-smi does not start \(Exec format error\); repair the"):
        usable_gpus()


def test_the_driver_is_asked_and_the_variable_heeded(driver, monkeypatch):
    driver(FakeGpu(name="Tesla T4"), FakeGpu(name="Tesla T4"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [gpu.index for gpu in usable_gpus()] == ["1"]


def test_a_gpu_in_mig_mode_is_visible_and_not_usable(driver):
    driver(FakeGpu(name="NVIDIA A100-SXM4-40GB", mig_mode="Enabled"), FakeGpu(name="Tesla T4"))
    assert [gpu.name for gpu in usable_gpus()] == ["Tesla T4"]
    assert [gpu.is_split for gpu in gpus.visible_gpus()] == [True, False]
