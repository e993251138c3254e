"""Versions and processor that a worker's interpreter finds."""

import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

_DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-tpu"),
}
"""Packages that come in distributions of other names."""

_TPU_GENERATIONS: Mapping[str, str] = {"v5litepod": "v5e"}


def framework_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of packages and of Python (`python`); what is not installed is left out. Imports nothing."""
    found = {package: _version_of(package) for package in packages}
    installed = {package: version for package, version in found.items() if version is not None}
    return {"python": platform.python_version(), **installed}


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor as the kernel names it, or its architecture where the kernel does not say."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.machine()


def tpu_name(accelerator_type: str) -> str:
    """A TPU's generation as the device files call it, from Cloud TPU's type of a slice: `v5litepod-8`."""
    generation = accelerator_type.partition("-")[0]
    return f"TPU {_TPU_GENERATIONS.get(generation, generation)}"


def _version_of(package: str) -> str | None:
    for distribution in _DISTRIBUTIONS.get(package, (package,)):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return None
