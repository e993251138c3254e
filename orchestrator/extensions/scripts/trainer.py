"""A training script as a trainer: the loop asks for steps, and the script's own clock times them."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.core.errors import TrialError
from orchestrator.core.result import DeviceFacts
from orchestrator.extensions.scripts.connection import Script, WholeRun
from orchestrator.extensions.scripts.part import (
    Part,
    part_in,
    require_version,
    require_whole_time,
)
from orchestrator.extensions.scripts.seen_files import MOST_FILES, SeenFiles
from orchestrator.extensions.scripts.variables import build_variables
from orchestrator.train.environment import cpu_model, tpu_name
from orchestrator.train.gce_metadata import slice_type
from orchestrator.train.measurement.core_waits import CoreWaits, read_core_waits
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.precision import find_precision_label
from orchestrator.train.trainer import LEAST_LOSSES, WorkerJob
from orchestrator.train.training_process import TrainingProcess
from workloads.script.command import TORCH_DEVICES, find_observed_words, format_words
from workloads.spec import Phase, ScriptSpec

_LEAST_WAIT = 0.1  # of the time of steps; below it a loader with processes may have read ahead
_NOT_SEEN = "not seen"
_TORN = (
    "a loop of steps() ended within a step, whose time counted and whose samples did not; end the loop by "
    "itertools.islice(loader, count) in place of break, and make its batches a multiple of accumulation_steps"
)
_MOST_LEFT_OUT = 0.03  # by which smaller batches may change the rate
_UNTRAINED = (
    "no backward pass and no optimizer step of PyTorch ran in the process that reports the steps, so that "
    "they trained nothing; report the steps in the process that trains"
)
_OBSERVED = (
    "where a step begins and ends: the script was observed, by its optimizer and its loader; an evaluation "
    "without a loader of its own is in the steps"
)
_LOADER = (
    "the rate of its loader, which may limit faster devices: it is seen in steps(loader) over a PyTorch "
    "DataLoader, of one with num_workers where an accelerator waits for it"
)
_NO_STEP = "report its steps with orchestrator_callback"
_NOT_OBSERVED = (
    "no optimizer step of PyTorch, Keras, Lightning or Hugging Face's Trainer was seen in its own process; "
    f"{_NO_STEP}, without script.observe"
)


class OwnData:
    """The data of a script, which reads them by itself.

    Attributes:
        parts: what the script has reported so far.
    """

    staged = False
    num_train_samples = None
    num_held_out = None
    wait_seconds: float | None = None

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def start(self, *, rank: int, world_size: int, first: int, last: int) -> None:
        """Do nothing."""

    def measure_rate(self) -> float | None:
        """Return the samples per second of the script's loader; None: not known."""
        return find_loader_rate(self.parts)

    def close(self) -> None:
        """Do nothing."""


