"""(training step, GPU) -> the memory that the step's tensors take, counted in a process without a GPU."""

import tempfile
from contextlib import ExitStack, closing, nullcontext
from dataclasses import replace
from pathlib import Path

from orchestrator.compile.cache import CompileCache, hash_key
from orchestrator.compile.child import ChildError, ChildProcess, Limits
from orchestrator.compile.step import (
    StepProgram,
    ask_trainer,
    start_trainer,
    with_lighter_settings,
    with_smaller_batch,
    with_smaller_micro_batch,
)
from orchestrator.core.memory_fit import EXCHANGE_BYTES, NoFit, TensorCount
from orchestrator.train.capture.request import CaptureRequest

_MODULE = "orchestrator.train.capture.torch_tensors"
_VARIABLES = {"CUDA_VISIBLE_DEVICES": ""}


class GpuTensorCounter:
    """A count of steps' tensors in one child process, and a cache of its answers.

    The process of a bundled workload is used until `close` or its end, as its imports take longer than a
    count. A user's code may change global state, so it gets a process for each count.

    Args:
        code_sha256: hash of the code, ours and the user's: a count of other code is never used.
        compiles: False: answer from the cache alone.
        finds_largest: find the largest batch that fits, and not only a half of one that does not.
    """

    def __init__(
        self, *, folder: Path, limits: Limits, code_sha256: str, compiles: bool, finds_largest: bool = False
    ) -> None:
        self._finds_largest = finds_largest
        self._cache = CompileCache(folder)
        self._limits = limits
        self._code_sha256 = code_sha256
        self._compiles = compiles
        self._child: ChildProcess | None = None
        self._resources = ExitStack()

    def close(self) -> None:
        """End the process."""
        self._resources.close()
        self._child = None

    def find_fit(self, step: StepProgram) -> TensorCount | NoFit:
        """Return the memory of a replica's tensors, or the reason why it is not known."""
        fit = with_smaller_batch(step, self._fit_or_reason, finds_largest=self._finds_largest)
        if isinstance(fit, NoFit) or fit.fits:
            return fit
        if step.can_divide:
            fit = with_smaller_micro_batch(step, fit, self._fit_or_reason)
        return fit if fit.micro_batch_that_fits else with_lighter_settings(step, fit, self._fit_or_reason)

    def knows(self, step: StepProgram) -> bool:
        """Return whether the answer needs no new process."""
        return _obstacle(step) is not None or self._cache.count(self._key(step)) is not None

    def _fit_or_reason(self, step: StepProgram) -> TensorCount | NoFit:
        if obstacle := _obstacle(step):
            return NoFit(reason=obstacle)
        key = self._key(step)
        counted = self._cache.count(key)
        if counted is None:
            if not self._compiles:
                return NoFit(reason="not counted yet")
            try:
                counted = self._counted(step)
            except (ChildError, OSError) as error:  # a full disk, too
                return NoFit(reason=str(error))
            self._cache.keep_count(key, counted)
        from workloads.data.batches import STAGED_BYTES

        tensor_bytes, gradient_bytes = counted
        assert step.device.memory_bytes is not None
        return TensorCount(
            tensor_bytes=tensor_bytes,
            bucket_bytes=gradient_bytes if step.replicas > 1 and step.shards == 1 else 0,
            staged_bytes=STAGED_BYTES // step.replicas,
            capacity_bytes=round(step.device.memory_bytes),
            exchange_bytes=EXCHANGE_BYTES if step.replicas > 1 else 0,
        )

    def _key(self, step: StepProgram) -> str:
        return hash_key("tensors", step.environment.versions, _compute_share(step), self._code_sha256)

    def _counted(self, step: StepProgram) -> tuple[int, int]:
        """Count in the trainer's own environment. Raises ChildError and OSError."""
        if self._child is None or not self._child.is_alive:
            self.close()
            place = self._resources.enter_context(tempfile.TemporaryDirectory(prefix="capture-"))
            child = start_trainer(
                _MODULE, step, folder=Path(place), variables=_VARIABLES, limits=self._limits
            )
            self._child = self._resources.enter_context(closing(child))
        origin, keys = step.request.origin, {"tensor_bytes", "gradient_bytes"}
        with nullcontext() if origin is not None and origin.is_bundled else closing(self):
            answer = ask_trainer(self._child, step, _compute_share(step), keys=keys)
        return answer["tensor_bytes"], answer["gradient_bytes"]


def _compute_share(step: StepProgram) -> CaptureRequest:
    """Return the step of one replica, with its share of the batch."""
    share = step.request.global_batch_size // step.replicas
    return replace(step.request, global_batch_size=share, shards=step.shards)


def _obstacle(step: StepProgram) -> str | None:
    """Explain why a step's tensors cannot be counted; None if they may be."""
    if step.device.memory_bytes is None:
        return f"the memory of {step.device.name} is unknown: memory_bytes in its file"
    if step.trainer != "torch_ddp":
        return f"tensors of {step.trainer} on GPUs are not counted"
    if step.options.get("compile") == "on":
        return "torch.compile fuses operations, and its tensors are not counted"
    return step.environment.missing
