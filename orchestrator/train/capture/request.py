"""Request to a capture process, and its answer: one JSON line for one step program."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.core import codec
from orchestrator.core.errors import RecordError
from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings, Option
from workloads.native.code import list_frameworks
from workloads.origins import Origin
from workloads.registry import declared_workload
from workloads.spec import Gan, TokenPrediction, WorkloadSpec

REFUSED = "orchestrator_refused"
"""Key of an answer that gives a reason, and of no line that a user's code may print."""

HELD_PASSES = 2
"""Micro batches of a step that are traced: the second one has gradients beside it, and so have all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """A request for the program of a training step.

    Attributes:
        global_batch_size: samples of a step, all replicas together.
        origin: import location of the workload; None: search for it.
        shards: replicas over which weights, gradients and the optimizer's state are sharded.
    """

    workload: str
    workload_options: Mapping[str, Option]
    precision: str
    global_batch_size: int
    origin: Origin | None = None
    memory_settings: MemorySettings = DEFAULT_MEMORY
    shards: int = 1

    @property
    def passes(self) -> int:
        """Micro batches of the step, on one replica."""
        return self.memory_settings.count_passes(self.global_batch_size)

    @property
    def is_native(self) -> bool:
        """True for a job in the user's own code."""
        return self.origin is not None and bool(list_frameworks(self.origin))

    def spec(self) -> WorkloadSpec:
        """Make a declared workload's spec. Raises ValueError."""
        return declared_workload(self.workload, dict(self.workload_options), origin=self.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedStep:
    """The program of one training step of one replica that has the whole global batch.

    Attributes:
        module: an HloModuleProto, or an HloProto with one.
        batch_parameters: numbers of the entry parameters that hold samples.
        host_seconds: time that the host takes to prepare one step, at least; None: not known.
    """

    module: bytes
    batch_parameters: tuple[int, ...]
    host_seconds: float | None


def batch_shapes(spec: WorkloadSpec, size: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and dtype of every tensor in a batch of the last phase, by its name in the batch."""
    protocol = spec.phases[-1].protocol
    network = spec.networks["discriminator" if isinstance(protocol, Gan) else protocol.network]
    inputs = "int32" if network.takes_tokens else "float32"
    targets = network.input_shape if isinstance(protocol, TokenPrediction) else ()
    return {
        "x": ((size, *network.input_shape), inputs),
        "y": ((size, *targets), "int64"),
        **{noise.name: ((size, *noise.shape), "float32") for noise in spec.noise},
    }


@contextmanager
def refusals() -> Iterator[dict[str, Any]]:
    """Yield the answer of a capture process; an error of a step that cannot be traced becomes the answer."""
    answer: dict[str, Any] = {}
    try:
        yield answer
    except (RecordError, ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError) as error:
        answer[REFUSED] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def serve(capture: Callable[[CaptureRequest], CapturedStep], folder: str) -> None:
    """Read one request from standard input, and write the program into the folder.

    The answer is one line on standard output: `{"batch_parameters": [...], "host_seconds": ...}`, or
    one with `REFUSED` for a step that cannot be captured.
    """
    with refusals() as answer:
        captured = capture(codec.from_json(CaptureRequest, sys.stdin.readline()))
        Path(folder, "program.hlo.pb").write_bytes(captured.module)
        answer["batch_parameters"] = captured.batch_parameters
        answer["host_seconds"] = captured.host_seconds
    sys.stdout.write(f"{json.dumps(answer)}\n")
