"""Names of devices as people and clouds write them."""

from pathlib import Path

import pytest

from orchestrator.config.device_names import AWS, NamedDevice, canonical_words, find_device, find_instances
from orchestrator.config.loader import devices_named
from orchestrator.core.errors import ConfigError

DEVICES = devices_named(Path("/"))


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("H100", "h100"),
        ("NVIDIA H100", "h100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("nvidia-h100-80gb", "h100"),
        ("H100-80GB", "h100"),
        ("H100 PCIe", "h100_pcie"),
        ("h100-nvl", "h100_nvl"),
        ("Tesla T4", "t4"),
        ("nvidia-tesla-t4", "t4"),
        ("Nvidia_T4", "t4"),
        ("tesla v100", "v100"),
        ("A100-80GB", "a100_80"),
        ("A100 40 GB", "a100_40"),
        ("nvidia-tesla-a100", "a100_40"),
        ("nvidia-a100-80gb", "a100_80"),
        ("A100-SXM4-80GB", "a100_80"),
        ("RTX 4090", "rtx_4090"),
        ("GeForce RTX 4090", "rtx_4090"),
        ("NVIDIA A10G", "a10g"),
        ("L40S", "l40s"),
        ("v5e-8", "tpu_v5e_8"),
        ("TPU v5e-8", "tpu_v5e_8"),
        ("TPU-v6e-1", "tpu_v6e_1"),
        ("B200", "b200"),
        ("nvidia-b200", "b200"),
        ("GB200", "gb200"),
        ("RTX 5090", "rtx_5090"),
        ("3090", "rtx_3090"),
        ("A6000", "rtx_a6000"),
        ("NVIDIA RTX A6000", "rtx_a6000"),
        ("RTX-PRO-6000", "rtx_pro_6000"),
        ("V100-32GB", "v100_32"),
        ("MI300X", "mi300x"),
        ("AMD Instinct MI325X", "mi325x"),
        ("Instinct-MI355X", "mi355x"),
        ("Trainium2", "trainium2"),
        ("Intel Gaudi 3", "gaudi3"),
        ("CPU", "cpu"),
    ],
)
def test_case_separators_and_the_maker_do_not_matter(name: str, device: str) -> None:
    assert find_device(name, DEVICES) == NamedDevice(device=device)


@pytest.mark.parametrize(
    ("name", "device", "count"),
    [
        ("g5.xlarge", "a10g", 1),
        ("G5.12xlarge", "a10g", 4),
        ("p5.48xlarge", "h100", 8),
        ("v5litepod-8", "tpu_v5e_8", 1),
        ("a3-highgpu-8g", "h100", 8),
        ("n1-standard-8+2xT4", "t4", 2),
        ("p3dn.24xlarge", "v100_32", 8),
        ("trn2.48xlarge", "trainium2", 16),
        ("v6e-16", "tpu_v6e_4", 4),
        ("v6e-256", "tpu_v6e_4", 64),
        ("v5litepod-64", "tpu_v5e_4", 16),
        ("v5e-64", "tpu_v5e_4", 16),
        ("v5p-128", "tpu_v5p_8", 16),
        ("v3-32", "tpu_v3_8", 4),
        ("tpu7x-64", "tpu_v7x_8", 8),
        ("v7x-4096", "tpu_v7x_8", 512),
    ],
)
def test_an_instance_means_its_devices(name: str, device: str, count: int) -> None:
    assert find_device(name, DEVICES) == NamedDevice(device=device, count=count, is_instance=True)


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("A100", "a100_40, a100_80, a100_pcie_40 or a100_pcie_80"),
        ("NVIDIA A100", "a100_40, a100_80, a100_pcie_40 or a100_pcie_80"),
        ("v5e", "tpu_v5e_1, tpu_v5e_4 or tpu_v5e_8"),
        ("RTX", "rtx_3090, rtx_4090, rtx_5090, rtx_a6000 or rtx_pro_6000"),
        ("tpu-v5-lite-podslice", "tpu_v5e_1, tpu_v5e_4 or tpu_v5e_8"),
    ],
)
def test_a_name_of_several_devices_is_refused_with_all_of_them(name: str, possible: str) -> None:
    with pytest.raises(ConfigError) as told:
        find_device(name, DEVICES)
    assert str(told.value) == f"device {name!r} may be {possible}; name one of them"


@pytest.mark.parametrize("name", ["p100", "v6e-24", "v5p-10", "100", "v10", "nvidia", "tesla", "4", "h", ""])
def test_another_name_means_no_device(name: str) -> None:
    assert find_device(name, DEVICES) is None


def test_every_name_that_a_file_has_means_its_device() -> None:
    for device in DEVICES.values():
        if device.kind == "gpu":
            for name in (device.name.upper(), *device.driver_names, *filter(None, [device.cloud_type])):
                assert find_device(name, DEVICES) == NamedDevice(device=device.name)
    for name, meant in {**find_instances(DEVICES.values()), **AWS}.items():
        assert find_device(name, DEVICES) == meant


def words(*typed: str) -> tuple[str, ...]:
    return canonical_words(typed, tuple(DEVICES), lambda: DEVICES).words


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        (("device=H100",), ("device=h100",)),
        (("device=H100,h100,Tesla T4",), ("device=h100,t4",)),
        (("device='NVIDIA H100'",), ("device=h100",)),
        (("device=g5.12xlarge",), ("device=a10g", "num_workers=4")),
        (("device=g5.12xlarge", "num_workers=2"), ("device=a10g", "num_workers=2")),
        (("devices=[CPU,Tesla-T4]",), ("devices=[cpu,t4]",)),
        (("devices=[[cpu,T4],[cpu,V100]]",), ("devices=[[cpu,t4],[cpu,v100]]",)),
        (("+sweep.grid.device=[T4,auto]",), ("+sweep.grid.device=[t4,auto]",)),
        (("device=glob(T*)", "workload=T4"), ("device=glob(T*)", "workload=T4")),
        (("device=quantum",), ("device=quantum",)),
    ],
)
def test_words_get_the_names_of_files(typed: tuple[str, ...], canonical: tuple[str, ...]) -> None:
    assert words(*typed) == canonical


def test_words_with_names_of_files_need_no_files_to_be_read() -> None:
    typed = ("device=t4,auto", "+sweep=smoke")
    assert canonical_words(typed, ("t4",), pytest.fail).words == typed


@pytest.mark.parametrize("word", ["devices=[g5.12xlarge,cpu]", "sweep.grid.device=g5.12xlarge,t4"])
def test_an_instance_with_several_devices_is_no_single_worker(word: str) -> None:
    with pytest.raises(ConfigError, match=r"^g5.12xlarge has 4 x a10g; write device a10g and num_workers 4"):
        words(word)
