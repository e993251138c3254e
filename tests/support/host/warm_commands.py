"""Commands in forks of a process that has imported what commands import.

As a script, `python warm_commands.py MODULE...`: a line of its standard input is a command, in JSON. It
forks, answers with the process id, and with the exit code when the command has ended. What differs from a
process of its own: variables at the time of the imports, and the name of the process. `cli_process` falls
back to a process of its own where variables differ that an import may read.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory

from repository import ROOT

MORE_MODULES = ("fsspec", "mlflow.store.tracking.sqlalchemy_store", "pandas", "vl_convert")
"""Modules that commands import late."""

_WITH_FRAMEWORKS = {
    "__main__.py",
    "callback",
    "capture",
    "native",
    "train",
    "training",
    "with_keras",
    "with_torch",
}
"""Files and folders of ours that a command does not import: most need a framework, `callback` a script."""

_READ_LATE = ("MLFLOW_", "ORCHESTRATOR_", "PYTEST_CURRENT_TEST", "PYTHONBREAKPOINT", "RAY_", "TUNE_")
"""Starts of the names of variables that a command reads when it runs, and not when it is imported.

A sweep in the process of the tests leaves those of Ray and MLflow there.
"""


class WarmCommands:
    """The process that forks, started with the first command; one command at a time.

    Args:
        more_modules: frameworks that its commands import.
    """

    def __init__(self, *more_modules: str) -> None:
        self._modules = (*MORE_MODULES, *more_modules)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._variables: Mapping[str, str] = {}

    def run(
        self, words: Sequence[str], *, cwd: Path, variables: Mapping[str, str], seconds: float
    ) -> tuple[int, str, str] | None:
        """Run a command to its end: its exit code, output and errors; None where a fork would not do.

        Raises:
            subprocess.TimeoutExpired: it took longer, and was killed.
        """
        asked = {name: value for name, value in variables.items() if not name.startswith(_READ_LATE)}
        if not self._lock.acquire(blocking=False):
            return None
        try:
            process = self._started(asked)
            return None if process is None else _run_query(process, words, cwd, variables, seconds)
        finally:
            self._lock.release()

    def _started(self, variables: Mapping[str, str]) -> "subprocess.Popen[str] | None":
        if self._process is None or self._process.poll() is not None:  # a test ended it with its relatives
            self._variables = variables
            self._process = subprocess.Popen(
                [sys.executable, __file__, *self._modules],
                env=dict(variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(_end, self._process)
        return self._process if variables == self._variables else None


def _end(process: "subprocess.Popen[str]") -> None:
    process.communicate()  # which closes its standard input: nothing is left to do


def _run_query(
    process: "subprocess.Popen[str]",
    words: Sequence[str],
    cwd: Path,
    variables: Mapping[str, str],
    seconds: float,
) -> tuple[int, str, str]:
    assert process.stdin is not None
    assert process.stdout is not None
    with TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        request = {"words": words, "cwd": str(cwd), "variables": variables, "out": str(out), "err": str(err)}
        process.stdin.write(f"{json.dumps(request)}\n")
        process.stdin.flush()
        pid = int(process.stdout.readline())
        is_late = not select.select([process.stdout], [], [], seconds)[0]
        if is_late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        code = int(process.stdout.readline())
        texts = out.read_text(), err.read_text()
    if is_late:
        raise subprocess.TimeoutExpired([*words], seconds, *texts)
    return code, *texts


def modules_here() -> Iterator[str]:
    """Yield the modules of ours that import no framework, and the plugins that Hydra imports every time."""
    for package in ("orchestrator", "workloads"):
        for file in sorted((ROOT / package).rglob("*.py")):
            path = file.relative_to(ROOT)
            if not _WITH_FRAMEWORKS.intersection(path.parts):
                yield ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    plugins = import_module("hydra._internal.core_plugins")
    yield from (f"{plugins.__name__}.{module.name}" for module in iter_modules(plugins.__path__))


def serve(modules: Sequence[str]) -> None:
    """Import the modules, and fork a command for every line until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    for module in (*modules_here(), *modules):
        import_module(module)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(request: Mapping[str, object]) -> None:
    """Run the command in this fork, as `python -m orchestrator` would."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["variables"])  # type: ignore[arg-type]  # of JSON
    os.chdir(str(request["cwd"]))
    for descriptor, path in ((0, os.devnull), (1, str(request["out"])), (2, str(request["err"]))):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.path[0] = str(Path.cwd())
    sys.argv = ["orchestrator", *request["words"]]  # type: ignore[misc]  # likewise
    runpy.run_module("orchestrator", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.argv[1:])
