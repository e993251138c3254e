"""Pods of the rendered manifests, as Ray's KubeRay autoscaler reads them, hold the trials of plans."""

import os
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
from orchestrator.record.ledger import Ledger

WORDS = ("pools=gke", PROJECT)
QUICK = ("tracking=none", "data.source=synthetic", "compile=off")
TRAINERS = {"torch": "torch_ddp", "tensorflow": "tensorflow", "xla": "torch_xla"}


@cache
def manifests() -> tuple[dict, dict]:
    """Return the specifications of the Ray cluster and of the job."""
    _, job = yaml.safe_load_all(rendered("gke").text)
    return job["spec"]["rayClusterSpec"], job["spec"]


@cache
def pools() -> dict[str, Pool]:
    cluster, _ = load_cluster(WORDS, working_directory=ROOT)
    return {pool.name: pool for pool in cluster.available_pools}


def build_resources(name: str) -> dict[str, float]:
    """Return the resources of a pool's pod, as Ray's autoscaler reads them."""
    groups = manifests()[0]["workerGroupSpecs"]
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


@pytest.mark.more_except("cpu")
@pytest.mark.parametrize("name", pool_names("gke"))
def test_a_pod_has_what_a_trial_on_its_whole_node_asks_for(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pool, pod = pools()[name], build_resources(name)
    (placement,) = placements(capsys, pool)
    assert placement.pool == name
    assert placement.cpus <= pod["CPU"]
    assert placement.chips <= {"gpu": pod.get("GPU", 0), "tpu": pod.get("TPU", 0), "cpu": 0}[placement.kind]


@pytest.mark.more
def test_the_job_finds_trials_for_every_pool_without_a_framework(tmp_path):
    """Run the job's entrypoint as `plan`, in an interpreter that has no framework."""
    python, *words = shlex.split(manifests()[1]["entrypoint"])
    assert (python, words[:2]) == ("python", ["-m", "orchestrator"])
    code = (
        "import sys\n"
        "for name in ('torch', 'tensorflow', 'keras', 'torch_xla'): sys.modules[name] = None\n"
        "from orchestrator.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    asked = [word for word in words[2:] if word != "--yes"]
    command = [sys.executable, "-c", code, "plan", "--json", *asked, *QUICK]
    environment = {"PYTHONPATH": CHILD_PYTHONPATH, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    planned = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert planned.returncode == 0, planned.stderr
    placements = codec.from_json(Plan, planned.stdout).placements
    devices = {pool.device.name for pool in pools().values() if pool.hosts == 1}
    assert {placement.trial.device for placement in placements} == devices
    assert {placement.provenance for placement in placements} == {"measured"}


def test_the_job_runs_the_sweep_that_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["cluster", "pools=gke", "pools.project=my-project", "budget.usd=5", "+sweep=smoke"]) == 0
    told = capsys.readouterr().out
    assert "orchestrator +sweep=smoke cluster.address=auto pools=gke" in " ".join(told.split())
    assert told.count("sweep=smoke") == 2, "in the command that made the file, and once in that of the job"
    assert main(["cluster", "pools=gcp", "pools.project=my-project", "+sweep=smoke"]) == 2
    assert "is for the job that pools=gke has" in capsys.readouterr().err


@pytest.mark.more
def test_the_job_asks_no_question(tmp_path):
    """Start the entrypoint as it is printed, as KubeRay and Ray's job start it, with closed input.

    It passes a shell, loses its quotes and passes another. This process holds the lock of the sweep, which is
    asked for after the question whether to spend so much, and before Ray.
    """
    words = subprocess.list2cmdline(shlex.split(manifests()[1]["entrypoint"]))
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environment = {"PYTHONPATH": CHILD_PYTHONPATH, "PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    folder = f" outputs={tmp_path}/records "
    command = words.replace(" outputs=/records ", folder)
    assert folder in command
    (tmp_path / "records" / "tpu_vs_gpu").mkdir(parents=True)
    with Ledger(tmp_path / "records" / "tpu_vs_gpu" / "records.jsonl").lock():
        started = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    assert "budget.confirm_usd" not in started.stderr
    assert f"process {os.getpid()}" in started.stderr.splitlines()[-1]


@pytest.mark.more_except("cap;", "words1")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nobody can confirm the cost of a RayJob, so it needs a cap; add budget.usd=NUMBER"),
        (("budget.usd=null",), "'budget.usd=null': a cap of a job is a finite number above 0"),
        (("budget.usd=inf",), "'budget.usd=inf': a cap of a job is a finite number above 0"),
        (("budget.usd=5", "budget.confirm_usd=null"), "unknown key of 'cluster': 'budget.confirm_usd'"),
        (("budget.usd=5", "pools.sweep='$(id)'"), "pools.sweep='$(id)' is not the name of a sweep"),
        (("budget.usd=5", "record.path='gs://a/$(id)'"), 'a shell on the head would read "\'"'),
        (("budget.usd=5", "pools.deadline_hours=nan"), "pools.deadline_hours=nan must be above 0"),
    ],
)
def test_a_job_without_a_cap_or_with_words_for_a_shell_is_refused(
    words, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["cluster", *WORDS, *words]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err


def test_a_cap_for_pools_without_a_job_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["cluster", "pools=gcp", PROJECT, "budget.usd=5"]) == 2
    assert (
        "'budget.usd=5' is for the job that pools=gke has; pools=gcp starts none" in capsys.readouterr().err
    )
