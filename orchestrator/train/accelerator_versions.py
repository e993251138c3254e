"""Versions of the software between a framework and its accelerator, read without importing a framework."""

import ast
import ctypes
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from orchestrator.core.device import DeviceKind
from orchestrator.core.trainer import TrainerInfo

NVML = "libnvidia-ml.so.1"
NO_CUDA = "none"
"""Value of `cuda` for a build without CUDA."""

_CUDA_LIBRARIES: Mapping[str, str] = {"cudnn": "nvidia-cudnn-cu", "nccl": "nvidia-nccl-cu"}
"""Library -> the distribution that contains it, before the major version of CUDA: `nvidia-cudnn-cu13`."""
_LIBTPU = ("libtpu", "libtpu-nightly")
LEAST_DRIVER: Mapping[str, int] = {"11": 450, "12": 525, "13": 580}
"""Major version of CUDA -> least major version of the driver on Linux. NVIDIA, CUDA Toolkit release notes,
table "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version Compatibility"."""
_DRIVER_CHARACTERS = 80  # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE


def accelerator_versions(kind: DeviceKind, packages: Collection[str], *, nvml: str = NVML) -> dict[str, str]:
    """Return the versions that training on a kind of device depends on, besides those of the packages.

    Returns:
        For GPUs `cuda` of the framework's build (`none` without CUDA), `cudnn`, `nccl` and `nvidia_driver`,
        or `rocm` alone of a HIP build of torch; for TPUs `libtpu`. A version that is unknown is left out.
    """
    if kind == "tpu":
        return _without_unknown({"libtpu": _version_of_first(_LIBTPU)})
    if kind == "cpu":
        return {}
    rocm = _assigned_in_torch("hip") if "torch" in packages else None
    if rocm:
        return {"rocm": rocm}
    builds = [_CUDA_OF[package]() for package in packages if package in _CUDA_OF and find_spec(package)]
    cuda = builds[0] if builds else None
    major = (cuda or "").partition(".")[0]
    libraries = {name: _version_of_first([prefix + major]) for name, prefix in _CUDA_LIBRARIES.items()}
    return _without_unknown({"cuda": cuda, **libraries, "nvidia_driver": nvidia_driver(nvml)})


def reason_without_gpu(
    info: TrainerInfo, versions: Mapping[str, str], of_gpu: Mapping[str, str]
) -> str | None:
    """Explain why a framework's build cannot use the GPUs of a host; None if nothing speaks against it. Pure.

    Args:
        versions: versions of the trainer's packages.
        of_gpu: `accelerator_versions` for GPUs.
    """
    cuda, driver = of_gpu.get("cuda"), of_gpu.get("nvidia_driver")
    package = next((name for name in info.packages if name in _CUDA_OF), None)
    if cuda is None or package is None:
        return None
    build = f"{package} {versions.get(package, '')}".strip()
    if cuda == NO_CUDA:
        return f"{build} is a build without CUDA; get one with: {info.accelerator_install['gpu']}"
    least = LEAST_DRIVER.get(cuda.partition(".")[0])
    major = (driver or "").partition(".")[0]
    if least is None or not major.isdecimal() or int(major) >= least:
        return None
    return (
        f"{build} is built for CUDA {cuda}, which needs NVIDIA driver {least} or later, and this host has "
        f"{driver}; update the driver, or get a build for an older CUDA"
    )


def nvidia_driver(library: str = NVML) -> str | None:
    """Return the version of NVIDIA's driver as NVML reports it; None without a working driver."""
    try:
        nvml = ctypes.CDLL(library)
        if nvml.nvmlInit_v2():
            return None
        version = ctypes.create_string_buffer(_DRIVER_CHARACTERS)
        if nvml.nvmlSystemGetDriverVersion(version, ctypes.c_uint(_DRIVER_CHARACTERS)):
            return None
    except (OSError, AttributeError):
        return None
    return version.value.decode(errors="replace")


def _cuda_of_torch() -> str | None:
    """Return `cuda` of `torch/version.py`."""
    return _assigned_in_torch("cuda", absent=NO_CUDA)


def _assigned_in_torch(name: str, *, absent: str | None = None) -> str | None:
    """Return the text that `torch/version.py` assigns to a name, `absent` where it assigns none."""
    assigned = [
        node.value
        for node in _parse_statements("torch", "version.py")
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and name in map(ast.unparse, node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return _literal(assigned[0]) or absent if assigned else None


def _cuda_of_tensorflow() -> str | None:
    """Return `cuda_version` of the mapping in TensorFlow's `build_info.py`."""
    pairs = [
        (_literal(key), _literal(value))
        for statement in _parse_statements("tensorflow", "python/platform/build_info.py")
        for node in ast.walk(statement)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2
        for key, value in [node.elts]
    ]
    return dict(pairs).get("cuda_version", NO_CUDA) if pairs else None


_CUDA_OF: Mapping[str, Callable[[], str | None]] = {
    "torch": _cuda_of_torch,
    "tensorflow": _cuda_of_tensorflow,
}


def _parse_statements(package: str, file: str) -> list[ast.stmt]:
    """Parse a file of an installed package; return nothing if it cannot be read."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    try:
        return ast.parse(Path(spec.submodule_search_locations[0], file).read_text()).body
    except (OSError, SyntaxError, ValueError):
        return []


def _literal(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _version_of_first(distributions: Iterable[str]) -> str | None:
    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def _without_unknown(versions: Mapping[str, str | None]) -> dict[str, str]:
    return {name: version for name, version in versions.items() if version is not None}
