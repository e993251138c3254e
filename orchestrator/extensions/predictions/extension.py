"""The extension: times and costs of steps that were not measured, from published measurements and records."""

from orchestrator.extension import Extension

_HERE = "orchestrator.extensions.predictions"

EXTENSION = Extension(
    name="predictions",
    commands=f"{_HERE}.catalogue:COMMANDS",
    functions=f"{_HERE}.notebook:FUNCTIONS",
    predictor=f"{_HERE}.predictor:StepPredictor",
)
