"""A trainer that computes nothing: what the orchestrator itself costs, and what each failure looks like."""

import math
import os
import resource
import signal
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator.core.result import DeviceFacts
from orchestrator.train.environment import cpu_model
from orchestrator.train.trainer import WorkerJob
from workloads.data.batches import Batches
from workloads.spec import Phase, WorkloadSpec

_LIMIT_BYTES = 1 << 30
_FAULTY_STEP = 2  # the third: after a first loss was read, before the warm-up ends


class NoopTrainer:
    """Counts steps. The option `fault` makes the last rank fail in its third step.

    `raise` is an exception, `die` a SIGKILL, `hang` a step that never ends, `nan` a loss that is not a number
    from there on, `exhaust` more memory than the kernel then lets the process have.
    """

    def __init__(self) -> None:
        self.samples = 0

    def setup(
        self,
        workload: WorkloadSpec,  # noqa: ARG002  # nothing is built
        job: WorkerJob,
        batches: Batches,
    ) -> None:
        """Keep what steps count."""
        fault = str(job.trial.trainer_options.get("fault", "none"))
        self._job = job
        self._batches = batches
        self._fault = fault if job.rank == job.world_size - 1 else "none"
        self._taken = 0

    def begin(self, phase: Phase) -> None:
        """All phases are alike."""

    def rebalance(self) -> None:
        """Do nothing, because no work is shared."""

    def step(self, index: int) -> None:
        """Count the step, or fail in it."""
        if index == _FAULTY_STEP:
            self._strike()
        self._taken += 1
        self.samples += self._batches.global_batch_size // self._job.world_size

    def synchronize(self) -> None:
        """Do nothing, because no work is pending."""

    def losses(self) -> Mapping[str, float]:
        """One over the steps taken, so that it moves."""
        is_faulty = self._fault == "nan" and self._taken > _FAULTY_STEP
        return {"model": math.nan if is_faulty else 1 / self._taken}

    def without_exchange(self) -> None:
        """There are no gradients."""

    def compile_count(self) -> int | None:
        """Return None, because nothing is compiled."""
        return None

    def evaluate(self, limit: int | None) -> Mapping[str, float]:  # noqa: ARG002  # nothing is looked at
        """Return no quality, because nothing was learnt."""
        return {}

    def device_facts(self) -> DeviceFacts:
        """The processor, in the precision that was asked for: no arithmetic contradicts it."""
        return DeviceFacts(
            kind="cpu",
            name=cpu_model(),
            count=self._job.replicas // self._job.world_size,
            precision=self._job.precision,
        )

    def matmul_benchmark(self, size: int) -> None:
        """Return None, because nothing is computed."""

    def state(self) -> Mapping[str, Any]:
        """Return no parameters."""
        return {}

    def checkpoint(self) -> Mapping[str, Any]:
        """The number of steps taken."""
        return {"taken": np.array(self._taken)}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Count on from there."""
        self._taken = int(arrays["taken"])

    def close(self) -> None:
        """Do nothing, because there is no process group."""

    def _strike(self) -> None:
        if self._fault == "raise":
            raise RuntimeError("this failure was asked for with trainer.fault='raise'")
        if self._fault == "exhaust":
            resource.setrlimit(resource.RLIMIT_DATA, (_LIMIT_BYTES, _LIMIT_BYTES))
            bytearray(2 * _LIMIT_BYTES)
        if self._fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._fault == "hang":
            threading.Event().wait()