class ScriptTrainer(TrainingProcess):
    """A script that someone else wrote. Its callback takes the requested number of steps, and times them.

    The steps that the loop asks for are taken together at the next `synchronize`, which moves the clock on by
    the time that the script has measured between two idle devices.
    """

    def __init__(self) -> None:
        self.samples = 0
        self.unchecked = ()
        self.cpu_seconds = 0.0
        self.own_data = OwnData()
        self._peak_host_bytes = 0
        self._seconds, self._paused_seconds, self._wall_seconds = 0.0, 0.0, 0.0
        self._asked = 0
        self._has_begun = False
        self._whole_run: WholeRun | None = None

    def setup(self, workload: ScriptSpec, job: WorkerJob, batches: OwnData) -> None:
        """Start the command; wait for its first step if its files name the callback."""
        self._spec, self._job, self._data, self._parts = workload, job, batches, batches.parts
        trial = job.trial
        self._share = trial.global_batch_size // job.world_size
        words = format_words(
            workload.command,
            {
                "batch_size_per_worker": self._share,
                "device": trial.device,
                "global_batch_size": trial.global_batch_size,
                "num_workers": trial.num_workers,
                "precision": job.precision,
                "seed": trial.seed,
                "steps": trial.steps,
                "torch_device": TORCH_DEVICES[job.kind],  # of the device that runs it: a rehearsal has a CPU
            },
        )
        if words[0] == "python" and workload.python:
            words[0] = workload.python
        variables = build_variables(os.environ, job=job, spec=workload)
        self._left_out = variables.left_out
        if workload.is_observed:
            words = find_observed_words(words, variables.passed["PATH"])
        self._seen_files = SeenFiles(Path(workload.folder))
        self._script = Script(words, folder=workload.folder, variables=variables)
        if workload.reports:
            self._begin()

    def measure_whole_run(self) -> LoopTimes | None:
        """Wait until the script begins a step; return the times of one that ended before and reports none.

        Raises:
            TrialError: the script failed.
        """
        load = os.getloadavg()[0]
        if not self._has_begun:
            self._begin()
        if self._whole_run is None:
            return None
        return self._whole_run.build_times(load_average=(load, os.getloadavg()[0]))

    def list_files(self) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Return the files that the script read, with their hashes, and those that it wrote."""
        return self._seen_files.hash(), tuple(self._seen_files.written)

    def _begin(self) -> None:
        self._has_begun = True
        try:
            self._whole_run = self._script.wait_for_first_step()
            if self._whole_run is None:
                hello = self._require(self._script.read_message(), "hello")
                require_version(hello)
                self._seen_files.add(hello)
            elif self._spec.reports:
                raise TrialError(
                    "invalid_measurement",
                    f"the script ended after {self._whole_run.seconds:.3g} s with exit code 0 and reported "
                    f"no step; {_NOT_OBSERVED if self._spec.is_observed else _NO_STEP}",
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

    def find_peak_host_bytes(self) -> int:
        """Return the largest resident set that the script reported."""
        return self._peak_host_bytes

    def core_waits(self) -> CoreWaits:
        """Read how long the threads of the script have waited for a core so far."""
        return read_core_waits(self._script.reporter) if self._script.reporter else {}

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
        began = time.perf_counter()
        self._script.order({"order": "part", "steps": self._asked})
        message = self._require(self._script.read_message(), "part")
        wall_seconds = time.perf_counter() - began
        self._seen_files.add(message)
        part = part_in(
            message, steps=self._asked, wall_seconds=wall_seconds, cores=len(os.sched_getaffinity(0))
        )
        if part.is_torn:
            raise TrialError("invalid_measurement", _TORN)
        self._require_together(part.num_workers)
        self._seconds += part.seconds
        self._paused_seconds += part.paused_seconds
        self._wall_seconds += wall_seconds
        require_whole_time(
            reported_seconds=self._seconds + self._paused_seconds, wall_seconds=self._wall_seconds
        )
        self.cpu_seconds += part.cpu_seconds
        self.samples += self._require_samples(part.samples)
        self._asked = 0
        self._peak_host_bytes = max(self._peak_host_bytes, part.peak_host_bytes)
        if part.data_wait_seconds is not None:
            self._data.wait_seconds = (self._data.wait_seconds or 0.0) + part.data_wait_seconds
        self._parts.append(part)

    def losses(self) -> Mapping[str, float]:
        """Return the loss that the script reported in its last part; empty if it reported none."""
        loss = self._parts[-1].loss if self._parts else None
        return {} if loss is None else {"model": loss}

    def without_exchange(self) -> None:
        """The script exchanges gradients by itself."""

    def compile_count(self) -> None:
        """The script's compilations are not seen."""

    def evaluate(self, limit: int | None) -> Mapping[str, float]:  # noqa: ARG002  # nothing is evaluated
        """Return no quality: a script evaluates for itself."""
        return {}

    def device_facts(self) -> DeviceFacts:
        """Return the device and dtype that the script's framework reported; `unchecked` names the rest.

        The devices of a script that reported no step are unknown.

        Raises:
            TrialError: `invalid_measurement`, for a rate that smaller batches change.
        """
        if self._whole_run is not None:
            self._peak_host_bytes = self._whole_run.peak_host_bytes
            self.unchecked = (
                "device, precision, loss, weights and quality: the script reported no step",
                *self._find_left_out(),
            )
            return DeviceFacts(kind=self._job.kind, name=_NOT_SEEN, count=1, precision=_NOT_SEEN)
        require_training(self._parts)
        last = self._parts[-1]
        precision = self._job.precision
        if last.dtype is not None:
            precision = find_precision_label(last.kind, last.dtype, float32_is_rounded=last.is_rounded)
        self.unchecked = tuple(self._find_unchecked())
        return DeviceFacts(
            kind=last.kind,
            name=self._device_name(last.kind, last.name),
            count=1,
            precision=precision,
            peak_memory_bytes=last.peak_memory_bytes,
        )

    def _find_unchecked(self) -> Iterator[str]:
        """Yield what is not seen in the script, or left out of its steps."""
        last, has_peers = self._parts[-1], self._job.world_size > 1
        if last.dtype is None:
            yield "the precision: the script's framework did not tell its dtype"
        if last.is_given:
            yield "the samples of a step: the script gave their number, and its batches do not show it"
        if find_loader_rate(self._parts) is None:
            yield _LOADER
        if last.left_out.batches:
            yield f"smaller batches: {last.left_out.batches:,} were left out of the steps"
        if has_peers and last.num_workers is None:
            yield "that the workers train together: the script's framework did not tell"
        if sum(part.loss is not None for part in self._parts) < LEAST_LOSSES:
            yield "the loss: the script reported it in fewer than two parts"
        elif has_peers:
            yield "the loss of all workers: that of rank 0 is shown"
        if self._spec.is_observed:
            yield _OBSERVED
        if self._seen_files.has_more:
            yield f"changes of files: the script read more than {MOST_FILES:,}, and the first ones count"
        yield from self._find_left_out()
        yield "weights, quality and compilations: they are not seen in a script"

    def _find_left_out(self) -> Iterator[str]:
        """Yield the kinds of a scheduler's variables that the script does not get."""
        kinds = sorted({name.partition("_")[0] for name in self._left_out})
        if kinds:
            yield f"what hangs on a scheduler: {', '.join(f'{kind}_*' for kind in kinds)} are left out"

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
            if failure := self._script.finish(trains_to_end=self._spec.train_to_end):
                self.unchecked = (*self.unchecked, f"what follows the measured steps, where {failure}")
        finally:
            self._script.close()

    def _require_together(self, num_workers: int | None) -> None:
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
            "optimizer step, or write their number where the first dimension of a batch is another: "
            "steps(loader, samples=…)",
        )

    @staticmethod
    def _device_name(kind: str, name: str | None) -> str:
        if name is not None:
            return name
        return cpu_model() if kind == "cpu" else tpu_name(slice_type() or "unknown")

    @staticmethod
    def _require(message: Mapping[str, Any], event: str) -> Mapping[str, Any]:
        if message.get("event") != event:
            sent = str(message.get("event"))[:40]
            raise TrialError("invalid_measurement", f"the script said {sent!r} where {event!r} was expected")
        return message


