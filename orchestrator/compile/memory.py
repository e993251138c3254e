"""(training step, device) -> whether the step's program fits, as the device's own compiler says."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from orchestrator.compile.cache import CompileCache, key_of
from orchestrator.compile.child import ChildError, Limits, run_child
from orchestrator.compile.compiler_output import reported_bytes
from orchestrator.compile.step import StepProgram, answers_in, ask_trainer, with_smaller_batch
from orchestrator.compile.targets import LIBTPU_VERSION, CompileTarget, target_of
from orchestrator.core.memory_fit import MemoryFit, NoFit
from orchestrator.train.capture.hlo import MalformedProgramError, module_of, split_over

_PROGRAMS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "torch_xla": ("orchestrator.train.capture.torch_xla_program", {"PJRT_DEVICE": "CPU"}),
    "tensorflow": (
        "orchestrator.train.capture.tensorflow_program",
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


class TpuMemoryCompiler:
    """Google's TPU compiler in child processes, and a cache of its answers.

    Args:
        python: interpreter of an environment with `libtpu`.
        code_sha256: hash of the code, ours and the user's: a program of other code is never used.
        compiles: False: answer from the cache alone.
    """

    def __init__(
        self, *, python: str, folder: Path, limits: Limits, code_sha256: str, compiles: bool
    ) -> None:
        self._python = Path(python).absolute()
        self._cache = CompileCache(folder)
        self._limits = limits
        self._code_sha256 = code_sha256
        self._compiles = compiles

    def fit_of(self, step: StepProgram) -> MemoryFit | NoFit:
        """Return the memory of a step on one replica, or the reason why it is not known."""
        return with_smaller_batch(step, self._fit_or_reason)

    def knows(self, step: StepProgram) -> bool:
        """Return whether the answer needs no new process of a compiler."""
        if self._obstacle(step) is not None:
            return True
        return self._cache.program(self._capture_key(step)) is not None

    def _fit_or_reason(self, step: StepProgram) -> MemoryFit | NoFit:
        if obstacle := self._obstacle(step):
            return NoFit(reason=obstacle)
        try:
            return self._fit(step)
        except (ChildError, OSError) as error:  # a full disk, too
            return NoFit(reason=str(error))

    def _obstacle(self, step: StepProgram) -> str | None:
        """Explain why a step cannot be compiled at all; None if it may be."""
        if target_of(step.device) is None:
            return f"the TPU compiler has no target for {step.device.name}"
        if step.trainer not in _PROGRAMS:
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

    @cached_property
    def _version(self) -> str | None:
        try:
            told = subprocess.run(
                [str(self._python), "-I", "-c", _VERSION],
                capture_output=True,
                text=True,
                timeout=_VERSION_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return told.stdout.strip()

    def _fit(self, step: StepProgram) -> MemoryFit | NoFit:
        target, version = target_of(step.device), self._version
        assert target is not None
        assert version is not None
        capture_key = self._capture_key(step)
        captured = self._cache.program(capture_key)
        if captured is None:
            if not self._compiles:
                return NoFit(reason="not compiled yet")
            captured = self._captured(step)
            self._cache.keep_program(capture_key, *captured)
        try:
            module, batch_parameters = module_of(captured[0]), captured[1]
            if target.partitions > 1:
                module = split_over(module, batch_parameters, partitions=target.partitions)
        except MalformedProgramError as error:
            return NoFit(reason=str(error))
        key = key_of("memory", module.hex(), target, version)
        fit = self._cache.fit(key)
        if fit is None:
            if not self._compiles:
                return NoFit(reason="not compiled yet")
            fit = self._compiled(module, target, version)
            self._cache.keep_fit(key, fit)
        return fit

    def _capture_key(self, step: StepProgram) -> str:
        return key_of("capture", step.trainer, step.environment.versions, step.request, self._code_sha256)

    def _captured(self, step: StepProgram) -> tuple[bytes, tuple[int, ...]]:
        """Capture the program in the trainer's own environment. Raises ChildError."""
        name, variables = _PROGRAMS[step.trainer]
        with tempfile.TemporaryDirectory(prefix="capture-") as place:
            answer = ask_trainer(
                name,
                step,
                step.request,
                keys={"batch_parameters"},
                folder=Path(place),
                variables=variables,
                limits=self._limits,
            )
            return Path(place, "program.hlo.pb").read_bytes(), tuple(answer["batch_parameters"])

    def _compiled(self, module: bytes, target: CompileTarget, version: str) -> MemoryFit:
        """Compile until memory is assigned; machine code is not waited for. Raises ChildError."""
        with tempfile.TemporaryDirectory(prefix="compile-") as place:
            folder = Path(place)
            (folder / "module.hlo.pb").write_bytes(module)

            def needed_bytes() -> int | None:
                reports = folder.glob("dump/*memory-usage-report.txt")
                return next(filter(None, (reported_bytes(path.read_text()) for path in reports)), None)

            lines = run_child(
                [str(self._python), "-I", str(Path(__file__).with_name("pjrt_child.py"))],
                request=json.dumps(
                    {
                        "module": str(folder / "module.hlo.pb"),
                        "topology": target.topology,
                        "chip_config": target.chip_config,
                        "partitions": target.partitions,
                    }
                ),
                variables={
                    **_NO_METADATA_SERVER,
                    "XLA_FLAGS": f"--xla_dump_to={folder / 'dump'} --xla_dump_hlo_as_text",
                    "TPU_LOG_DIR": place,
                    "TMPDIR": place,
                    "HOME": place,
                },
                folder=folder,
                limits=self._limits,
                is_enough=lambda: needed_bytes() is not None,
            )
            needed = needed_bytes()
            if needed is None:
                reason = str(answers_in(lines).get("error", "it reported no memory")).splitlines()[0]
                raise ChildError(f"the TPU compiler refused the program: {reason[:200]}")
            return MemoryFit(
                needed_bytes=needed, granted_bytes=target.granted_bytes, compiler=f"libtpu {version}"
            )
