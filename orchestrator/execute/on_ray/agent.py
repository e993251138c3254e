"""The agents of the hosts that trials run on, and how a trial reaches the one of its own.

On the driver's host it is a process of Ray's that outlives every trial's, so that trials of any shape find
their framework imported. On a pool's node it lives in the process of the trials that run there: one that
outlived them would keep the node from ever being idle.
"""

import contextlib
from functools import cache
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from orchestrator.core.errors import TrialError
from orchestrator.core.result import Failure
from orchestrator.core.trainer import TrainerInfo
from orchestrator.execute.machine.agent import ForkServerAddress, HostAgent
from orchestrator.train.registry import trainer_info

_ANSWER_SECONDS = 5.0  # more than the agent is given, so that it can say itself what went wrong
_CLOSE_SECONDS = 10.0  # idle fork servers end at once; a busy one is killed


class RayHostAgent:
    """A handle that trials can be given. Ray starts another agent when this one is killed."""

    def __init__(self) -> None:
        self._node_id = _this_node()
        kept = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=1)(_HostAgent)
        here = NodeAffinitySchedulingStrategy(self._node_id, soft=False)
        self._actor: Any = kept.options(scheduling_strategy=here).remote()

    def prepare(self, info: TrainerInfo, *, python: str) -> None:
        """Start a trainer's fork server on the driver's host, and do not wait for it."""
        self._actor.prepare.remote(info.name, python=python)

    def fork_server(self, info: TrainerInfo, *, python: str, start_seconds: float) -> ForkServerAddress:
        """Return the address of a trainer's fork server, as `HostAgent.fork_server`; replace an agent that
        does not answer.

        Raises:
            TrialError: `environment` as there; `timeout`, `worker_lost` or `oom` by its agent's fate.
        """
        if _this_node() != self._node_id:
            return this_process_agent().fork_server(info, python=python, start_seconds=start_seconds)
        reply = self._actor.fork_server.remote(info.name, python=python, start_seconds=start_seconds)
        try:
            answer: ForkServerAddress | Failure = ray.get(reply, timeout=start_seconds + _ANSWER_SECONDS)
        except ray.exceptions.GetTimeoutError as error:
            ray.kill(self._actor, no_restart=False)
            message = f"the host's agent gave no fork server (executor.start_seconds={start_seconds:g})"
            raise TrialError("timeout", message) from error
        except ray.exceptions.OutOfMemoryError as error:
            raise TrialError("oom", "Ray killed the host's agent: the host ran low on memory") from error
        except ray.exceptions.RayActorError as error:
            raise TrialError("worker_lost", "the host's agent died") from error
        if isinstance(answer, Failure):
            raise TrialError(answer.kind, answer.message)
        return answer

    def close(self) -> None:
        """End the fork servers and remove their folder. A cluster that is gone has ended them already."""
        with contextlib.suppress(ray.exceptions.RayError):
            ray.get(self._actor.close.remote(), timeout=_CLOSE_SECONDS)


@cache
def this_process_agent() -> HostAgent:
    """Return the agent of this process, which ends with it."""
    return HostAgent()


def _this_node() -> str:
    return str(ray.get_runtime_context().get_node_id())


class _HostAgent:
    """Ray actor that runs the agent of a host."""

    def __init__(self) -> None:
        self._agent = HostAgent()

    def prepare(self, trainer: str, *, python: str) -> None:
        """A trainer travels by its name."""
        self._agent.prepare(trainer_info(trainer), python=python)

    def fork_server(self, trainer: str, *, python: str, start_seconds: float) -> ForkServerAddress | Failure:
        """A trainer travels by its name, and an error as a value: Ray would wrap it."""
        try:
            return self._agent.fork_server(trainer_info(trainer), python=python, start_seconds=start_seconds)
        except TrialError as error:
            return Failure(kind=error.kind, message=str(error))

    def close(self) -> None:
        """Close the agent, as `HostAgent.close`."""
        self._agent.close()
