"""A notebook as a page in Markdown, with what its cells show."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def notebook_page(notebook: Path) -> str:
    """Return the cells of a notebook and their outputs, as Markdown."""
    cells = json.loads(notebook.read_text())["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell["outputs"]:
        yield _shown(output)


def _shown(output: Mapping[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        html = "".join(line for line in "".join(data["text/html"]).splitlines(keepends=True) if line.strip())
        return f'<div class="cell-output">{html}</div>'
    text = "".join(data.get("text/plain") or output.get("text", []))
    return f"```text\n{text}\n```"
