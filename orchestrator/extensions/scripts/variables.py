"""(variables of this process, seat of the worker) -> the environment of a training script."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.train.trainer import WorkerJob
from workloads.script.command import find_search_path
from workloads.spec import ScriptSpec

RENDEZVOUS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Variables with the place of a process in `torch.distributed`; a single process has none."""

_OTHER_RANKS = ("GROUP_RANK", "NODE_RANK", "ROLE_RANK", "TF_CONFIG")
_SCHEDULERS = (
    "ALPS_APP_",
    "FLUX_JOB_",
    "FLUX_TASK_",
    "I_MPI_",
    "JSM_",
    "LSB_",
    "LSF_",
    "MPI_LOCAL",
    "MV2_",
    "OMPI_",
    "PALS_",
    "PBS_",
    "PMI",
    "PRTE_",
    "SLURM",
    "SRUN_",
    "TORCHELASTIC_",
)
"""Beginnings of variables in which schedulers and launchers set ranks; frameworks prefer them to RANK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptVariables:
    """The environment of a script, and the names of the scheduler's variables that are left out of it."""

    passed: Mapping[str, str]
    left_out: tuple[str, ...]


def build_variables(inherited: Mapping[str, str], *, job: WorkerJob, spec: ScriptSpec) -> ScriptVariables:
    """Return the environment: the inherited one, the trial's ranks, and the interpreter first on PATH.

    Launchers and schedulers set the ranks of the orchestrator's own processes. The word `python` means
    this process's own interpreter unless the user names another. The folder of Keras' settings and downloads
    is the user's own, which fork servers hide.
    """
    left_out = tuple(sorted(name for name in inherited if name.startswith(_SCHEDULERS)))
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in (*left_out, *RENDEZVOUS, *_OTHER_RANKS) and (name, value) != ("KERAS_HOME", os.devnull)
    }
    callback = str(Path(__file__).parent / "callback")
    passed = {
        **kept,
        **job.variables,
        "PATH": find_search_path(Path(spec.python or sys.executable)),
        "PYTHONPATH": os.pathsep.join([callback, *filter(None, [inherited.get("PYTHONPATH")])]),
        "OMP_NUM_THREADS": str(job.threads),
    }
    if job.world_size > 1:
        hosts = [address.rpartition(":")[0] for address in job.addresses]
        passed["LOCAL_WORLD_SIZE"] = str(hosts.count(hosts[job.rank]))
    return ScriptVariables(passed=passed, left_out=left_out)
