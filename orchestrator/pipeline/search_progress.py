"""The last decision of an adaptive search, as a file in the sweep's folder."""

from dataclasses import fields
from pathlib import Path

from orchestrator.core.codec import from_json
from orchestrator.core.errors import RecordError
from orchestrator.core.search import Search, SearchProgress
from orchestrator.core.settings import Settings
from orchestrator.pipeline.components import open_ledger

FILE_NAME = "search.json"


def progress_in(folder: Path) -> SearchProgress | None:
    """Read the last decision of the search of a sweep; None: it has none, or none that can be read."""
    try:
        return from_json(SearchProgress, (folder / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecordError):
        return None


def other_search(settings: Settings) -> tuple[str, ...]:
    """Return the words of the search that the sweep's last run was; empty where the command names a search.

    A command without them is about a grid: what it means is not taken from the last one.
    """
    progress = progress_in(open_ledger(settings).path.parent)
    if progress is None or any(word.startswith(("search=", "search.")) for word in settings.overrides):
        return ()
    search = progress.search
    options = (field.name for field in fields(Search) if getattr(search, field.name) != field.default)
    return (
        f"search={search.name}",
        *(f"search.{name}={getattr(search, name)}" for name in options if name != "name"),
    )


def forget_search(folder: Path) -> None:
    """Remove the progress of an earlier search, because the sweep is run as a grid."""
    (folder / FILE_NAME).unlink(missing_ok=True)
