"""`python -m orchestrator`, and the console script of the same meaning."""

import sys

from orchestrator.terminal.streams import outlived


def main() -> int:
    """Run the command of this process and return its exit code."""
    return outlived(_command)


def _command() -> int:
    from orchestrator.cli import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
