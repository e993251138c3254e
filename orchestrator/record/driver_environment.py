"""Environment of the driver: code, git, host. Contains no secret and no environment variable."""

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from orchestrator.train.environment import cpu_model

_GIT_SECONDS = 5.0
_PACKAGES = ("orchestrator", "workloads")


def driver_environment(working_directory: Path, *, packages: Iterable[Path] = ()) -> dict[str, str]:
    """Facts of the driver's process and of the user's folder; what is unknown is left out.

    Args:
        packages: folders of the user's own code.
    """
    variables = {
        "python": platform.python_version(),
        "orchestrator": own_version(),
        "code_sha256": code_sha256(packages),
        "hostname": platform.node(),
        "platform": platform.platform(),
        "cpu_model": cpu_model(),
        **_git_state(working_directory),
    }
    return {name: value for name, value in variables.items() if value}


def own_version() -> str | None:
    """The installed distribution's; None where the code is used from a folder."""
    try:
        return metadata.version("orchestrator")
    except metadata.PackageNotFoundError:
        return None


def code_sha256(packages: Iterable[Path] = ()) -> str:
    """Hash all sources of this package and the user's by their path within a package; git may know neither.

    An installed version may be edited, and a user's package need not lie in the working directory.
    """
    digest = hashlib.sha256()
    ours = [Path(str(files(package))) for package in _PACKAGES]
    for root in (*ours, *sorted(packages, key=lambda folder: folder.name)):
        for file in sorted(root.rglob("*.py")):
            path, source = file.relative_to(root.parent).as_posix(), file.read_bytes()
            digest.update(f"{path} {len(source)}\n".encode() + source)
    return digest.hexdigest()


def _git_state(folder: Path) -> dict[str, str | None]:
    """The commit that the folder is at, and whether tracked files differ from it."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"git_commit": commit, "git_dirty": None if changes is None else str(bool(changes)).lower()}


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of git; None without git, a repository, or an answer in time."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
