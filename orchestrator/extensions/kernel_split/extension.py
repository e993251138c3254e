"""The extension: convolutions, or batches, that are split over devices of unequal speed."""

from orchestrator.extension import Extension

_HERE = "orchestrator.extensions.kernel_split"

EXTENSION = Extension(
    name="kernel_split",
    trainers=f"{_HERE}.trainers:TRAINERS",
    commands=f"{_HERE}.catalogue:COMMANDS",
    report_section=f"{_HERE}.analysis.section:build_section",
)