def require_training(parts: Sequence[Part]) -> None:
    """Check that steps trained, and that the batches that are in no step would not change the rate. Pure.

    Raises:
        TrialError: `invalid_measurement`, with both rates; the first part compiles and has none.
    """
    if parts[-1].has_trained is False:
        raise TrialError("invalid_measurement", _UNTRAINED)
    timed, left_out = parts[1:], parts[-1].left_out
    if not timed or not left_out.batches:
        return
    samples, seconds = sum(part.samples for part in timed), sum(part.seconds for part in timed)
    rate = samples / seconds
    whole_rate = (samples + left_out.samples) / (seconds + left_out.seconds)
    if abs(rate / whole_rate - 1) > _MOST_LEFT_OUT:
        raise TrialError(
            "invalid_measurement",
            f"the script trains {whole_rate:.4g} samples/s with its smaller batches and {rate:.4g} without "
            "them; leave them out, as drop_last=True does, or take a batch that divides the data set",
        )


def find_loader_rate(parts: Sequence[Part]) -> float | None:
    """Return the samples per second of a script's loader; None: it cannot be known.

    A loader without processes reads nothing while the script trains: its rate is that inside `next()`. One
    with processes reads ahead: its rate is that of the steps if an accelerator waited for it. On a CPU its
    processes and the training take the cores from each other.
    """
    if len(parts) < 2:
        return None
    loaded, timed = parts[-1].loaded, parts[1:]
    if loaded.num_processes is None or not loaded.samples or not loaded.seconds:
        return None
    if loaded.num_processes == 0:
        return loaded.samples / loaded.seconds
    seconds = sum(part.seconds for part in timed)
    waited = sum(part.data_wait_seconds or 0.0 for part in timed)
    if timed[-1].kind == "cpu" or waited < _LEAST_WAIT * seconds:
        return None
    return sum(part.samples for part in timed) / seconds
