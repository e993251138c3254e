"""The last decision of an adaptive search, as a file in the sweep's folder."""

from dataclasses import replace
from pathlib import Path

from orchestrator.core.codec import from_json
from orchestrator.core.errors import RecordError
from orchestrator.core.search import SearchProgress
from orchestrator.core.settings import Settings
from orchestrator.pipeline.components import ledger_of

FILE_NAME = "search.json"


def progress_in(folder: Path) -> SearchProgress | None:
    """Read the last decision of the search of a sweep; None: it has none, or none that can be read."""
    try:
        return from_json(SearchProgress, (folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecordError):
        return None


def as_last_searched(settings: Settings) -> Settings:
    """Return the settings with the search of the sweep's last run, unless the command line sets one."""
    progress = None if settings.names_search else progress_in(ledger_of(settings).path.parent)
    if progress is None:
        return settings
    repeats = progress.search.num_repeats(settings.sweep.repeats)
    return replace(settings, search=progress.search, sweep=replace(settings.sweep, repeats=repeats))


def forget_search(folder: Path) -> None:
    """Remove the progress of an earlier search, because the sweep is run as a grid."""
    (folder / FILE_NAME).unlink(missing_ok=True)
