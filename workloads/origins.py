"""Origins of workloads: this package, installed distributions, and folders that a user names."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

import workloads

if TYPE_CHECKING:  # a command that only shows its help reads origins, and no spec
    from workloads.spec import Framework

PATH_VARIABLE = "ORCHESTRATOR_WORKLOAD_PATH"
"""Folders that hold `NAME/spec.py`, `NAME/torch_job.py` or `NAME/keras_job.py`, separated as in PATH."""

ENTRY_POINTS = "orchestrator.workloads"
"""Group in which a distribution names its workloads: NAME = package that has a `spec.py` or a job."""

JOB_FILES: "Mapping[Framework, str]" = {"torch": "torch_job.py", "keras": "keras_job.py"}
"""Framework -> file of a folder that has a job in the user's own code."""

_FILES = ("spec.py", *JOB_FILES.values())
_EXPECTED = "spec.py, torch_job.py or keras_job.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Import location of a workload, also for an interpreter in which it is not installed.

    Attributes:
        package: dotted name; its module `spec`, or those of its jobs, define the workload.
        folder: folder of the top-level package, absolute; None for a declared workload of `workloads`, which
            every interpreter has.
    """

    package: str
    folder: str | None = None

    @property
    def top(self) -> str:
        """Name of the top-level package."""
        return self.package.partition(".")[0]

    @property
    def is_bundled(self) -> bool:
        """Return whether it is a workload of this distribution."""
        return self.top == workloads.__name__


def origins() -> Mapping[str, Origin]:
    """Name -> origin of every workload that there is.

    Raises:
        ValueError: a folder or an entry point without a workload, or two workloads of one name.
    """
    return _origins(search_path())


def search_path() -> tuple[Path, ...]:
    """Return the folders that PATH_VARIABLE names. Raises ValueError for one that is not there."""
    named = os.environ.get(PATH_VARIABLE, "").split(os.pathsep)
    folders = tuple(dict.fromkeys(_find_place(folder) for folder in named if folder))
    for folder in folders:
        if not _is_folder(folder):
            raise ValueError(f"workload_path={folder} is not a folder; name one that holds NAME/spec.py")
    return folders


def _find_place(name: str) -> Path:
    """Resolve a named folder; a name that does not exist is returned unchanged."""
    try:
        return Path(name).expanduser().resolve()
    except (OSError, RuntimeError):  # an unknown user, or a loop of links
        return Path(name)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long
        return False


def import_spec(origin: Origin) -> ModuleType:
    """Import a workload's module `spec`. Raises any exception of its code."""
    make_importable(origin)
    return import_module(f"{origin.package}.spec")


def forget_origins() -> None:
    """Look for workloads anew the next time."""
    _origins.cache_clear()


@cache
def _origins(folders: tuple[Path, ...]) -> Mapping[str, Origin]:
    origins_by_name: dict[str, Origin] = {}
    in_folders = (origin for folder in folders for origin in _in_folder(folder))
    for name, origin in (*_ours(), *_installed(), *in_folders):
        first = origins_by_name.setdefault(name, origin)
        if first != origin:
            ways = " and ".join(place.folder or f"package {place.package}" for place in (first, origin))
            raise ValueError(f"there are two workloads {name!r}, in {ways}; rename one of them")
    return origins_by_name


def _ours() -> Iterator[tuple[str, Origin]]:
    for module in iter_modules(workloads.__path__, "workloads."):
        name = module.name.rpartition(".")[2]
        if module.ispkg and find_spec(f"{module.name}.spec"):
            yield name, Origin(package=module.name)
        elif module.ispkg and _is_workload(Path(workloads.__path__[0], name)):
            yield name, Origin(package=module.name, folder=workloads.__path__[0])


def _installed() -> Iterator[tuple[str, Origin]]:
    for point in metadata.entry_points(group=ENTRY_POINTS):
        top, *inner = point.module.split(".")
        spec = find_spec(top)
        folder, *_ = (spec and spec.submodule_search_locations) or ("",)
        if not folder or not _is_workload(Path(folder, *inner)):
            raise ValueError(
                f"entry point {point.name!r} of group {ENTRY_POINTS!r} names {point.value!r}, "
                f"expected an installed package that has {_EXPECTED}"
            )
        yield point.name, Origin(package=point.module, folder=folder)


def _in_folder(folder: Path) -> Iterator[tuple[str, Origin]]:
    packages = sorted(path for path in folder.iterdir() if _is_workload(path))
    if not packages:
        hint = folder.parent if _is_workload(folder) else "one that holds NAME/spec.py"
        raise ValueError(f"workload_path={folder} holds no folder with {_EXPECTED}; name {hint}")
    for package in packages:
        if not package.name.isidentifier():
            raise ValueError(f"{package} cannot be imported; its name may have letters, digits and _")
        _refuse_another(package.name, package)
        yield package.name, Origin(package=package.name, folder=str(package))


def _is_workload(folder: Path) -> bool:
    return any((folder / file).is_file() for file in _FILES)


def make_importable(origin: Origin) -> None:
    """Let its top-level package be the one in its folder, and nothing that lies beside that be found."""
    if origin.folder is None:
        return
    name, folder = origin.top, Path(origin.folder)
    _refuse_another(name, folder)
    if find_spec(name) is not None:
        return
    spec = PathFinder.find_spec(name, [str(folder.parent)])
    assert spec is not None
    sys.modules[name] = module_from_spec(spec)
    try:
        if spec.loader is not None:  # a folder without __init__.py has none
            spec.loader.exec_module(sys.modules[name])
    except BaseException:
        del sys.modules[name]
        raise


def _refuse_another(name: str, folder: Path) -> None:
    """Raises ValueError if the import of `name` would find anything else than `folder`."""
    spec = find_spec(name)
    if spec is None:
        return
    places = [Path(location).resolve() for location in spec.submodule_search_locations or ()]
    if folder.resolve() not in places:
        there = places[0] if places else spec.origin
        raise ValueError(f"{folder} has the name of another module, {there}; rename the folder")
