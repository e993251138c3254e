"""Our code for another interpreter: our packages alone, for all of site-packages would bring its torch."""

from pathlib import Path

import orchestrator
import workloads


def link_code(folder: Path) -> None:
    """Make `folder` one that a PYTHONPATH can name: it holds links to our packages and nothing else."""
    folder.mkdir()
    for package in (orchestrator, workloads):
        assert package.__file__ is not None
        source = Path(package.__file__).parent
        (folder / source.name).symlink_to(source)
