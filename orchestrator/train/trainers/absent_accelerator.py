"""The failure of a worker with a framework that finds no accelerator."""

from orchestrator.core.errors import TrialError
from orchestrator.train.accelerator_versions import accelerator_versions, reason_without_gpu
from orchestrator.train.environment import framework_versions
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import WorkerJob


def absent_accelerator(job: WorkerJob, framework: str) -> TrialError:
    """Describe the failure. Its kind is `environment`: the trial runs again once the environment can.

    Args:
        framework: name and version of the framework in this process.
    """
    info = trainer_info(job.trial.trainer)
    of_gpu = accelerator_versions("gpu", info.packages) if job.kind == "gpu" else {}
    reason = reason_without_gpu(info, framework_versions(info.packages), of_gpu)
    cause = f": {reason}" if reason else ""
    return TrialError("environment", f"trial asks for a {job.kind}; {framework} sees none{cause}")
