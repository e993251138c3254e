"""The environment of a training script: the trial's ranks, and no scheduler's."""

import os
from typing import Any

import pytest
from builders import trial_spec

from orchestrator.extensions.scripts.variables import RENDEZVOUS, ScriptVariables, build_variables
from orchestrator.train.trainer import WorkerJob
from workloads.spec import ScriptSpec

SPEC = ScriptSpec(
    name="script",
    version=1,
    command="python train.py",
    folder="/tmp",
    python="/opt/env/bin/python",
    steps_total=None,
    train_to_end=False,
    reports=True,
)
OF_LAUNCHERS = {
    "SLURM_NTASKS": "1",
    "SLURM_JOB_ID": "7",
    "SLURMD_NODENAME": "n1",
    "PMI_RANK": "0",
    "PMIX_RANK": "0",
    "OMPI_COMM_WORLD_SIZE": "4",
    "LSB_JOBID": "3",
    "TORCHELASTIC_RUN_ID": "none",
}
PLAIN = {"PATH": "/bin", "HOME": "/home/u", "FLUX_DEV": "weights", "MPI_HOME": "/opt/mpi"}


def variables(inherited: dict[str, str], *, rank: int = 0, hosts: str = "a", **ranks: str) -> ScriptVariables:
    """Return the variables of a worker on one of the hosts, a letter for each rank."""
    told: dict[str, Any] = {
        "trial": trial_spec(),
        "kind": "cpu",
        "precision": "fp32",
        "rehearsal": False,
        "rank": rank,
        "world_size": len(hosts),
        "replicas": len(hosts),
        "threads": 3,
        "data_path": "",
        "addresses": tuple(f"{host}:1" for host in hosts),
        "variables": ranks,
    }
    return build_variables(inherited, job=WorkerJob(**told), spec=SPEC)


def test_a_script_of_one_worker_has_no_rank_although_the_orchestrator_has() -> None:
    inherited = {**PLAIN, **dict.fromkeys((*RENDEZVOUS, "GROUP_RANK", "TF_CONFIG"), "5")}
    passed = variables(inherited).passed
    assert passed.keys() - PLAIN.keys() == {"PYTHONPATH", "OMP_NUM_THREADS"}


def test_the_ranks_of_the_trial_win() -> None:
    passed = variables({**PLAIN, "RANK": "5", "LOCAL_WORLD_SIZE": "8"}, hosts="aab", rank=1, RANK="1").passed
    assert (passed["RANK"], passed["LOCAL_WORLD_SIZE"]) == ("1", "2")


@pytest.mark.parametrize("hosts", ["a", "ab"])
def test_the_variables_of_schedulers_are_left_out_and_listed(hosts: str) -> None:
    found = variables({**PLAIN, **OF_LAUNCHERS}, hosts=hosts)
    assert set(found.left_out) == set(OF_LAUNCHERS)
    assert not found.passed.keys() & OF_LAUNCHERS.keys()
    assert found.passed["FLUX_DEV"] == "weights"


def test_the_interpreter_and_the_callback_come_first() -> None:
    passed = variables({**PLAIN, "PYTHONPATH": "/mine", "KERAS_HOME": os.devnull}).passed
    assert passed["PATH"].startswith("/opt/env/bin:")
    callback, mine = passed["PYTHONPATH"].split(":")
    assert callback.endswith("orchestrator/extensions/scripts/callback")
    assert mine == "/mine"
    assert "KERAS_HOME" not in passed
    assert passed["OMP_NUM_THREADS"] == "3"
