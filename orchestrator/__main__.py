"""`python -m orchestrator`, and the console script of the same meaning."""

import gc
import sys

from orchestrator.terminal.streams import outlived


def main() -> int:
    """Run the command of this process and return its exit code."""
    collect_rarely()
    return outlived(_command)


def collect_rarely() -> None:
    """Let the collector look for cycles less often: what a command makes lives on, and has next to none."""
    gc.set_threshold(50_000)


def _command() -> int:
    try:
        from orchestrator.cli import main
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("orchestrator", "workloads")):
            raise
        cure = "type `source .venv/bin/activate` after `make install`, or `pip install -e .`"
        sys.stderr.write(f"error: {sys.executable} has no package {error.name!r}; {cure}\n")
        return 2
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
