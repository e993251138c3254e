"""The Python with Google's TPU compiler, for tests that compile for real."""

import os
from pathlib import Path

import pytest
from repository import ROOT


def libtpu_python() -> str:
    """Return its path; skip the test where the package is not installed."""
    path = Path(os.environ.get("ORCHESTRATOR_LIBTPU_PYTHON", ROOT / ".venv-tpu-compile/bin/python"))
    if not path.exists():
        pytest.skip(f"{path} is absent; get it with: make tpu-compile")
    return str(path.absolute())
