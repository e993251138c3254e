"""Settings of a sweep, or of one point with the axes of the command line."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.config.loader import load
from orchestrator.core.errors import ConfigError
from orchestrator.core.printable import command_text
from orchestrator.core.settings import Settings
from orchestrator.pipeline.components import list_command_words
from orchestrator.plan.inputs import apply_published_size

NO_SWEEP = "+sweep=single"
"""Word that asks for one point in place of a sweep."""


def load_settings(overrides: Sequence[str], working_directory: Path) -> Settings:
    """Load the settings of a sweep, or of one point with the axes of the command line.

    Raises:
        ConfigError: an invalid override, or unequal devices.
    """
    words = [*([] if _names_sweep(overrides) else [NO_SWEEP]), *overrides]
    settings = load(words, working_directory=working_directory)
    for point in settings.sweep.points:
        if point.other_devices:
            raise ConfigError(
                f"unequal devices, as {point.device_label}, are not modelled; remove devices=…, or measure "
                f"them: {command_text(list_command_words(settings))}"
            )
    return settings if _names_sweep(overrides) else _at_published_sizes(settings, overrides)


def _at_published_sizes(settings: Settings, overrides: Sequence[str]) -> Settings:
    """Set the published size of a network if the words do not set one."""
    keys = (word.lstrip("+").partition("=")[0] for word in overrides)
    named = {key.removeprefix("workload.") for key in keys if key.startswith("workload.")}
    points = tuple(apply_published_size(point, named) for point in settings.sweep.points)
    return replace(settings, sweep=replace(settings.sweep, points=points))


def _names_sweep(overrides: Sequence[str]) -> bool:
    return any(word.startswith("+sweep=") for word in overrides)
