"""A child process that ends when its standard input does."""

import contextlib
import subprocess
from pathlib import Path

import orchestrator
import workloads


def end(process: "subprocess.Popen[str]", *, seconds: float) -> None:
    """Close its standard input, and kill it if it has not ended so many seconds later."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def link_code(folder: Path) -> None:
    """Make `folder` one that a PYTHONPATH can name: it holds links to our packages and nothing else."""
    folder.mkdir()
    for package in (orchestrator, workloads):
        assert package.__file__ is not None
        source = Path(package.__file__).parent
        (folder / source.name).symlink_to(source)
