"""The commands of a launcher's file, run in bash as Ray's launcher wraps them, with programs that print."""

import pytest
from fake_driver import FakeGpu, install_driver
from fake_programs import calls_in, install_failing_program, install_program
from launcher_file_builders import config, pool_names

HEAD = "10.0.0.2"


@pytest.fixture
def programs(tmp_path):
    for name in ("ray", "sudo", "gcloud"):
        install_program(tmp_path, name)
    install_driver(tmp_path, FakeGpu(name="Tesla T4"))
    return tmp_path


def started(programs, commands: list[str]) -> list[list[str]]:
    util = pytest.importorskip("ray.autoscaler._private.util", reason="Ray is not installed")
    wrapped = util.with_head_node_ip(commands, HEAD)
    return [call for command in wrapped for call in calls_in(command, path=programs)]


def test_a_worker_joins_the_head_whose_address_ray_gives_it(programs):
    calls = started(programs, config()["worker_start_ray_commands"])
    assert ["ray", "start", f"--address={HEAD}:6379", "--object-manager-port=8076"] in calls


def test_the_head_starts_with_the_autoscaler(programs):
    calls = started(programs, config()["head_start_ray_commands"])
    assert calls[0] == ["ray", "stop"]
    assert calls[1][:4] == ["ray", "start", "--head", "--port=6379"]


@pytest.mark.parametrize("kind", ["head_start_ray_commands", "worker_start_ray_commands"])
def test_ray_authenticates_by_the_token(programs, kind):
    (programs / "ray").write_text('#!/bin/sh\nprintf "%s\\037" "$RAY_AUTH_MODE"; echo\n')
    assert started(programs, config()[kind])[-1] == ["token"]


GPU_POOLS = [name for name in pool_names("gcp") if name.startswith(("t4", "h100", "a100"))]


@pytest.mark.parametrize("name", GPU_POOLS)
def test_a_node_with_a_gpu_waits_for_its_driver_before_it_starts_containers(programs, name):
    install_failing_program(programs, "nvidia-smi", failures=2)
    (programs / "sleep").write_text("#!/bin/sh\n")
    (programs / "sleep").chmod(0o755)
    node_type = config()["available_node_types"][name]
    assert "--gpus all" in node_type["docker"]["worker_run_options"]
    for command in node_type["initialization_commands"]:
        calls_in(command, path=programs, variables={"USER": "ubuntu"})
    assert len((programs / "nvidia-smi.calls").read_text().split()) == 3


def test_a_node_without_a_gpu_waits_for_no_driver(programs):
    (programs / "nvidia-smi").unlink()
    for command in config()["initialization_commands"]:
        calls_in(command, path=programs, variables={"USER": "ubuntu"})
