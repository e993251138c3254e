"""The extension: training scripts that someone else wrote, run as they are."""

from orchestrator.extension import Extension

_HERE = "orchestrator.extensions.scripts"

EXTENSION = Extension(name="scripts", trainers=f"{_HERE}.trainers:TRAINERS")
