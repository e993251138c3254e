"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar in a cell does not end the cell."""
    lines = [headers, ["---"] * len(headers), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(text: str) -> str:
    """Return a text as inline code; an empty text stays empty."""
    return f"`{text}`" if text else ""
