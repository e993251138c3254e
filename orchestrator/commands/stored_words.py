"""(words that name a sweep, by its file or its folder) -> words that planned it, as its folder has them."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.commands import sweep
from orchestrator.config.loader import load
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.settings import Settings
from orchestrator.pipeline.tracking import last_plan_in
from orchestrator.record.running_plan import running_plan_in
from orchestrator.terminal.printing import display_path


def list_stored_words(words: Sequence[str]) -> Sequence[str]:
    """List the words that planned a sweep, then those beside its name that they lack.

    Raises:
        ConfigError: no plan of it is stored.
    """
    settings = _named(words)
    folder = settings.outputs / settings.sweep.name
    running = running_plan_in(folder)
    plan = running.plan if running else last_plan_in(folder)
    if plan is None:
        others = sorted(path.parent.name for path in settings.outputs.glob("*/plan.json"))
        known = f"; sweeps with one: {', '.join(others)}" if others else ""
        raise ConfigError(f"no plan is stored in {display_path(folder)}; run the sweep first{known}")
    of_folder = ("+sweep=", "sweep=", "sweep.name=")
    typed = [word for word in words if not word.startswith(of_folder) and word not in plan.words]
    return (*plan.words, *typed) if plan.words else words


def _named(words: Sequence[str]) -> Settings:
    """Load the settings of a sweep by its file, or by its folder, which a file need not have the name of."""
    try:
        return sweep.load_settings(words)
    except UnknownNameError as error:
        named = [word for word in words if word.lstrip("+").startswith("sweep=")]
        if error.kind != "sweep" or len(named) != 1:
            raise
        name, rest = named[0].partition("=")[2], [word for word in words if word not in named]
        settings = load(["+sweep=single", f"sweep.name={name}", *rest], working_directory=Path.cwd())
        folder = settings.outputs / name
        if running_plan_in(folder) is None and last_plan_in(folder) is None:
            raise
        return settings
