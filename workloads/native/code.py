"""The files of a native workload: which jobs it has, its knobs, and the version of its code."""

import ast
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from workloads.jobs import JobError
from workloads.origins import JOB_FILES, Origin, make_importable
from workloads.spec import Framework

_OPTIONS_FILE = "options.py"
TRAINERS_VERSION = 1
"""Raised when the trainers of native jobs, or their batches, compute something else."""

_VERSION_DIGITS = 12  # hexadecimal: 48 bits, which every reader of JSON keeps


@dataclass(frozen=True, kw_only=True)
class _NoOptions:
    """The knobs of a job that has none."""


def list_frameworks(origin: Origin) -> tuple[Framework, ...]:
    """List the frameworks in which a workload has a job; none for a declared workload.

    Raises:
        JobError: a folder with a job and a spec.
    """
    if origin.folder is None:
        return ()
    folder = _find_folder(origin)
    found = tuple(framework for framework, file in JOB_FILES.items() if (folder / file).is_file())
    if found and (folder / "spec.py").is_file():
        raise JobError(f"{folder} has spec.py and {JOB_FILES[found[0]]}; keep one of them")
    return found


def build_options(origin: Origin) -> type[Any]:
    """Return the class `Options` of options.py, or of the only job; without one, a class without fields.

    Raises:
        JobError: two jobs without options.py, of which one has a class `Options`.
        Exception: any exception of the code.
    """
    make_importable(origin)
    if (_find_folder(origin) / _OPTIONS_FILE).is_file():
        options: type[Any] = import_module(f"{origin.package}.options").Options
        return options
    frameworks = list_frameworks(origin)
    found = [getattr(job_module(origin, framework), "Options", None) for framework in frameworks]
    if len(frameworks) > 1 and any(found):
        raise JobError("two jobs need one class Options, in options.py; expected options.py beside them")
    return found[0] or _NoOptions


def job_module(origin: Origin, framework: Framework) -> Any:
    """Import the module of a job. Raises any exception of its code."""
    make_importable(origin)
    return import_module(f"{origin.package}.{JOB_FILES[framework].removesuffix('.py')}")


def find_builder(
    origin: Origin, framework: Framework, options: Mapping[str, Any], *, job_class: type[Any]
) -> Callable[[], Any]:
    """Return a function that builds the job with these options, and checks its class.

    Raises:
        JobError: the module has no `build`.
        Exception: any exception of the module's code.
    """
    module, values = job_module(origin, framework), build_options(origin)(**options)
    if not callable(getattr(module, "build", None)):
        raise JobError(f"{module.__file__} has no build; expected build(options) -> {job_class.__name__}")

    def build() -> Any:
        job = module.build(values)
        if not isinstance(job, job_class):
            raise JobError(f"build returned {type(job).__name__}, expected {job_class.__name__}")
        return job

    return build


def compute_version(origin: Origin, *, files: str = "") -> int:
    """Return a number that changes when the code of a workload does; comments and layout do not count.

    Args:
        files: hash of other files that decide what is computed; empty: there are none.
    """
    folder = _find_folder(origin)
    digest = hashlib.sha256(str(TRAINERS_VERSION).encode())
    for path in sorted(folder.rglob("*.py")):
        code = ast.dump(ast.parse(path.read_bytes(), filename=str(path)))
        digest.update(f"{path.relative_to(folder)}\n{code}\n".encode())
    digest.update(files.encode())
    return int(digest.hexdigest()[:_VERSION_DIGITS], 16)


def _find_folder(origin: Origin) -> Path:
    assert origin.folder is not None, "native workloads lie in a folder"
    return Path(origin.folder, *origin.package.split(".")[1:])
