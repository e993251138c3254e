"""The extension: an adaptive search, which ends when the best setting is known as surely as was asked."""

from orchestrator.extension import Extension

EXTENSION = Extension(
    name="adaptive_search", search="orchestrator.extensions.adaptive_search.build:build_search"
)
