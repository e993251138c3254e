"""`docs/notebook.ipynb` run in a kernel of its own; `python tools/run_notebook.py` keeps what it says now."""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

sys.path.append(str(Path(__file__).parents[1] / "tests/support/host"))

from cli_process import environment
from repository import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
_CELL_SECONDS = 300
_PATH = re.compile(r"(?<![\w<.:/*])/[a-zA-Z][\w.+-]*/[\w.+-]+")


def executed(notebook: Any, folder: Path) -> Any:
    """A copy of the notebook with what its cells give in a working directory; nothing else in it changes.

    Raises:
        CellExecutionError: a cell fails.
    """
    copy = nbformat.from_dict(notebook)
    private = Config(ConnectionFileMixin={"transport": "ipc", "ip": str(folder / "kernel")})  # no port
    client = NotebookClient(copy, timeout=_CELL_SECONDS, record_timing=False, config=private)
    # As where the environment is activated: commands are shown by their names.
    programs = f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}"
    variables = environment(IPYTHONDIR=str(folder / "ipython"), PATH=programs)
    client.execute(cwd=str(folder), env=variables)
    for cell in copy.cells:
        cell.get("outputs", [])[:] = _joined(cell.get("outputs", []))
    copy.metadata = notebook.metadata  # the kernel adds its version
    return copy


def paths_in(outputs: list[Any]) -> list[str]:
    """Return the absolute paths in the outputs of cells."""
    return _PATH.findall("\n".join(_texts_of(outputs)))


def _texts_of(output: Any) -> list[str]:
    if isinstance(output, str):
        return [output]
    if isinstance(output, dict):  # letters of an image are no words
        output = [value for key, value in output.items() if not key.startswith("image/")]
    inner = output if isinstance(output, list) else ()
    return [text for value in inner for text in _texts_of(value)]


def _joined(outputs: list[Any]) -> list[Any]:
    """Lines that came one by one are one output: into how many the kernel cuts them is chance."""
    whole: list[Any] = []
    for output in outputs:
        if (
            whole
            and output.output_type == "stream" == whole[-1].output_type
            and output.name == whole[-1].name
        ):
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        nbformat.write(executed(nbformat.read(NOTEBOOK, as_version=4), Path(place)), NOTEBOOK)
