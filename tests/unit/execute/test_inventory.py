"""Hardware of a host, by the device files that recognise it."""

import pytest
from fake_driver import FakeGpu, install_driver
from metadata_server import metadata_server
from plan_builders import T4, TPU, device

from orchestrator.core.device import Accelerators
from orchestrator.core.errors import ConfigError
from orchestrator.execute.machine.cgroup import num_cores
from orchestrator.execute.machine.gpus import Gpu
from orchestrator.execute.machine.inventory import (
    HostAccelerators,
    find_slice_type,
    local_node,
    recognised,
    unrecognised,
)

_A100 = device("a100_40", kind="gpu", driver_names=("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"))
_GPUS = tuple(
    Gpu(index=str(index), uuid=f"GPU-{index}", name=name)
    for index, name in enumerate(("Tesla T4", "A100-SXM4-40GB", "Tesla T4", "Tesla T40"))
)


def test_gpus_are_recognised_by_the_names_of_their_device_files_and_kept_by_uuid():
    found = recognised([T4, _A100], HostAccelerators(gpus=_GPUS))
    assert found == {
        "t4": Accelerators(kind="gpu", chips=1, ids=("GPU-0", "GPU-2")),
        "a100_40": Accelerators(kind="gpu", chips=1, ids=("GPU-1",)),
    }


def test_an_accelerator_that_no_device_of_the_sweep_is_is_not_counted():
    assert recognised([_A100], HostAccelerators(gpus=_GPUS[:1], slice_type="v3-8")) == {}


def test_a_tpu_is_recognised_by_the_type_of_its_slice():
    found = recognised([T4, TPU], HostAccelerators(slice_type="v3-8"))
    assert found == {"tpu_v3_8": Accelerators(kind="tpu", chips=4, ids=("v3-8",))}


@pytest.mark.parametrize("slice_type", [None, "v2-8", "v3-32", "TPU v3", ""])
def test_a_slice_of_another_type_is_not_recognised(slice_type):
    assert recognised([device(), T4, TPU], HostAccelerators(slice_type=slice_type)) == {}


def test_accelerators_of_unknown_names_are_counted():
    present = HostAccelerators(gpus=(*_GPUS, _GPUS[3]), slice_type="v9-8")
    assert unrecognised([T4, _A100, TPU], present) == {"Tesla T40": 2, "v9-8": 1}
    assert unrecognised([T4, _A100, TPU], HostAccelerators(gpus=_GPUS[:3], slice_type="v3-8")) == {}


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    """A driver of two T4, as the only program there is."""
    install_driver(tmp_path, FakeGpu(name="Tesla T4"), FakeGpu(name="Tesla T4"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")


def test_a_host_has_the_gpus_that_its_environment_leaves(two_gpus):
    node = local_node([T4])
    assert (node.counts, node.devices["t4"].ids, node.holdings) == (
        {"t4": 1},
        ("GPU-00000001-0000",),
        "1 x t4",
    )


def test_a_wrong_choice_of_gpus_is_refused_only_if_gpus_are_asked_for(two_gpus, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert local_node([device()]).holdings == "no accelerator"
    with pytest.raises(ConfigError, match="CUDA_VISIBLE_DEVICES='7'"):
        local_node([device(), T4])


def test_a_host_without_chips_is_no_slice_in_spite_of_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v3-8")
    assert find_slice_type(tmp_path) is None


@pytest.mark.parametrize("chip", ["accel0", "vfio/0", "accel3", "vfio/7"])
def test_a_host_with_chips_is_the_slice_of_its_environment(tmp_path, monkeypatch, chip):
    (tmp_path / chip).parent.mkdir(exist_ok=True)
    (tmp_path / chip).touch()
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v3-8")
    assert find_slice_type(tmp_path) == "v3-8"


def test_a_virtual_machine_with_chips_is_the_slice_of_its_metadata_server(tmp_path, monkeypatch):
    (tmp_path / "accel0").touch()
    monkeypatch.delenv("TPU_ACCELERATOR_TYPE", raising=False)
    values = {"instance/attributes/accelerator-type": "v5litepod-8"}
    with metadata_server(values) as address:
        monkeypatch.setenv("GCE_METADATA_HOST", address)
        assert find_slice_type(tmp_path) == "v5litepod-8"
        values.clear()
        assert find_slice_type(tmp_path) is None
    assert find_slice_type(tmp_path) is None


def test_the_processor_is_that_of_this_process():
    node = local_node([])
    assert node.cpus == num_cores()
    assert node.host_cpu == f"{node.cpu_model} x{node.cpus}"
