"""Versions and processor that a worker's interpreter finds."""

import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

_DISTRIBUTIONS: Mapping[str, tuple[str, ...]] = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-tpu"),
}
"""Packages that come in distributions of other names."""

_TPU_GENERATIONS: Mapping[str, str] = {"v5litepod": "v5e", "tpu7x": "v7x"}


def framework_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of packages and of Python (`python`); what is not installed is left out. Imports nothing."""
    versions = {package: find_package_version(package) for package in packages}
    installed = {package: version for package, version in versions.items() if version is not None}
    return {"python": platform.python_version(), **installed}


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name in the kernel, or its architecture if the kernel has none."""
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


def find_package_version(package: str) -> str | None:
    """Find the version of a package that is installed here; None: it is not."""
    for distribution in _DISTRIBUTIONS.get(package, (package,)):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return None


_ARITHMETIC = (
    "ONEDNN_DEFAULT_FPMATH_MODE",  # under it float32 convolutions of torch and TensorFlow were seen in bf16
    "DNNL_DEFAULT_FPMATH_MODE",
    "TF_SET_ONEDNN_FPMATH_MODE",
    "MKL_BLAS_COMPUTE_MODE",
    "XLA_USE_BF16",
    "XLA_DOWNCAST_BF16",
    "XLA_USE_FP16",
    "XLA_DOWNCAST_FP16",
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "CUBLAS_EMULATE_SINGLE_PRECISION",
    "CUBLAS_EMULATION_STRATEGY",
    "TF_CONV2D_USE_FP16_ACCUMULATE",
    "TF_ENABLE_AUTO_MIXED_PRECISION",
    "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE",
)
"""They change what is computed, and no framework reports them afterwards."""

_PARALLELISM = ("TF_CONFIG", "XLA_USE_SPMD", "XLA_AUTO_SPMD", "KERAS_BACKEND")
"""They change who computes; a trial that needs one sets it."""

_RECORDED_PREFIXES = (
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "ONEDNN_",
    "DNNL_",
    "ATEN_",
    "MALLOC_",
    "PYTORCH_",
    "TORCH_NCCL_",
    "NCCL_",
    "CUBLAS_",
    "CUDNN_",
    "XLA_",
    "LIBTPU_",
    "PJRT_",
    "TF_CUDNN_",  # never all of TF_: Terraform keeps secrets in TF_VAR_ and TF_TOKEN_
    "TF_ENABLE_",
    "TF_GPU_",
    "TF_NUM_",
    "TF_XLA_",
)
_RECORDED = ("CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "LD_PRELOAD", "TF_DETERMINISTIC_OPS")


def without_hidden_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a fork server before it imports a framework; the trial's request decides."""
    hidden = (*_ARITHMETIC, *_PARALLELISM)
    kept = {name: value for name, value in variables.items() if name not in hidden}
    return {**kept, "KERAS_HOME": os.devnull}  # no folder, so no keras.json with another data type or backend


def telling(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are known to change training speed, for the record; no others, because of
    secrets.
    """
    return {
        name: value
        for name, value in sorted(variables.items())
        if value and (name in _RECORDED or name.startswith(_RECORDED_PREFIXES))
    }
