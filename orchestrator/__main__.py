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
    from orchestrator.cli import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
