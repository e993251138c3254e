"""(training step, TPU) -> the program that Google's TPU compiler would be given, and a process of it."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event

from orchestrator.compile.cache import hash_key
from orchestrator.compile.child import ChildError, ChildProcess, Limits
from orchestrator.compile.step import StepProgram, answers_in, ask_trainer, start_trainer
from orchestrator.extensions.tpu_compiler.capture.hlo import MalformedProgramError, find_module, split_over
from orchestrator.extensions.tpu_compiler.program_cache import CapturedProgram, ProgramCache
from orchestrator.extensions.tpu_compiler.targets import LIBTPU_VERSION, CompileTarget, find_target

_CAPTURES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "torch_xla": ("orchestrator.extensions.tpu_compiler.capture.torch_xla_program", {"PJRT_DEVICE": "CPU"}),
    "tensorflow": (
        "orchestrator.extensions.tpu_compiler.capture.tensorflow_program",
        {"KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"},
    ),
}
"""Trainer -> the module that captures its step, and the variables of its process."""

_NO_METADATA_SERVER = {
    "TPU_SKIP_MDS_QUERY": "1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # no lock file: nothing is executed on a TPU
    "TPU_ACCELERATOR_TYPE": "v5litepod-1",  # this and the next one silence warnings
    "TPU_WORKER_HOSTNAMES": "localhost",
}
_INSTALL = "make tpu-compile"
_VERSION = "import importlib.metadata as m; print(m.version('libtpu'))"
_VERSION_SECONDS = 30


class NoProgramError(Exception):
    """A step without a program for the compiler, with the reason in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuProgram:
    """A program as the compiler gets it.

    Attributes:
        key: hash of everything that its compiled form depends on.
        host_seconds: time that the host takes to prepare one step, at least; None: not known.
    """

    module: bytes
    target: CompileTarget
    compiler: str
    key: str
    host_seconds: float | None


class TpuPrograms:
    """Capture of steps in the trainers' processes, the compiler's process, and a cache of programs.

    Args:
        python: interpreter of an environment with `libtpu`.
        code_sha256: hash of the code, ours and the user's: a program of other code is never used.
        captures: False: use programs that were captured earlier, and start no process.
    """

    def __init__(
        self, *, python: str, folder: Path, limits: Limits, code_sha256: str, captures: bool
    ) -> None:
        self._python = Path(python).absolute()
        self._limits = limits
        self._code_sha256 = code_sha256
        self._captures = captures
        self._is_cancelled = Event()
        self.cache = ProgramCache(folder)

    def obstacle(self, step: StepProgram) -> str | None:
        """Explain why a step cannot be compiled at all; None if it may be."""
        if find_target(step.device) is None:
            return f"the TPU compiler has no target for {step.device.name}"
        if step.trainer not in _CAPTURES:
            return f"programs of {step.trainer} cannot be captured"
        if step.num_workers > 1:
            return "programs over several slices are not compiled"
        if self._version is None:
            return f"there is no TPU compiler; get it with: {_INSTALL}"
        if self._version != LIBTPU_VERSION:
            return (
                f"the TPU compiler is libtpu {self._version}, not {LIBTPU_VERSION}; get it with: {_INSTALL}"
            )
        return step.environment.missing

    def cancel(self) -> None:
        """Kill the compilers that run, from another thread; none of them answers."""
        self._is_cancelled.set()

    def is_captured(self, step: StepProgram) -> bool:
        """Return whether the program of a step is in the cache."""
        return self.cache.program(self._capture_key(step)) is not None

    def build_program(self, step: StepProgram) -> TpuProgram:
        """Return the program of a step that has no obstacle.

        Raises:
            NoProgramError: it is not captured yet and may not be now, or it is malformed.
            ChildError, OSError: the trainer's process gave no answer.
        """
        target = find_target(step.device)
        assert target is not None
        capture_key = self._capture_key(step)
        captured = self.cache.program(capture_key)
        if captured is None:
            if not self._captures:
                raise NoProgramError("not compiled yet")
            captured = self._captured(step)
            self.cache.keep_program(capture_key, captured)
        try:
            module = find_module(captured.module)
            if target.partitions > 1:
                module = split_over(module, captured.batch_parameters, partitions=target.partitions)
        except MalformedProgramError as error:
            raise NoProgramError(str(error)) from error
        return TpuProgram(
            module=module,
            target=target,
            compiler=f"libtpu {self._version}",
            key=hash_key(module.hex(), target.topology, target.partitions, target.chip_config, self._version),
            host_seconds=captured.host_seconds,
        )

    @contextmanager
    def compiled(
        self, program: TpuProgram, *, is_enough: Callable[[Path], bool] = lambda _: False
    ) -> Iterator[tuple[Path, Sequence[str]]]:
        """Compile in a process; yield the folder of what the compiler wrote, and the process's lines.

        Args:
            is_enough: takes that folder; True: the process is killed, because it wrote what is wanted.

        Raises:
            ChildError, OSError: the process gave no answer.
        """
        with tempfile.TemporaryDirectory(prefix="compile-") as place:
            folder = Path(place)
            (folder / "module.hlo.pb").write_bytes(program.module)
            dump = folder / "dump"
            request = {
                "module": str(folder / "module.hlo.pb"),
                "topology": program.target.topology,
                "chip_config": program.target.chip_config,
                "partitions": program.target.partitions,
            }
            child = ChildProcess(
                [str(self._python), "-I", str(Path(__file__).with_name("pjrt_child.py"))],
                variables={
                    **_NO_METADATA_SERVER,
                    "XLA_FLAGS": f"--xla_dump_to={dump} --xla_dump_hlo_as_text",
                    "TPU_LOG_DIR": place,
                    "TMPDIR": place,
                    "HOME": place,
                },
                folder=folder,
                limits=self._limits,
            )
            with closing(child):
                lines = child.ask(
                    json.dumps(request), is_enough=lambda _: self._is_cancelled.is_set() or is_enough(dump)
                )
            yield dump, lines

    def _capture_key(self, step: StepProgram) -> str:
        return hash_key("capture", step.trainer, step.environment.versions, step.request, self._code_sha256)

    @cached_property
    def _version(self) -> str | None:
        try:
            answer = subprocess.run(
                [str(self._python), "-I", "-c", _VERSION],
                capture_output=True,
                text=True,
                timeout=_VERSION_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return answer.stdout.strip()

    def _captured(self, step: StepProgram) -> CapturedProgram:
        """Capture the program in the trainer's own environment. Raises ChildError."""
        name, variables = _CAPTURES[step.trainer]
        with tempfile.TemporaryDirectory(prefix="capture-") as place:
            child = start_trainer(name, step, folder=Path(place), variables=variables, limits=self._limits)
            with closing(child):
                answer = ask_trainer(child, step, step.request, keys={"batch_parameters", "host_seconds"})
            return CapturedProgram(
                module=Path(place, "program.hlo.pb").read_bytes(),
                batch_parameters=tuple(answer["batch_parameters"]),
                host_seconds=answer["host_seconds"],
            )


def refusal_in(lines: Sequence[str], *, otherwise: str) -> ChildError:
    """Make the error of a compiler that refused a program, in its own words."""
    reason = str(answers_in(lines).get("error", otherwise)).splitlines()[0]
    return ChildError(f"the TPU compiler refused the program: {reason[:200]}")
