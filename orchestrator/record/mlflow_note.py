"""A report in Markdown -> the description of a sweep's run in MLflow. Pure, and without MLflow."""

from orchestrator.record.base import PAGE_NAME

NOTE_TAG = "mlflow.note.content"
"""MLflow shows this tag as Markdown above everything else of a run."""

_LONGEST = 5000  # MLflow's own limit of a tag is 8000
_HOW_TO_OPEN = f"The page with all figures and tables: tab *Artifacts*, `{PAGE_NAME}`."


def note_of(markdown: str) -> str:
    """Its headline, without the tables, and where the page is. The text is escaped, and stays so."""
    headline, *_ = markdown.partition("\n### ")
    lines = headline.strip().splitlines()
    while len("\n".join(lines)) > _LONGEST:
        lines.pop()
    return "\n".join([*lines, "", _HOW_TO_OPEN])
