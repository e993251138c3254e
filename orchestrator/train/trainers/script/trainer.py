"""A training script as a trainer: the loop asks for steps, and the script's own clock times them."""

import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.train.environment import cpu_model, tpu_name
from orchestrator.train.precision import label_of
from orchestrator.train.tpu_slice import slice_type
from orchestrator.train.trainer import LEAST_LOSSES, WorkerJob
from orchestrator.train.trainers.script.connection import Script, WholeRun
from workloads.script.command import words_of
from workloads.spec import Phase, ScriptSpec

_KINDS = ("cpu", "gpu", "tpu")
_NOT_SEEN = "not seen"
_TORN = (
    "a loop of steps() ended within a step, whose time counted and whose samples did not; end the loop by "
    "itertools.islice(loader, count) in place of break"
)


class OwnData:
    """The data of a script, which reads them by itself."""

    staged = False
    num_train_samples = None
    num_held_out = None
    wait_seconds = 0.0
    samples_per_second = None

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class ScriptTrainer:
    """A script that somebody else wrote. Its callback takes as many steps as it is told to, and times them.

    The steps that the loop asks for are taken together at the next `synchronize`, which moves the clock on by
    the time that the script has measured between two idle devices.
    """

    def __init__(self) -> None:
        self.samples = 0
        self.unchecked: tuple[str, ...] = ()
        self.cpu_seconds = 0.0
        self.peak_host_bytes = 0
        self._seconds = 0.0
        self._asked = 0
        self._loss: float | None = None
        self._num_losses = 0
        self._facts: Mapping[str, Any] = {}
        self._has_begun = False
        self._whole_run: WholeRun | None = None

    def setup(self, workload: ScriptSpec, job: WorkerJob, batches: OwnData) -> None:  # noqa: ARG002  # none
        """Start the command; wait for the first step of one whose files name the callback."""
        self._spec, self._job = workload, job
        trial = job.trial
        self._share = trial.global_batch_size // job.world_size
        words = words_of(
            workload.command,
            {
                "batch_size_per_worker": self._share,
                "device": trial.device,
                "global_batch_size": trial.global_batch_size,
                "num_workers": trial.num_workers,
                "precision": job.precision,
                "seed": trial.seed,
                "steps": trial.steps,
            },
        )
        if words[0] == "python" and workload.python:
            words[0] = workload.python
        self._script = Script(words, folder=workload.folder, variables=self._variables())
        if workload.reports:
            self._begin()

    def whole_run(self) -> WholeRun | None:
        """Wait until the script begins a step; return the run of one that ended before and reports none.

        Raises:
            TrialError: the script failed.
        """
        if not self._has_begun:
            self._begin()
        return self._whole_run

    def _begin(self) -> None:
        self._has_begun = True
        try:
            self._whole_run = self._script.wait_for_first_step()
            if self._whole_run is None:
                self._require(self._script.hear(), "hello")
            elif self._spec.reports:
                raise TrialError(
                    "invalid_measurement",
                    f"the script ended after {self._whole_run.seconds:.3g} s with exit code 0 and reported "
                    "no step; report its steps with orchestrator_callback",
                )
        except BaseException:
            self._script.close()
            raise

    def clock(self) -> float:
        """Return the seconds of all steps so far, by the script's clock."""
        return self._seconds

    def cpu_clock(self) -> float:
        """Return the CPU seconds of the script in all steps so far."""
        return self.cpu_seconds

    def begin(self, phase: Phase) -> None:
        """Do nothing, because a script has one part."""

    def rebalance(self) -> None:
        """Do nothing, because a script divides its work by itself."""

    def step(self, index: int) -> None:  # noqa: ARG002  # the script knows the order
        """Ask for one more step."""
        self._asked += 1

    def synchronize(self) -> None:
        """Have the script take the steps that were asked for, and wait for its report."""
        if not self._asked:
            return
        try:
            self._take_steps()
        except BaseException:
            self._script.close()
            raise

    def _take_steps(self) -> None:
        self._script.order({"order": "part", "steps": self._asked, "samples": self._share})
        message = self._require(self._script.hear(), "part")
        if message.get("is_torn"):
            raise TrialError("invalid_measurement", _TORN)
        self._require_together(message.get("num_workers"))
        self._seconds += _positive(message, "seconds")
        self.cpu_seconds += _positive(message, "cpu_seconds")
        self.samples += self._require_samples(int(_positive(message, "samples")))
        self._asked = 0
        self.peak_host_bytes = max(self.peak_host_bytes, int(_positive(message, "peak_host_bytes")))
        loss = message.get("loss")
        self._loss = float(loss) if isinstance(loss, (int, float)) else None
        self._num_losses += self._loss is not None
        self._facts = message

    def losses(self) -> Mapping[str, float]:
        """Return the loss that the script reported in its last part; empty if it reported none."""
        return {} if self._loss is None else {"model": self._loss}

    def without_exchange(self) -> None:
        """The script exchanges gradients by itself."""

    def compile_count(self) -> None:
        """The script's compilations are not seen."""

    def evaluate(self, limit: int | None) -> Mapping[str, float]:  # noqa: ARG002  # nothing is evaluated
        """Return no quality: a script evaluates for itself."""
        return {}

    def device_facts(self) -> DeviceFacts:
        """Return the device and dtype that the script's framework told; `unchecked` names what it did not.

        Nothing is known of the devices of a script that reported no step.

        Raises:
            TrialError: `invalid_measurement`, for a device that is none.
        """
        if self._whole_run is not None:
            self.peak_host_bytes = self._whole_run.peak_host_bytes
            self.unchecked = ("device, precision, loss, weights and quality: the script reported no step",)
            return DeviceFacts(kind=self._job.kind, name=_NOT_SEEN, count=1, precision=_NOT_SEEN)
        facts, unchecked = self._facts, []
        kind = facts.get("kind")
        if kind not in _KINDS:
            raise TrialError("invalid_measurement", f"the script reported the device {kind!r}")
        dtype = facts.get("dtype")
        precision = self._job.precision
        if isinstance(dtype, str):
            precision = label_of(kind, dtype, float32_is_rounded=bool(facts.get("is_rounded")))
        else:
            unchecked.append("the precision: the script's framework did not tell its dtype")
        if self._job.world_size > 1 and facts.get("num_workers") is None:
            unchecked.append("that the workers train together: the script's framework did not tell")
        if self._num_losses < LEAST_LOSSES:
            unchecked.append("the loss: the script reported it in fewer than two parts")
        elif self._job.world_size > 1:
            unchecked.append("the loss of all workers: that of rank 0 is shown")
        unchecked.append("weights, quality and compilations: they are not seen in a script")
        self.unchecked = tuple(unchecked)
        peak = facts.get("peak_memory_bytes")
        return DeviceFacts(
            kind=kind,
            name=self._device_name(kind, facts.get("name")),
            count=1,
            precision=precision,
            peak_memory_bytes=int(peak) if isinstance(peak, (int, float)) else None,
        )

    def matmul_benchmark(self, size: int) -> None:  # the script computes, not this process
        """Return None, because this process computes nothing."""

    def state(self) -> Mapping[str, Any]:
        """Return no weights."""
        return {}

    def checkpoint(self) -> Mapping[str, Any]:
        """Return nothing: a script keeps its own checkpoints."""
        return {}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Do nothing, as there is nothing in a checkpoint."""

    def close(self) -> None:
        """Let the script stop or train to its end, and end all that came of it."""
        try:
            self._script.finish(trains_to_end=self._spec.train_to_end)
        finally:
            self._script.close()

    def _variables(self) -> dict[str, str]:
        """Return the environment of the script: this process's, with its interpreter first on PATH.

        The word `python` means this process's own interpreter unless the user names another. The folder of
        Keras' settings and downloads is the user's own, which fork servers hide.
        """
        callback = str(Path(__file__).parents[3] / "callback")
        interpreter = Path(self._spec.python or sys.executable)
        hosts = [address.rpartition(":")[0] for address in self._job.addresses]
        paths = [callback, *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {
            **os.environ,
            "PATH": os.pathsep.join([str(interpreter.parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": str(self._job.threads),
            "LOCAL_WORLD_SIZE": str(hosts.count(hosts[self._job.rank])),
        }
        if variables.get("KERAS_HOME") == os.devnull:
            del variables["KERAS_HOME"]
        return variables

    def _require_together(self, num_workers: object) -> None:
        """Raise TrialError for a script of several workers that trains in each of them alone."""
        wanted = self._job.world_size
        if wanted > 1 and num_workers is not None and num_workers != wanted:
            raise TrialError(
                "invalid_measurement",
                f"the trial has {wanted} workers and the script trains in groups of {num_workers}; it must "
                "join all of them by RANK and WORLD_SIZE, as torch.distributed.init_process_group does",
            )

    def _require_samples(self, counted: int) -> int:
        """Return the samples of a part. Raises TrialError if they are not the trial's batch in every step."""
        if counted == self._asked * self._share:
            return counted
        raise TrialError(
            "invalid_measurement",
            f"the script counted {counted:,} samples in steps={self._asked}, where the trial's batch is "
            f"{self._share} a worker; make global_batch_size the samples that all workers take for one "
            "optimizer step, and leave out a smaller last batch",
        )

    @staticmethod
    def _device_name(kind: str, name: object) -> str:
        if isinstance(name, str):
            return name
        return cpu_model() if kind == "cpu" else tpu_name(slice_type() or "unknown")

    @staticmethod
    def _require(message: Mapping[str, Any], event: str) -> Mapping[str, Any]:
        if message.get("event") != event:
            said = str(message.get("event"))[:40]
            raise TrialError("invalid_measurement", f"the script said {said!r} where {event!r} was expected")
        return message


def _positive(message: Mapping[str, Any], name: str) -> float:
    """Return a number of a report that is finite and not negative. Raises TrialError."""
    value = message.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise TrialError("invalid_measurement", f"the script reported {name}={str(value)[:40]}")
