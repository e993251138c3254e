"""The extension: files for Ray's cluster launcher and KubeRay, checks of them, and of the declared pools."""

from orchestrator.extension import Extension

EXTENSION = Extension(
    name="cluster_files", commands="orchestrator.extensions.cluster_files.catalogue:COMMANDS"
)
