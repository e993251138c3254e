"""The commands of a launcher's file, run in bash as Ray's launcher wraps them, with programs that print."""

from dataclasses import replace
from functools import cache

import pytest
from fake_driver import FakeGpu, install_driver
from fake_programs import calls_in, install_failing_program, install_program
from launcher_file_builders import CONF, PROJECT, config, pool_names

from orchestrator.config.cluster import load_cluster
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Cluster
from orchestrator.extensions.cluster_files.files.ray_launcher import build_launcher

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


def test_a_worker_joins_the_head_at_the_address_that_ray_gives_it(programs):
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


HOSTILE = ["$(touch X)", "`touch X`", "a;touch X", "a&&touch X", "a|touch X", "a\ntouch X", "a' touch X"]
KEYS = ["registry", "image_tag", "service_account", "cluster_name", "project", "zone", "boot_images"]


@cache
def gcp() -> Cluster:
    return load_cluster(["pools=gcp", PROJECT], working_directory=CONF)[0]


def run_all(programs, file) -> None:
    """Run every command of a launcher's file, and those that Ray makes of its images and names."""
    docker = pytest.importorskip("ray.autoscaler._private.docker", reason="Ray is not installed")
    settings, nodes = file["docker"], file["available_node_types"].values()
    images = {settings["image"], *(node["docker"]["worker_image"] for node in nodes if "docker" in node)}
    commands = [command for key, value in file.items() if key.endswith("_commands") for command in value]
    commands += [command for node in nodes for command in node.get("initialization_commands", ())]
    name, mounts, options = settings["container_name"], file["file_mounts"], settings["run_options"]
    for image in images:
        commands.append(f"docker pull {image}")
        commands.append(docker.docker_start_cmds("ray", image, mounts, name, options, "c", "/home", "docker"))
    for command in commands:
        calls_in(command, path=programs, variables={"USER": "ubuntu", "RAY_HEAD_IP": HEAD})


@pytest.mark.parametrize("key", KEYS)
def test_no_value_of_a_pools_key_is_run_by_a_shell(programs, monkeypatch, key):
    """A hostile value is refused, or ends in no command; the folder in which they run stays as it was."""
    for name in ("docker", "nvidia-smi"):  # a node waits for its driver
        install_program(programs, name)
    (programs / "work").mkdir()
    monkeypatch.chdir(programs / "work")
    for value in HOSTILE:
        try:
            changed = replace(
                gcp(), **{key: dict.fromkeys(("cpu", "gpu"), value) if key == "boot_images" else value}
            )
            file = build_launcher(changed)
        except ConfigError:
            continue
        run_all(programs, file)
        assert list((programs / "work").iterdir()) == [], value


def test_a_registry_that_was_not_checked_is_a_single_word_of_its_command(programs, monkeypatch):
    install_program(programs, "docker")
    (programs / "work").mkdir()
    monkeypatch.chdir(programs / "work")
    cluster = replace(gcp())
    object.__setattr__(cluster, "registry", "$(touch X)/y")
    command = build_launcher(cluster)["initialization_commands"][-1]
    (call,) = calls_in(command, path=programs)
    assert call == ["gcloud", "auth", "configure-docker", "$(touch X)", "--quiet"]
    assert list((programs / "work").iterdir()) == []
