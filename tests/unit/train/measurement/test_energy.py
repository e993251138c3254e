"""Counters of energy and use: file trees as Linux shows them, and a library that answers as a driver's."""

import math
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.core.inventory import GpuUse
from orchestrator.execute.trial.host_usage import read_gpus
from orchestrator.train.measurement.counters import GpuEnergy, HostEnergy, build_meter, used_between

RANGE = 262_143_328_850  # microjoules, as a Xeon's package has it


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Path]:
    """Makes the folder of a domain: `tree("intel-rapl:0", "package-0", 5_000_000)`."""

    def make(folder: str, name: str, microjoules: int | str, span: int = RANGE) -> Path:
        domain = tmp_path / "powercap" / folder
        domain.mkdir(parents=True, exist_ok=True)
        (domain / "name").write_text(f"{name}\n")
        (domain / "energy_uj").write_text(f"{microjoules}\n")
        (domain / "max_energy_range_uj").write_text(f"{span}\n")
        return tmp_path / "powercap"

    return make


def two_sockets(tree: Callable[..., Path], *, microjoules: int) -> Path:
    """Packages, their cores and memories, and the whole board a second time."""
    for socket in (0, 1):
        tree(f"intel-rapl:{socket}", f"package-{socket}", microjoules)
        tree(f"intel-rapl:{socket}:0", "core", 10 * microjoules)
        tree(f"intel-rapl:{socket}:1", "dram", microjoules // 10)
    tree("intel-rapl:2", "psys", 100 * microjoules)
    return tree("intel-rapl-mmio:0", "package-0", microjoules)


def test_packages_and_memories_count_and_what_is_in_them_does_not_count_twice(tree):
    host = HostEnergy(two_sockets(tree, microjoules=1_000_000))
    two_sockets(tree, microjoules=4_000_000)
    assert host.joules() == pytest.approx(2 * (3.0 + 0.3))


def test_a_counter_that_begins_again_has_counted_to_its_end(tree):
    host = HostEnergy(tree("intel-rapl:0", "package-0", RANGE - 1_000_000))
    tree("intel-rapl:0", "package-0", 2_000_000)
    assert host.joules() == pytest.approx(3.0)
    tree("intel-rapl:0", "package-0", 5_000_000)
    assert host.joules() == pytest.approx(6.0)


@pytest.mark.parametrize("counter", ["", "-1", "many"])
def test_a_counter_that_holds_no_number_leaves_no_part_of_the_whole(tree, counter):
    two_sockets(tree, microjoules=1_000_000)
    root = tree("intel-rapl:1", "package-1", counter)
    with pytest.raises(OSError, match=r"intel-rapl:1/energy_uj holds .*; it must hold a number"):
        HostEnergy(root)
    assert build_meter("cpu", root=root)() == {}


def test_a_counter_that_is_not_there_leaves_none(tree):
    root = two_sockets(tree, microjoules=1_000_000)
    (root / "intel-rapl:0" / "energy_uj").unlink()
    assert build_meter("cpu", root=root)() == {}


def test_a_counter_that_fails_while_a_trial_runs_ends_no_trial(tree):
    root = tree("intel-rapl:0", "package-0", 0)
    meter = build_meter("cpu", root=root)
    before = meter()
    (root / "intel-rapl:0" / "energy_uj").unlink()
    assert before == {"host": 0.0}
    assert used_between(before, meter(), seconds=2.0) == {}


def test_a_host_without_counters_is_not_guessed(tmp_path):
    with pytest.raises(FileNotFoundError, match="no counter of a processor's energy in"):
        HostEnergy(tmp_path)
    assert build_meter("cpu", root=tmp_path)() == {}


def test_only_a_difference_is_of_the_trial():
    assert used_between({"host": 5.0, "accelerator": 1.0}, {"host": 7.5}, seconds=2.0) == {"host": 2.5}


DRIVER = """
#include <string.h>

static unsigned long long counted[2] = {5000, 70000};

int nvmlInit_v2(void) { return 0; }

int nvmlDeviceGetCount_v2(unsigned *count) { *count = COUNT; return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    *handle = &counted[index];
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    if (strcmp(uuid, "GPU-aaaa") && strcmp(uuid, "GPU-bbbb")) return 6;
    *handle = &counted[uuid[4] == 'b'];
    return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *millijoules) {
    if (!SUPPORTED) return 3;
    *millijoules = *(unsigned long long *)handle += 1000;
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
    if (!SUPPORTED) return 3;
    rates[0] = handle == &counted[0] ? 25 : 100;
    rates[1] = 7;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]) {
    memory[0] = 16000; memory[1] = 12000; memory[2] = 4000;
    return 0;
}
"""
"""Each reading finds a joule more; the first of two GPUs is busy a quarter of the time."""


@pytest.fixture
def driver(tmp_path: Path) -> Callable[..., str]:
    """Compiles a library with the functions of NVML that are called; its path."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the driver's library cannot be stood in for")

    def build(*, count: int = 1, supported: int = 1) -> str:
        library = tmp_path / "libnvidia-ml.so.1"
        defined = [f"-DCOUNT={count}", f"-DSUPPORTED={supported}"]
        command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library), *defined]
        subprocess.run(command, input=DRIVER, text=True, check=True)
        return str(library)

    return build


def test_energy_is_read_of_gpus_by_their_ids_and_summed_in_joules(driver):
    assert GpuEnergy(["GPU-aaaa"], library=driver()).joules() == pytest.approx(7.0)
    both = GpuEnergy(["GPU-aaaa", "GPU-bbbb"], library=driver())
    assert both.joules() - both.joules() == pytest.approx(-2.0)


def test_a_number_names_the_only_gpu_of_a_host(driver):
    assert GpuEnergy(["0"], library=driver()).joules() > 0


def test_numbers_name_gpus_in_the_order_of_the_driver(driver):
    assert GpuEnergy(["1"], library=driver(count=2)).joules() == pytest.approx(72.0)


@pytest.mark.parametrize(
    ("ids", "build", "message"),
    [
        (["2"], {"count": 2}, "the driver has 2 GPUs; there is no GPU 2"),
        (["GPU-cccc"], {}, "nvmlDeviceGetHandleByUUID answers 6"),
        (["GPU-aaaa"], {"supported": 0}, "nvmlDeviceGetTotalEnergyConsumption answers 3"),
    ],
)
def test_a_gpu_that_is_not_found_or_has_no_counter_is_not_guessed(
    driver, monkeypatch, tmp_path, ids, build, message
):
    library = driver(**build)
    with pytest.raises(OSError, match=message):
        GpuEnergy(ids, library=library)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(ids))
    assert build_meter("gpu", root=tmp_path, library=library)() == {}


def test_gpus_report_their_busy_fraction_and_memory(driver):
    first, second = read_gpus(["GPU-aaaa", "GPU-bbbb"], library=driver())()
    assert first == GpuUse(busy_fraction=0.25, memory_bytes=4000, memory_total_bytes=16000)
    assert second.busy_fraction == 1.0


def test_gpus_without_a_report_are_not_guessed(driver):
    assert read_gpus(["GPU-aaaa"], library=driver(supported=0))() == ()
    assert read_gpus(["GPU-aaaa"], library="libnvidia-nowhere.so")() == ()
    assert read_gpus([])() == ()


def test_without_a_driver_there_is_no_counter(tmp_path):
    with pytest.raises(OSError, match="libnvidia-nowhere"):
        GpuEnergy(["GPU-aaaa"], library="libnvidia-nowhere.so")


def test_a_library_of_another_kind_is_no_driver():
    with pytest.raises(OSError, match="the driver has no nvmlInit_v2"):
        GpuEnergy(["GPU-aaaa"], library="libc.so.6")


def test_a_meter_reads_the_gpus_of_the_trial_and_the_host(driver, monkeypatch, tree):
    root = tree("intel-rapl:0", "package-0", 1_000_000)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aaaa, GPU-bbbb")
    meter = build_meter("gpu", root=root, library=driver())
    before = meter()
    tree("intel-rapl:0", "package-0", 3_500_000)
    assert used_between(before, meter(), seconds=2.0) == pytest.approx({"host": 2.5, "accelerator": 2.0})


def test_a_trial_on_a_processor_reads_no_gpu(driver, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aaaa")
    assert build_meter("cpu", root=tmp_path, library=driver())() == {}


def energy_of_a_counter_that_moves_every_100_ms(seconds: float) -> Mapping[str, float]:
    """Measured energy of a part of so many seconds on a GPU of 300 W."""
    begin = 10.05
    before, after = (
        {"accelerator": 300.0 * math.floor(now * 10) / 10, "host": now} for now in (begin, begin + seconds)
    )
    return used_between(before, after, seconds=seconds)


@pytest.mark.parametrize("seconds", [0.03, 0.15, 1.9])
def test_a_part_that_is_too_short_for_the_counter_of_a_gpu_has_no_energy_of_it(seconds):
    energy = energy_of_a_counter_that_moves_every_100_ms(seconds)
    assert energy == {"host": pytest.approx(seconds)}


@pytest.mark.parametrize("seconds", [2.0, 2.06, 3.14])
def test_energy_of_two_seconds_or_more_is_right_within_the_step_of_the_counter(seconds):
    energy = energy_of_a_counter_that_moves_every_100_ms(seconds)
    assert energy["accelerator"] == pytest.approx(300.0 * seconds, rel=0.05)
