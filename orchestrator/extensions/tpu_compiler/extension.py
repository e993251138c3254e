"""The extension: memory and time of a step on a TPU that is not here, by Google's TPU compiler."""

from orchestrator.extension import Extension

EXTENSION = Extension(
    name="tpu_compiler", step_compilers="orchestrator.extensions.tpu_compiler.compilers:build_compilers"
)
