"""Pods of the rendered manifests, as Ray's KubeRay autoscaler reads them, hold the trials of plans."""

import shlex
import subprocess
import sys
from functools import cache

import pytest
import yaml
from launcher_file_builders import PROJECT, pool_names, rendered
from repository import CHILD_PYTHONPATH, ROOT

from orchestrator.cli import main
from orchestrator.config.cluster import load_cluster
from orchestrator.core import codec
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.pool import Pool

WORDS = ("pools=gke", PROJECT)
QUICK = ("tracking=none", "data.source=synthetic", "compile=off")
TRAINERS = {"torch": "torch_ddp", "tensorflow": "tensorflow", "xla": "torch_xla"}


@cache
def manifests() -> tuple[dict, dict]:
    """Return the manifests of the Ray cluster and of the job."""
    cluster, job = yaml.safe_load_all(rendered("gke").text)
    return cluster, job


@cache
def pools() -> dict[str, Pool]:
    cluster, _ = load_cluster(WORDS, working_directory=ROOT)
    return {pool.name: pool for pool in cluster.available_pools}


def resources_of(name: str) -> dict[str, float]:
    """Return the resources of a pool's pod, as Ray's autoscaler reads them."""
    groups = manifests()[0]["spec"]["workerGroupSpecs"]
    (group,) = (group for group in groups if group["groupName"] == name)
    reader = pytest.importorskip("ray.autoscaler._private.kuberay.autoscaling_config", reason="no Ray")
    return reader._get_ray_resources_from_group_spec(group, is_head=False)


def placements(capsys, pool: Pool) -> list[Placement]:
    """Plan the whole of a pool's node, with the trainer of its image."""
    trainer = TRAINERS[pool.environment]
    workers = pool.count * pool.hosts
    precision = "fp32" if trainer == "torch_ddp" or pool.device.kind != "tpu" else "bf16"
    words = [f"trainer={trainer}", f"device={pool.device.name}", f"precision={precision}"]
    words += [f"num_workers={workers}", "global_batch_size=1024", "sweep.baseline=null", "sweep.repeats=1"]
    only = [f"pools.nodes.{name}.max_nodes=0" for name in pools() if name != pool.name]
    command = ["plan", "--json", "+sweep=tpu_vs_gpu", *words, *WORDS, *only]
    assert main([*command, "cluster.address=auto", *QUICK]) == 0
    return list(codec.from_json(Plan, capsys.readouterr().out).placements)


@pytest.mark.parametrize("name", pool_names("gke"))
def test_a_pod_has_what_a_trial_on_its_whole_node_asks_for(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pool, pod = pools()[name], resources_of(name)
    (placement,) = placements(capsys, pool)
    assert placement.pool == name
    assert placement.cpus <= pod["CPU"]
    assert placement.chips <= {"gpu": pod.get("GPU", 0), "tpu": pod.get("TPU", 0), "cpu": 0}[placement.kind]


def test_the_job_finds_trials_for_every_pool_without_a_framework(tmp_path):
    """Run the job's entrypoint as `plan`, in an interpreter that has no framework."""
    python, *words = shlex.split(manifests()[1]["spec"]["entrypoint"])
    assert (python, words[:2]) == ("python", ["-m", "orchestrator"])
    code = (
        "import sys\n"
        "for name in ('torch', 'tensorflow', 'keras', 'torch_xla'): sys.modules[name] = None\n"
        "from orchestrator.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, "plan", "--json", *words[2:], *QUICK]
    environment = {"PYTHONPATH": CHILD_PYTHONPATH, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    planned = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert planned.returncode == 0, planned.stderr
    placements = codec.from_json(Plan, planned.stdout).placements
    devices = {pool.device.name for pool in pools().values() if pool.hosts == 1}
    assert {placement.trial.device for placement in placements} == devices
    assert {placement.provenance for placement in placements} == {"measured"}
