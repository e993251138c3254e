"""Folders of this repository, for tests and for the processes that they start."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[3]
SUPPORT = sorted(folder for folder in (ROOT / "tests/support").iterdir() if folder.is_dir())
CHILD_PYTHONPATH = os.pathsep.join(map(str, (ROOT, *SUPPORT)))
"""PYTHONPATH of a child process that imports the product and the helpers of the tests."""
