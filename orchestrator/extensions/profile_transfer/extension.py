"""The extension: latencies on one GPU, predicted from profiles on another one (PROFET, and our ensemble)."""

from orchestrator.extension import Extension

EXTENSION = Extension(
    name="profile_transfer", commands="orchestrator.extensions.profile_transfer.catalogue:COMMANDS"
)
